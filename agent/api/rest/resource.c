/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of the REST API's operations, for the api process, the command line and the manual; see
 * resource.h. Texts of commands that carry out no operation are in agent/ctl/ctl.c.
 */
#include "agent/api/rest/resource.h"
#include "agent/api/rest/resource_fields.h"
#include "agent/api/rest/resource_help.h"

#include <stddef.h>

#define OPERATION(method_, path_, type_, purpose_) \
	.method = method_, .path = path_, .type = type_, .purpose = purpose_
#define NAMED(kind, member, shown)                                                         \
	.name = RESOURCE_NAME_##kind, .name_offset = offsetof(struct privsep_msg, member), \
	.name_shown = shown
#define LIST(list_, key_, kind) .list = list_, .key = key_, .key_type = RESOURCE_NAME_##kind
#define FIELDS(list) .body = RESOURCE_BODY_FIELDS, .fields = list, .n_fields = ARRAY_SIZE(list)

/* Help texts, as they are printed. */
/* clang-format off */
const struct resource resources[RESOURCE_MAX] = {
	[RESOURCE_STATUS] = {
		OPERATION("GET", "/v1/status", PRIVSEP_GET, "state, legs, mounts, paths"),
		.what = PRIVSEP_STATUS,
		.commands = {{"status", "[--watch N]", "show the state, its reasons, legs and paths",
			       "Shows the state of the agent with the reason for every problem, the last apply, the\n"
			       "number of workers that are up, legs, mounts, paths to other hosts, and actions that only\n"
			       "the operator can take. plenumd(8) explains each reason. Exit status 2: the state is\n"
			       "starting or degraded. With -j the state is in the JSON, and the exit status is always 0.\n\n"
			       "      --watch N     print again every N seconds, until interrupted\n"}},
	},
	[RESOURCE_PROCESSES] = {
		OPERATION("GET", "/v1/processes", PRIVSEP_GET, "the agent and its workers"),
		.what = PRIVSEP_PROCESSES,
		LIST("processes", "id", TEXT),
		.columns = "ID,HOST,ROLE,IPS,STATUS,NETWORK,SWITCHES,CORE,MEMORY,UPTIME,RESTARTS,REASON",
		.commands = {{"processes", "[TABLE OPTION...]", "list the agent and its workers",
			       "Lists the agent and its workers: role, data IPs, status, transport, core, memory,\n"
			       "uptime and restarts after deaths, and the reason if a worker does not run, serves less\n"
			       "than it should or uses a fallback. A reason in parentheses is a note: no action is\n"
			       "needed. plenumd(8) explains each reason. '-o id,restarts,last-death' shows\n"
			       "when a worker died last, and why.\n"},
			      {"workers", "[TABLE OPTION...]", "list the workers, without the agent",
			       "Lists the workers as 'processes' does, without the row of the agent.\n"}},
	},
	[RESOURCE_MOUNTS] = {
		OPERATION("GET", "/v1/mounts", PRIVSEP_GET, "mounts of this host"),
		.what = PRIVSEP_MOUNTS,
		LIST("mounts", "path", TEXT),
		.columns = "MOUNT,FROM,ORIGIN,STATE,SINCE,WORKER,OPEN,REQUESTS/S,READ MS,WRITE MS,METADATA MS,REASON",
		.commands = {{"mounts", "[TABLE OPTION...]", "list the mounts of this host",
			       "Lists the mounts of this host: server and export, origin (configured, or by command), state and\n"
			       "the time since its last change, worker, open files, requests per second, and the times of\n"
			       "requests in the last seconds in ms: median and 99th percentile. If a mount waits, programs on\n"
			       "it wait for the server, or get errors after the mount's soft time. State unknown: the mount's\n"
			       "worker reports no state.\n"
			       "Further columns for -o: by, lanes, sync-ms, options.\n"}},
	},
	[RESOURCE_MOUNT] = {
		OPERATION("POST", "/v1/mounts", PRIVSEP_MOUNT, "mount an export"),
		FIELDS(mount_fields),
		.commands = {{"mount", "HOST:/EXPORT DIR [-o OPTIONS] [--worker ID]", "mount an export of a peer",
			       "Mounts an export of a host in 'peers' on DIR, an empty folder, and waits until the host serves\n"
			       "it. The mount is not in the configuration: it stays until 'plenum umount', umount(8) or a\n"
			       "reboot, and also if the agent or a worker restarts. If it cannot be mounted, within 20 s, says\n"
			       "why and leaves nothing. fstab(5) and mount(8) with the type plenum do the same; see\n"
			       "mount.plenum(8).\n\n"
			       "  -o OPTIONS        comma-separated: ro, rw, nosuid, nodev, noexec, noatime, hard,\n"
			       "                    soft=TIME, locks=local|none|cluster, max-throughput=RATE,\n"
			       "                    max-operations=NUMBER; with remount, changes these two limits of\n"
			       "                    a mount that is there\n"
			       "      --worker ID   the client worker that serves the mount, by its ID in 'plenum\n"
			       "                    processes'; default: the one with the fewest mounts\n"}},
	},
	[RESOURCE_UNMOUNT] = {
		OPERATION("DELETE", "/v1/mounts", PRIVSEP_UNMOUNT, "end such a mount"),
		FIELDS(unmount_fields),
		.commands = {{"umount", "DIR [--force]", "end a mount made by command",
			       "Unmounts DIR, which 'plenum mount' or mount(8) has mounted. If programs use the mount, names\n"
			       "them and changes nothing. A mount of the configuration ends if it is removed there.\n\n"
			       "      --force       unmount also if programs use the mount; they get errors\n"}},
	},
	[RESOURCE_EXPORTS] = {
		OPERATION("GET", "/v1/exports", PRIVSEP_GET, "exports of this host"),
		.what = PRIVSEP_EXPORTS,
		LIST("exports", "name", TEXT),
		.columns = "EXPORT,PATH,STATE,CLIENTS,ACCESS,SQUASH,OPEN,REMOVED,REQUESTS/S,READ MS,WRITE MS,METADATA MS,REASON",
		.commands = {{"exports", "[TABLE OPTION...]", "list the exports of this host",
			       "Lists the exports of this host: folder, state, hosts that are connected, access and squash\n"
			       "of the export's rules, files that clients have open, removed files that are kept because a\n"
			       "client may have them open, requests per second, and their times as in 'plenum mounts'. A\n"
			       "degraded export is served, but not by all its workers, or its folder has a problem: see\n"
			       "REASON.\n"}},
	},
	[RESOURCE_CLIENTS] = {
		OPERATION("GET", "/v1/clients", PRIVSEP_GET, "hosts that mount the exports"),
		.what = PRIVSEP_CLIENTS,
		LIST("clients", "host", TEXT),
		.columns = "HOST,STATE,SINCE,ADDRESSES,EXPORTS,MOUNTS,OPEN,HEARD,WORKERS,REFUSED,REASON",
		.commands = {{"clients", "[TABLE OPTION...]", "list the hosts that mount the exports",
			       "Lists the hosts that mount exports of this host, under the names that they give themselves:\n"
			       "addresses, exports, number of mounts, open files, and the time since their last packet. A\n"
			       "silent client answers on no path; an away client has no session, and the server keeps the\n"
			       "client's open files for 90 seconds. State unknown: the worker that serves the client reports\n"
			       "no state. REFUSED is the number of the client's mounts that the server refuses, and REASON says\n"
			       "why.\n"}},
	},
	[RESOURCE_PEERS] = {
		OPERATION("GET", "/v1/peers", PRIVSEP_GET, "other hosts, and their paths"),
		.what = PRIVSEP_PEERS,
		LIST("peers", "host", TEXT),
		.columns = "HOST,STATE,SINCE,LEGS UP,LEGS DOWN,PATHS,RTT,LOSS TO,LOSS FROM,MTU,HEARD,REASON",
		.commands = {{"peers", "[TABLE OPTION...]", "list the other hosts and their legs",
			       "Lists the servers of this host's mounts, the clients of its exports, and the hosts in\n"
			       "'peers' of the configuration: legs of this host with and without a working path to the peer,\n"
			       "number of working paths of all legs, lowest round trip, largest loss and smallest MTU of these\n"
			       "paths, and the time since the peer's last packet. State unknown: no worker has a path to the\n"
			       "peer, or reports one. Further columns for -o: addresses, mounts, exports.\n"}},
	},
	[RESOURCE_PATHS] = {
		OPERATION("GET", "/v1/paths", PRIVSEP_GET, "paths to other hosts"),
		.what = PRIVSEP_PATHS,
		LIST("paths", "id", TEXT),
		.columns = "WORKER,LEG,LOCAL,REMOTE,PEER,FOR,STATE,RTT,MTU,SENT,RECEIVED,LOSS TO,LOSS FROM,RESENT,FAILOVERS,REASON",
		.commands = {{"paths", "[TABLE OPTION...]", "list the paths to other hosts",
			       "Lists each worker's paths to other hosts: leg, addresses, peer, the mount or export that its\n"
			       "session is for, state, round trip, MTU, traffic, share of lost packets in each direction,\n"
			       "packets sent again, and changes to another path. A suspect path has been silent for a\n"
			       "moment and gets no new packets; a joining path has not been answered yet. Further columns\n"
			       "for -o: window, last-pause.\n"}},
	},
	[RESOURCE_SESSIONS] = {
		OPERATION("GET", "/v1/sessions", PRIVSEP_GET, "sessions with other hosts"),
		.what = PRIVSEP_SESSIONS,
		LIST("sessions", "id", TEXT),
		.columns = "PEER,ROLE,STATE,SINCE,WORKER,CORE,FOR,LEGS,LOCAL,REMOTE,RTT,IN FLIGHT,SENT,RECEIVED,RESENT,LEASE",
		.commands = {{"sessions", "[TABLE OPTION...]", "list the sessions with other hosts",
			       "Lists each worker's sessions, as this host sees them: the peer, whether this host is the\n"
			       "client or the server, state, worker and core, the mount or export, legs with the state of\n"
			       "their paths, addresses of the path in use, lowest round trip, requests in flight, traffic,\n"
			       "packets sent again, and how long the server keeps the client's file locks if it is not\n"
			       "heard. A silent session answers on no path; a connecting one was not accepted yet. State\n"
			       "unknown: its worker has not reported it lately; AGE is the time since. Further columns for\n"
			       "-o: id, waiting, lost-to, lost-from, heard, age.\n"}},
	},
	[RESOURCE_SAMPLES] = {
		OPERATION("GET", "/v1/samples", PRIVSEP_GET, "values of the last hour, for plots"),
		.what = PRIVSEP_SAMPLES,
	},
	[RESOURCE_LOCKS] = {
		OPERATION("GET", "/v1/locks", PRIVSEP_GET, "file locks of clients"),
		.what = PRIVSEP_LOCKS,
		LIST("locks", "id", TEXT),
		.columns = "ID,EXPORT,FILE,HOST,PID,KIND,RANGE,STATE,SINCE",
		.commands = {{"locks", "[TABLE OPTION...]", "list the file locks of clients",
			       "Lists the locks that programs of clients hold on files of this host's exports, and their\n"
			       "requests that wait, of mounts with 'locks: cluster': the client's host and process, the kind\n"
			       "of lock, its bytes, and the time since it was requested or granted. The file is named by its\n"
			       "path below the export or, if no worker has it open at present, by its inode. At most 4096\n"
			       "locks are listed, first those of files for which requests wait.\n"}},
	},
	[RESOURCE_LOCK_BREAK] = {
		OPERATION("DELETE", "/v1/locks/", PRIVSEP_LOCK_BREAK, "break one file lock"),
		.role = ACCESS_OPERATE,
		NAMED(HEX, lock.id, "id"),
		.body = RESOURCE_BODY_NONE,
		.commands = {{"locks break", "ID", "break a file lock of a client",
			       "Breaks a lock that is held, by its ID in 'plenum locks': other programs can get it when\n"
			       "earlier requests of its mount have ended, after a second or two. Programs of that client fail\n"
			       "with EIO when they use the file by a descriptor that was open, until they close it: one of\n"
			       "them believes that it has the lock. If the client does not answer, its locks are freed after\n"
			       "30 seconds without this command.\n"}},
	},
	[RESOURCE_CLUSTER] = {
		OPERATION("GET", "/v1/cluster", PRIVSEP_GET, "this host's membership in the cluster"),
		.what = PRIVSEP_CLUSTER_STATUS,
		.commands = {{"cluster status", "", "show this host's membership in the cluster",
			       "Shows whether this host is registered in the cluster, by which endpoint of etcd, and why not;\n"
			       "and the servers of its mounts: their state in the cluster, whether peers or the cluster has\n"
			       "the addresses in use, and the addresses and labels that the server has published. State\n"
			       "unregistered: the lease of the server's agent has ended, and the last addresses stay in\n"
			       "use. State remembered: etcd does not answer now, or refuses to. Exit status 2: this\n"
			       "host is not registered; with -j the object has the state, and the exit status is 0.\n"}},
	},
	[RESOURCE_CLUSTER_HOSTS] = {
		OPERATION("GET", "/v1/cluster/hosts", PRIVSEP_GET, "hosts of the cluster"),
		.what = PRIVSEP_CLUSTER_HOSTS,
		LIST("hosts", "host", TEXT),
		.columns = "HOST,STATE,AGE,WORKERS,EXPORTS,VERSION,REASONS",
		.commands = {{"cluster hosts", "[TABLE OPTION...]", "list the hosts of the cluster",
			       "Lists all hosts that have registered in the cluster, from the summaries that they publish\n"
			       "once a minute, and ten seconds after a change: state, age of the summary, workers that are\n"
			       "up, exports, version, and the codes of the reasons for their state. State unknown: the lease\n"
			       "of the host's agent has ended, or its summary is older than 180 s. Further column for -o:\n"
			       "seen.\n"}},
	},
	[RESOURCE_CLUSTER_PROCESSES] = {
		OPERATION("GET", "/v1/cluster/processes", PRIVSEP_GET, "agents and workers of all hosts"),
		.what = PRIVSEP_CLUSTER_PROCESSES,
		LIST("processes", "id", TEXT),
		.columns = "ID,HOST,ROLE,IPS,STATUS,NETWORK,SWITCHES,CORE,MEMORY,UPTIME,RESTARTS,REASON",
		.commands = {{"cluster processes", "[TABLE OPTION...]", "list the agents and workers of all hosts",
			       "Lists the agents and workers of all hosts of the cluster with the columns of 'plenum\n"
			       "processes', from the summaries of the hosts. Status UNKNOWN: the lease of the host's agent\n"
			       "has ended, or its summary is older than 180 s; the row shows the last known values.\n"}},
	},
	[RESOURCE_CLUSTER_NET] = {
		OPERATION("GET", "/v1/cluster/net", PRIVSEP_GET, "legs of all hosts"),
		.what = PRIVSEP_CLUSTER_NET,
		LIST("net", "id", TEXT),
		.columns = "HOST,LEG,DEVICE,NETWORK,LABEL,STATE,CARRIER,MTU,IPS,REASON",
		.commands = {{"cluster net", "[TABLE OPTION...]", "list the legs of all hosts",
			       "Lists the legs of all hosts of the cluster, from the summaries of the hosts: device, network,\n"
			       "label, state, carrier, MTU and data IPs. State unknown: the lease of the host's agent has\n"
			       "ended, or its summary is older than 180 s.\n"}},
	},
	[RESOURCE_CLUSTER_EXPORTS] = {
		OPERATION("GET", "/v1/cluster/exports", PRIVSEP_GET, "exports of all hosts"),
		.what = PRIVSEP_CLUSTER_EXPORTS,
		LIST("exports", "id", TEXT),
		.columns = "HOST,EXPORT,PATH,STATE,ACCESS,CLIENTS,REASON",
		.commands = {{"cluster exports", "[TABLE OPTION...]", "list the exports of all hosts",
			       "Lists the exports of all hosts of the cluster, from the summaries of the hosts: folder, state,\n"
			       "access, and number of hosts that are connected. State unknown: the lease of the host's agent\n"
			       "has ended, or its summary is older than 180 s.\n"}},
	},
	[RESOURCE_CLUSTER_LINKS] = {
		OPERATION("GET", "/v1/cluster/links", PRIVSEP_GET, "links between the legs of all hosts"),
		.what = PRIVSEP_CLUSTER_LINKS,
		LIST("links", "id", TEXT),
		.columns = "HOST,LEG,ADDRESS,PEERS,LOSS,RTT,VERDICT,SOURCE,AGE,REASON",
		.commands = {{"cluster links", "[TABLE OPTION...]", "list the links between the legs of all hosts",
			       "Lists the legs of all hosts of the cluster with what probes between them have found. Each leg\n"
			       "asks three other hosts a second. PEERS: hosts that answer, of those asked. LOSS: small and full\n"
			       "packets that are lost, \"-\" before four of a size were sent. Verdict own-leg: no host answers this\n"
			       "leg, as its own host says; peer-leg: the leg answers no host that asks it, as others say;\n"
			       "switch-between: it answers some hosts, but not others; unknown: not asked, or the answers do not\n"
			       "decide. SOURCE: the host that says so, and AGE how long ago it wrote that. A host writes it at\n"
			       "each change, and once a minute. Further column for -o: reports.\n"}},
	},
	[RESOURCE_CLUSTER_FORGET] = {
		OPERATION("POST", "/v1/cluster/forget", PRIVSEP_CLUSTER_FORGET, "remove a host that is gone"),
		FIELDS(forget_fields),
		.commands = {{"cluster forget", "HOST [--force lease]", "remove a host that is gone from the cluster",
			       "Removes a host that will not return: its registration, its summary, and its pool addresses.\n"
			       "The agent refuses this while the lease of that host's agent is valid. The lease stays valid\n"
			       "for up to a minute after that agent has ended.\n\n"
			       "      --force lease  remove the host even if its lease is valid; if the host still runs, it\n"
			       "                     registers again\n"}},
	},
	[RESOURCE_CLUSTER_LEAVE] = {
		OPERATION("POST", "/v1/cluster/leave", PRIVSEP_CLUSTER_LEAVE, "give this host's addresses back"),
		.body = RESOURCE_BODY_NONE,
		.commands = {{"cluster leave", "", "give this host's addresses back",
			       "Gives this host's addresses of pools back. Refused while its configuration has a pool.\n"}},
	},
	[RESOURCE_POOLS] = {
		OPERATION("GET", "/v1/cluster/pools", PRIVSEP_GET, "address pools of the cluster"),
		.what = PRIVSEP_CLUSTER_POOLS,
		LIST("pools", "name", TEXT),
		.columns = "POOL,RANGE,GATEWAY,VLAN,MTU,ADDRESSES,OWNED,SQUATTED",
		.commands = {{"pool show", "[TABLE OPTION...]", "list the address pools of the cluster",
			       "Lists the address pools of the cluster, and how many of their addresses hosts own.\n"
			       "SQUATTED counts the addresses that other devices use without owning them.\n"}},
	},
	[RESOURCE_POOL_ADD] = {
		OPERATION("POST", "/v1/cluster/pools", PRIVSEP_POOL_ADD, "add an address pool"),
		FIELDS(pool_fields),
		.commands = {{"pool add", "NAME --range RANGE [OPTION...]", "add an address pool to the cluster",
			       "Adds an address pool to the cluster's etcd. Hosts that have 'pool: NAME' in an entry of\n"
			       "'networks' take one address of it for each of their worker cores, and keep them.\n\n"
			       "      --range R     addresses and length of the subnet: 10.10.1.10-10.10.1.200/16\n"
			       "      --gateway IP  router to other subnets, outside the range\n"
			       "      --vlan TAG    802.1Q tag\n"
			       "      --mtu N       MTU in bytes\n"}},
	},
	[RESOURCE_POOL_SET] = {
		OPERATION("PATCH", "/v1/cluster/pools/", PRIVSEP_POOL_SET, "change an address pool"),
		NAMED(TEXT, pool.name, "name"),
		FIELDS(pool_set_fields),
		.commands = {{"pool set", "NAME [--range RANGE] [OPTION...]", "change an address pool of the cluster",
			       "Changes an address pool. The new range must have all addresses that hosts own. All hosts\n"
			       "of the pool follow within a minute, without a confirmation: change the gateway, the VLAN or\n"
			       "the MTU only if the network has changed.\n\n"
			       "      --range R     addresses and length of the subnet: 10.10.1.10-10.10.1.250/16\n"
			       "      --gateway IP  router to other subnets, outside the range; none: no router\n"
			       "      --vlan TAG    802.1Q tag\n"
			       "      --mtu N       MTU in bytes\n"}},
	},
	[RESOURCE_POOL_REMOVE] = {
		OPERATION("DELETE", "/v1/cluster/pools/", PRIVSEP_POOL_REMOVE, "remove an address pool"),
		NAMED(TEXT, pool.name, "name"),
		.body = RESOURCE_BODY_NONE,
		.commands = {{"pool remove", "NAME", "remove an address pool from the cluster",
			       "Removes an address pool of which no host owns an address.\n"}},
	},
	[RESOURCE_ADDRESSES] = {
		OPERATION("GET", "/v1/cluster/addresses", PRIVSEP_GET, "owners of the pools' addresses"),
		.what = PRIVSEP_CLUSTER_ADDRESSES,
		LIST("addresses", "address", TEXT),
		.columns = "ADDRESS,POOL,HOST,WORKER,SQUATTER",
		.commands = {{"pool addresses", "[TABLE OPTION...]", "list which host owns which address",
			       "Lists the addresses of pools that hosts own, each with the ID of the worker that it is for.\n"
			       "SQUATTER is the MAC address of a device that uses the address without owning it; HOST found it.\n"}},
	},
	[RESOURCE_DOCUMENT] = {
		OPERATION("GET", "/v1/cluster/document", PRIVSEP_GET, "the cluster's configuration document"),
		.what = PRIVSEP_CLUSTER_DOCUMENT,
		.commands = {{"document show", "", "print the cluster's configuration document",
			       "Prints the latest configuration document of the cluster, as it was set. -j adds its\n"
			       "generation, author and time.\n"}},
	},
	[RESOURCE_DOCUMENT_SET] = {
		OPERATION("PUT", "/v1/cluster/document", PRIVSEP_DOCUMENT_SET, "set the cluster's document"),
		.body = RESOURCE_BODY_YAML,
		.commands = {{"document set", "FILE", "set the cluster's configuration document",
			       "Stores a configuration document for the hosts of the cluster, as its next generation: a list\n"
			       "of sections, each with 'match', patterns of host names, and keys of plenum.yaml. Changes no\n"
			       "host: 'plenum rollout start' does. FILE - is standard input.\n"}},
	},
	[RESOURCE_ROLLOUT] = {
		OPERATION("GET", "/v1/cluster/rollout", PRIVSEP_GET, "the rollout, and what each host has"),
		.what = PRIVSEP_ROLLOUT_STATUS,
		LIST("hosts", "host", TEXT),
		.columns = "HOST,STATE,GENERATION,TIME,REASON",
		.commands = {{"rollout status", "[TABLE OPTION...]", "show the rollout of the cluster's document",
			       "Shows the state of the rollout, the hosts in flight and the one that has failed; and for\n"
			       "each host that follows the cluster's document which generation it has. States of hosts: done,\n"
			       "waiting, applying, failed, drifted (its file was edited or removed), busy (an apply runs or\n"
			       "waits there, or changes are staged), not-following. Exit status 2: the rollout has stopped.\n"}},
	},
	[RESOURCE_ROLLOUT_START] = {
		OPERATION("POST", "/v1/cluster/rollout", PRIVSEP_ROLLOUT_START, "begin a rollout"),
		FIELDS(rollout_fields),
		.commands = {{"rollout start", "[OPTION...]", "bring the cluster's document to the hosts",
			       "Lets all hosts with 'cluster.config: follow' apply the latest document of the cluster, a few\n"
			       "at a time. Each host rolls its apply back by itself if it lacks a leg, a worker or a peer\n"
			       "afterwards; then the rollout stops. Hosts that are away get the document when they return.\n\n"
			       "      --max-unavailable N  hosts that apply at a time, or P% of those that follow; default: 1\n"
			       "      --on-failure HOW     stop: other hosts keep what they have; rollback: hosts return to the\n"
			       "                           document of the rollout before; default: stop\n"
			       "      --timeout SECONDS    a host without a result after this time has failed; default: 600\n"}},
	},
	[RESOURCE_ROLLOUT_PAUSE] = {
		OPERATION("POST", "/v1/cluster/rollout/pause", PRIVSEP_ROLLOUT_PAUSE, "pause the rollout"),
		.body = RESOURCE_BODY_NONE,
		.commands = {{"rollout pause", "", "pause the rollout",
			       "Hosts in flight end their apply, and no other host begins one.\n"}},
	},
	[RESOURCE_ROLLOUT_RESUME] = {
		OPERATION("POST", "/v1/cluster/rollout/resume", PRIVSEP_ROLLOUT_RESUME, "resume the rollout"),
		.body = RESOURCE_BODY_NONE,
		.commands = {{"rollout resume", "", "resume the rollout",
			       "Resumes a rollout that is paused or has stopped. Hosts that have failed try again.\n"}},
	},
	[RESOURCE_ROLLOUT_ABORT] = {
		OPERATION("POST", "/v1/cluster/rollout/abort", PRIVSEP_ROLLOUT_ABORT, "end the rollout"),
		.body = RESOURCE_BODY_NONE,
		.commands = {{"rollout abort", "", "end the rollout",
			       "Ends the rollout for good: hosts in flight end their apply, and all hosts keep the document\n"
			       "that they have.\n"}},
	},
	[RESOURCE_INVENTORY] = {
		OPERATION("GET", "/v1/inventory", PRIVSEP_GET, "inventory of the host"),
		.what = PRIVSEP_INVENTORY,
	},
	[RESOURCE_METRICS] = {
		OPERATION("GET", "/v1/metrics", PRIVSEP_GET, "counters"),
		.what = PRIVSEP_METRICS,
		.content = PRIVSEP_PLAIN,
		.commands = {{"metrics", "[FILE]", "print metrics for Prometheus",
			       "Prints the metrics of the agent and its workers in the text format of Prometheus. With\n"
			       "FILE, replaces this file in one step, so that a reader sees either the old or the new text:\n"
			       "for the textfile collector of node_exporter, which reads each FILE.prom of a folder.\n"}},
	},
	[RESOURCE_EVENTS] = {
		OPERATION("GET", "/v1/events", PRIVSEP_GET_EVENTS, "recent events"),
		.waits = true,
		.streams = true,
		.commands = {{"events", "[--follow] [--since WHEN] [--until WHEN] [--severity S] [--source NAME] [-n N]",
			       "list recent events",
			       "Lists the last 1000 events, also those before a restart of the agent or the host: time,\n"
			       "severity, source and text. Times are UTC. WHEN is how long ago, such as 90s, 15m, 2h or\n"
			       "7d; or a local time, such as 2026-11-27T22:00; or a time as this list prints it.\n\n"
			       "      --since WHEN  omit earlier events; if WHEN is a number N, omit events with\n"
			       "                    numbers below N\n"
			       "      --until WHEN  omit events at and after that time\n"
			       "      --severity S  print only events that are at least this severe: error, warning,\n"
			       "                    notice or info\n"
			       "      --source NAME print only events of one source: agent, api, 'worker 2', or a leg\n"
			       "  -n, --lines N     print only the last N of the events that the other options select\n"
			       "  -f, --follow      also print new events until interrupted, across restarts of the\n"
			       "                    agent; with -j one object per line\n"}},
	},
	[RESOURCE_HISTORY] = {
		OPERATION("GET", "/v1/history", PRIVSEP_GET, "the last applies"),
		.what = PRIVSEP_HISTORY,
		LIST("history", "number", NUMBER),
		.latest_first = true,
		.columns = "NUMBER,TIME,BY,WHAT,STEPS,OUTCOME,REASON",
		.commands = {{"history", "[TABLE OPTION...]", "list the last applies",
			       "Lists the last twenty configurations that ran: time, user, configuration and outcome.\n"
			       "Also lists starts of the agent with another configuration, failed applies that the agent\n"
			       "retried with success, and the last twenty attempts that failed or were rolled back;\n"
			       "attempts that failed in the same way in a row are one line. 'plenum history show NUMBER'\n"
			       "prints the configuration of an apply, 'plenum history diff NUMBER' shows what a rollback\n"
			       "to this configuration would change. Repairs of drift are events.\n"}},
	},
	[RESOURCE_HISTORY_CONFIG] = {
		OPERATION("GET", "/v1/history/", PRIVSEP_GET, "configuration of an apply"),
		.what = PRIVSEP_HISTORY_CONFIG,
		.content = PRIVSEP_YAML,
		.as_json = true,
		NAMED(NUMBER, get.number, "number"),
		.commands = {{"history show", "NUMBER", "print the configuration of an apply",
			       "Prints the configuration of apply NUMBER in 'plenum history', in normal form, and as comments\n"
			       "after it the steps that the apply carried out or attempted, each with its result.\n"}},
	},
	[RESOURCE_PLAN] = {
		OPERATION("GET", "/v1/plan", PRIVSEP_GET, "what an apply would do"),
		.what = PRIVSEP_PLAN,
	},
	[RESOURCE_PLAN_RUNNING] = {
		OPERATION("GET", "/v1/plan/running", PRIVSEP_GET, "drift, and its repair"),
		.what = PRIVSEP_PLAN_RUNNING,
	},
	[RESOURCE_CONFIG_RUNNING] = {
		OPERATION("GET", "/v1/config/running", PRIVSEP_GET, "the running configuration"),
		.what = PRIVSEP_CONFIG_RUNNING,
		.content = PRIVSEP_YAML,
		.as_json = true,
	},
	[RESOURCE_CONFIG_STAGED] = {
		OPERATION("GET", "/v1/config/staged", PRIVSEP_GET, "the staged configuration"),
		.what = PRIVSEP_CONFIG_STAGED,
		.content = PRIVSEP_YAML,
		.as_json = true,
	},
	[RESOURCE_CONFIG_STAGE] = {
		OPERATION("PUT", "/v1/config/staged", PRIVSEP_PUT_STAGED, "stage a configuration"),
		.version = RESOURCE_VERSION_OPTIONAL,
		.body = RESOURCE_BODY_YAML,
		.commands = {{"config stage", "FILE [--expect V]", "stage a whole configuration",
			       "Stages a whole configuration for 'plenum apply', in place of plenum.yaml and of all files\n"
			       "in plenum.d. FILE - is standard input.\n" EXPECT_HELP}},
	},
	[RESOURCE_CONFIG_RESTORE] = {
		OPERATION("DELETE", "/v1/config/staged", PRIVSEP_DROP_STAGED, "discard all staged changes"),
		.version = RESOURCE_VERSION_OPTIONAL,
		.commands = {{"restore", "[--expect V]", "discard staged changes",
			       "Discards everything that is staged: a whole configuration and the changes of\n"
			       "'plenum net'.\n" EXPECT_HELP}},
	},
	[RESOURCE_NET] = {
		OPERATION("GET", "/v1/net", PRIVSEP_GET, "the legs"),
		.what = PRIVSEP_NET,
		LIST("net", "name", TEXT),
		.columns = "LEG,DEVICE,NETWORK,LABEL,SWITCH PORT,STATE,CARRIER,MTU,IPS",
		.commands = {{"net show", "[NAME] [TABLE OPTION...]", "list the legs, or show one",
			       "Lists the legs with their devices, networks, labels, addresses and carriers, and the\n"
			       "staged change of each: '+' added, '-' removed, '~' changed by the next apply. With NAME\n"
			       "shows one leg: its keys, their staged values, the version for --expect, and values in files\n"
			       "that a change by 'plenum net' overrides.\n"}},
	},
	[RESOURCE_NET_ADD] = {
		OPERATION("POST", "/v1/net", PRIVSEP_NET_ADD, "stage a new leg"),
		.success = 201,
		.version = RESOURCE_VERSION_OPTIONAL,
		.body = RESOURCE_BODY_LEG,
		.commands = {{"net add", "DEVICE [OPTION...]", "stage a new leg",
			       "Stages a new leg on a device. 'plenum apply' configures the leg and writes it to\n"
			       "plenum.d/50-cli.yaml; 'plenum restore' discards the change. DEVICE is a PCI address, a MAC\n"
			       "address or an interface name.\n\n"
			       "      --name N      name of the leg; default: the interface name\n"
			       NET_OPTIONS_HELP EXPECT_HELP}},
	},
	[RESOURCE_NET_GET] = {
		OPERATION("GET", "/v1/net/", PRIVSEP_GET_NET, "one leg"),
		NAMED(TEXT, net.name, "name"),
	},
	[RESOURCE_NET_SET] = {
		OPERATION("PATCH", "/v1/net/", PRIVSEP_NET_SET, "stage changes to a leg"),
		NAMED(TEXT, net.name, "name"),
		.version = RESOURCE_VERSION_REQUIRED,
		.body = RESOURCE_BODY_LEG,
		.commands = {{"net set", "NAME [OPTION...]", "stage changes to a leg",
			       "Stages changes to a leg, whichever file defines it. 'plenum apply' writes the changes to\n"
			       "plenum.d/50-cli.yaml and to no other file.\n\n"
			       "      --device D    use another device\n"
			       "      --unset LIST  keys to reset to the value in the file, or to the default\n"
			       NET_OPTIONS_HELP EXPECT_LEG_HELP},
			     {"net label", "NAME LABEL [--expect V]", "stage the label of a leg",
			       "Stages the label of a leg: the name of the switch behind its device, or auto for the name\n"
			       "that the switch sends by LLDP.\n"
			       EXPECT_LEG_HELP},
			     {"net disable", "NAME [--expect V]", "stage that a leg is not used",
			       "Stages that a leg is not used. The leg keeps its entry, its addresses and its routing table;\n"
			       "the agent does not touch its device.\n"
			       EXPECT_LEG_HELP},
			     {"net enable", "NAME [--expect V]", "stage that a leg is used again",
			       "Stages that a disabled leg is used again.\n" EXPECT_LEG_HELP}},
	},
	[RESOURCE_NET_REMOVE] = {
		OPERATION("DELETE", "/v1/net/", PRIVSEP_NET_DEL, "stage the removal of a leg"),
		NAMED(TEXT, net.name, "name"),
		.version = RESOURCE_VERSION_OPTIONAL,
		.commands = {{"net remove", "NAME [--expect V]", "stage the removal of a leg",
			       "Stages the removal of a leg that 'plenum net add' added; 'plenum apply' removes it. To\n"
			       "remove a leg of another file, edit that file.\n" EXPECT_LEG_HELP}},
	},
	[RESOURCE_APPLY] = {
		OPERATION("POST", "/v1/apply", PRIVSEP_APPLY, "apply"),
		.async = true,
		.version = RESOURCE_VERSION_OPTIONAL,
		FIELDS(apply_fields),
		.commands = {{"apply", "[--confirm TIME] [--dry-run] [--force NAME] [--expect V]", "apply the staged configuration",
			       "Makes the agent apply the staged configuration, or the files if nothing is staged. A\n"
			       "failed apply is rolled back. An apply is also rolled back if a peer no longer answers after\n"
			       "the change, or if a mount that replaces a served mount does not come up. If programs use a\n"
			       "mount that the change ends or replaces, names them and changes nothing. Exit status 1: a\n"
			       "mount that was served before is not served by the new configuration. If other users have\n"
			       "staged changes, asks on a terminal, and refuses without a terminal.\n\n"
			       "      --confirm TIME  roll back unless 'plenum confirm' follows within TIME: 120s, 5m\n"
			       "      --dry-run     only show what would be done\n"
			       "      --force NAME  apply although the change cuts off a dependency of the host; NAME is the\n"
			       "                    interface or the dependency that the refusal names, such as\n"
			       "                    default-route; --force probes: apply although a peer stops\n"
			       "                    answering, or a mount is not served; --force mounts: apply although\n"
			       "                    programs use a mount that ends, and get errors; --force others:\n"
			       "                    apply also what other users have staged\n"
			       "      --expect V    do this only if 'plenum diff' or 'plenum plan' still shows version V\n"}},
	},
	[RESOURCE_CONFIRM] = {
		OPERATION("POST", "/v1/confirm", PRIVSEP_CONFIRM, "keep the pending apply"),
		.role = ACCESS_OPERATE,
		FIELDS(confirm_fields),
		.commands = {{"confirm", "[NUMBER] [--force files]", "keep the pending apply",
			       "Keeps an apply that is pending because of 'plenum apply --confirm' or policy.confirm: the\n"
			       "apply with NUMBER in 'plenum status', by default your own apply.\n\n"
			       "      --force files  confirm even if the configuration files have changed meanwhile;\n"
			       "                    copies of the changed files are kept in the same folder, with ~\n"
			       "                    at the end of the name\n"}},
	},
	[RESOURCE_ROLLBACK] = {
		OPERATION("POST", "/v1/rollback", PRIVSEP_ROLLBACK, "undo an apply"),
		.role = ACCESS_OPERATE,
		.async = true,
		FIELDS(rollback_fields),
		.commands = {{"rollback", "[NUMBER] [--confirm TIME] [--dry-run] [--force NAME]", "undo an apply",
			       "Undoes the pending apply with NUMBER, by default your own apply. If no apply is pending,\n"
			       "returns to the configuration before the running one, or to the configuration of apply NUMBER\n"
			       "in 'plenum history'; the configuration files stay as they are. 'plenum apply --help' explains\n"
			       "the options.\n"}},
	},
	[RESOURCE_OPERATIONS] = {
		OPERATION("GET", "/v1/operations", PRIVSEP_GET, "operations in the background"),
		.what = PRIVSEP_OPERATIONS,
		LIST("operations", "id", NUMBER),
	},
	[RESOURCE_OPERATION] = {
		OPERATION("GET", "/v1/operations/", PRIVSEP_GET, "one operation, with its answer"),
		.what = PRIVSEP_OPERATION,
		NAMED(NUMBER, get.number, "id"),
	},
	[RESOURCE_DOCTOR] = {
		OPERATION("POST", "/v1/doctor", PRIVSEP_DOCTOR, "run the doctor"),
		.role = ACCESS_OPERATE,
		.async = true,
		.body = RESOURCE_BODY_NONE,
	},
	[RESOURCE_STOP] = {
		OPERATION("POST", "/v1/stop", PRIVSEP_STOP, "end mounts, workers, agent"),
		.success = 202,
		FIELDS(stop_fields),
		.commands = {{"stop", "[--force]", "end mounts, workers and the agent",
			       "Unmounts all mounts, then ends the workers and the agent. The network stays as it is. If\n"
			       "programs use a mount, names them and changes nothing. To end only the agent, use 'systemctl\n"
			       "stop plenumd': workers and mounts continue.\n\n"
			       "      --force       stop also if programs use a mount; they get errors\n"}},
	},
	[RESOURCE_WORKERS_RESTART] = {
		OPERATION("POST", "/v1/workers/restart", PRIVSEP_RESTART, "restart workers"),
		.role = ACCESS_OPERATE,
		FIELDS(restart_fields),
		.commands = {{"worker restart", "ID | --outdated", "restart workers under their mounts",
			       "Restarts a worker by its ID in 'plenum processes', or all workers that still run an\n"
			       "earlier plenum-worker after an upgrade, one at a time: the next restart waits until\n"
			       "all workers are up. Programs on mounts see a pause and no error. Exit status 2: a worker did\n"
			       "not come back within a minute.\n\n"
			       "      --outdated    all workers that 'plenum processes' shows as outdated\n"}},
	},
	[RESOURCE_WORKER_STOP] = {
		OPERATION("POST", "/v1/workers/stop", PRIVSEP_WORKER_STOP, "stop a worker"),
		.role = ACCESS_OPERATE,
		FIELDS(worker_fields),
		.commands = {{"worker stop", "ID", "stop a worker and keep it stopped",
			       "Stops a worker by its ID in 'plenum processes'. The worker stays down, also through\n"
			       "applies, until 'plenum worker start' or a start of the agent; 'plenum status' says so. The\n"
			       "worker's mounts stay: programs on hard mounts wait, and programs on soft mounts get errors\n"
			       "after the soft time; clients of the worker's exports wait likewise. Exit status 2: the worker\n"
			       "did not end within a minute.\n"}},
	},
	[RESOURCE_WORKER_START] = {
		OPERATION("POST", "/v1/workers/start", PRIVSEP_WORKER_START, "start a stopped worker"),
		.role = ACCESS_OPERATE,
		FIELDS(worker_fields),
		.commands = {{"worker start", "ID", "start a stopped worker",
			       "Starts a worker that 'plenum worker stop' has stopped. Exit status 2: the worker is not\n"
			       "up after a minute.\n"}},
	},
	[RESOURCE_WORKER] = {
		OPERATION("GET", "/v1/workers/", PRIVSEP_GET_WORKER, "the core of a worker"),
		NAMED(NUMBER, move.worker, "id"),
		.commands = {{"worker show", "ID", "show the core of a worker, and its staged move",
			       "Shows the core of a worker, by its ID in 'plenum processes', the core that the next apply\n"
			       "moves it to, the file that has its entry, the version for --expect, and the value in that\n"
			       "file if 'plenum worker move' overrides it.\n"}},
	},
	[RESOURCE_WORKER_MOVE] = {
		OPERATION("PATCH", "/v1/workers/", PRIVSEP_WORKER_MOVE, "stage another core for a worker"),
		NAMED(NUMBER, move.worker, "id"),
		.version = RESOURCE_VERSION_REQUIRED,
		FIELDS(move_fields),
		.commands = {{"worker move", "ID --core N [--expect V]", "stage another core for a worker",
			       "Stages that a worker, by its ID in 'plenum processes', runs on another core, which no other\n"
			       "worker uses. 'plenum plan' shows the steps; 'plenum apply' restarts the worker on that core\n"
			       "under its mounts, and writes the change to plenum.d/50-cli.yaml and to no other file. The\n"
			       "worker keeps its ID and its data IPs. 'plenum restore' discards all staged changes.\n\n"
			       "      --core N      the core to use; 0, which the kernel uses most, is accepted\n"
			       "      --expect V    stage this only if 'plenum worker show ID' still shows version V\n"}},
	},
	[RESOURCE_WORKER_LOGS] = {
		OPERATION("GET", "/v1/workers/", PRIVSEP_GET_LOGS, "what a worker has logged"),
		.role = ACCESS_OPERATE,
		NAMED(NUMBER, logs.worker, "id"),
		.suffix = "/logs",
		LIST("lines", "number", NUMBER),
		.latest_first = true,
	},
	[RESOURCE_AGENT_LOGS] = {
		OPERATION("GET", "/v1/agent/logs", PRIVSEP_GET_LOGS, "what the agent has logged"),
		.role = ACCESS_OPERATE,
		LIST("lines", "number", NUMBER),
		.latest_first = true,
	},
	[RESOURCE_LOG_LEVEL] = {
		OPERATION("POST", "/v1/workers/log-level", PRIVSEP_LOG_LEVEL, "set what it logs"),
		.role = ACCESS_OPERATE,
		FIELDS(log_level_fields),
		.commands = {{"worker log-level", "ID | agent LEVEL", "set what a worker logs",
			       "Makes a worker, by its ID in 'plenum processes', or the agent log messages up to LEVEL\n"
			       "until it restarts: error, warning, notice, info or debug. 'plenum processes -o\n"
			       "id,log-level' shows the levels in use, 'plenum worker logs' what was logged.\n"}},
	},
	[RESOURCE_FAULTS] = {
		OPERATION("GET", "/v1/faults", PRIVSEP_GET, "the active faults"),
		.what = PRIVSEP_FAULTS,
		LIST("faults", "id", NUMBER),
		.columns = "ID,LEG,PEER,DIRECTION,DROP,DELAY,DUPLICATE,REORDER,ENDS IN,PACKETS,BY",
		.commands = {{"fault show", "[TABLE OPTION...]", "list the injected faults",
			       "Lists the injected faults, their remaining time, and how many packets each affected.\n"}},
	},
	[RESOURCE_FAULT] = {
		OPERATION("GET", "/v1/faults/", PRIVSEP_GET, "one fault"),
		.what = PRIVSEP_FAULT,
		NAMED(NUMBER, get.number, "id"),
	},
	[RESOURCE_FAULT_ADD] = {
		OPERATION("POST", "/v1/faults", PRIVSEP_FAULT_ADD, "start a fault"),
		.success = 201,
		FIELDS(fault_fields),
		.commands = {{"fault add", "[--leg LEG] [--peer PEER] FAULT... --ttl TIME", "inject packet loss, delay, reordering",
			       "Makes the workers of this host drop, delay, duplicate or reorder packets, to test how\n"
			       "the file system copes. Needs policy.fault-injection: true. A fault ends when its time is\n"
			       "over, even if the agent does not run. RDMA traffic is not affected.\n\n"
			       "      --leg LEG       affect packets of this leg only\n"
			       "      --peer PEER     affect packets to and from one host only: a name in peers, a client's\n"
			       "                      name, or an address\n"
			       "      --direction D   affect packets in this direction: in, out or both; default both\n"
			       "      --drop SHARE    drop this share of packets: 1%, 0.05%\n"
			       "      --blackhole     drop all packets\n"
			       "      --delay TIME    delay each packet by TIME in each direction: 2ms, 500us; at most 1s\n"
			       "      --duplicate SHARE  duplicate this share of packets\n"
			       "      --reorder SHARE delay this share of packets by 2 ms\n"
			       "      --ttl TIME      end the fault after TIME: 60s, 5m; at most 1h\n"}},
	},
	[RESOURCE_FAULTS_REMOVE] = {
		OPERATION("DELETE", "/v1/faults", PRIVSEP_FAULT_DEL, "end all faults"),
		.body = RESOURCE_BODY_NONE,
	},
	[RESOURCE_FAULT_REMOVE] = {
		OPERATION("DELETE", "/v1/faults/", PRIVSEP_FAULT_DEL, "end one fault"),
		NAMED(NUMBER, fault.id, "id"),
		.commands = {{"fault remove", "ID | all", "end an injected fault",
			       "Ends a fault by its ID in 'plenum fault show', or all faults.\n"}},
	},
	[RESOURCE_CAPTURES] = {
		OPERATION("GET", "/v1/captures", PRIVSEP_GET, "the running capture"),
		.what = PRIVSEP_CAPTURES,
		LIST("captures", "capture", TEXT),
		.columns = "ID,STATE,BY,SINCE,LEG,WORKERS,SNAP,KEYS,PACKETS,BYTES,DROPPED",
		.commands = {{"captures", "[TABLE OPTION...]", "list the running capture",
			       "Lists the running capture: who started it and when, its leg and workers, the bytes kept of\n"
			       "each packet, whether it has the keys of encrypted sessions, the packets and bytes that its\n"
			       "client has fetched, and the packets that did not fit into the buffer. There is at most one.\n"}},
	},
	[RESOURCE_CAPTURE_BEGIN] = {
		OPERATION("POST", "/v1/captures", PRIVSEP_CAPTURE, "start a capture"),
		.role = ACCESS_OPERATE,
		.success = 201,
		.what = PRIVSEP_CAPTURE_BEGIN,
		FIELDS(capture_fields),
		.commands = {{"capture", "[--leg LEG] [--worker ID] [OPTION...] [-w FILE]", "write the workers' packets to a file",
			       "Writes the packets that workers send and receive, also via DPDK, as pcapng for wireshark,\n"
			       "tshark and tcpdump, until a limit is reached or the command is interrupted. The dissector\n"
			       "is wireshark/plenum.lua in Plenum's shared files. Packets are never delayed: packets that\n"
			       "do not fit into the buffer are left out and counted. Needs the right to make changes.\n\n"
			       "  -w, --write FILE  output file; - (default): standard output, which must not be a\n"
			       "                    terminal\n"
			       "      --leg LEG     capture on this leg only\n"
			       "      --worker ID   capture this worker only, by its ID in 'plenum processes'\n"
			       "      --seconds N   stop after this time; default 60\n"
			       "      --packets N   stop after this many packets\n"
			       "      --size N      stop at this file size in MiB; default 256\n"
			       "      --snap BYTES  bytes to keep of each packet, at least 64, or full; default 192\n"
			       "      --buffer N    buffer in MiB for packets not yet written; default 32\n"
			       "      --keys FILE   write the keys of encrypted sessions to FILE for the dissector;\n"
			       "                    both files together reveal users' data\n"}},
	},
	[RESOURCE_CAPTURE_TAKE] = {
		OPERATION("POST", "/v1/captures/", PRIVSEP_CAPTURE, "fetch packets"),
		.role = ACCESS_OPERATE,
		.what = PRIVSEP_CAPTURE_TAKE,
		.content = PRIVSEP_PCAPNG,
		.continues = true,
		NAMED(HEX, capture.id, "number"),
		.body = RESOURCE_BODY_NONE,
	},
	[RESOURCE_CAPTURE_END] = {
		OPERATION("DELETE", "/v1/captures/", PRIVSEP_CAPTURE, "end a capture"),
		.role = ACCESS_OPERATE,
		.what = PRIVSEP_CAPTURE_END,
		.content = PRIVSEP_PCAPNG,
		.continues = true,
		NAMED(HEX, capture.id, "number"),
		.body = RESOURCE_BODY_NONE,
		.commands = {{"captures end", "ID", "end the running capture",
			       "Ends a capture by its ID in 'plenum captures', also that of another user. Packets that its\n"
			       "client has not fetched are lost; the client's file is valid up to there. Over the network,\n"
			       "only the role admin may end a capture with keys.\n"}},
	},
	[RESOURCE_RDMA_PING_BEGIN] = {
		OPERATION("POST", "/v1/rdma-pings", PRIVSEP_RDMA_PING, "start an RDMA test"),
		.role = ACCESS_OPERATE,
		.success = 201,
		FIELDS(ping_fields),
		.commands = {{"rdma ping", "PEER [--leg LEG] [--size BYTES] [--count N]", "measure RDMA to a peer on each leg",
			       "Measures RDMA to a peer over each leg, in both directions, with a worker that mounts from\n"
			       "the peer or serves a mount of the peer: latency of single transfers and throughput of four\n"
			       "at a time. If a leg has no RDMA, prints the reason and the findings of the doctor. Direction\n"
			       "'in': the peer writes into this host's memory, as for file reads; 'out': the peer reads from\n"
			       "this host's memory. PEER is the name of the other host or one of its data IPs. Mounts have\n"
			       "priority: the test uses at most a quarter of the time. Needs the right to make changes. Exit\n"
			       "status 1: some transfers failed; 2: all transfers of a leg failed.\n\n"
			       "      --leg LEG     test this leg only\n"
			       "      --size BYTES  size of each transfer; default 64, and 65536 for four at a time\n"
			       "      --count N     number of single transfers; default 100\n"}},
	},
	[RESOURCE_RDMA_PING_RESULT] = {
		OPERATION("POST", "/v1/rdma-pings/", PRIVSEP_RDMA_PING, "result of an RDMA test"),
		.role = ACCESS_OPERATE,
		.continues = true,
		NAMED(HEX, ping.id, "number"),
		.body = RESOURCE_BODY_NONE,
	},
	[RESOURCE_ROOT] = {
		OPERATION("GET", "/", PRIVSEP_GET, "name, version, other documents"),
		.local = RESOURCE_LOCAL_ROOT,
	},
	[RESOURCE_INDEX] = {
		OPERATION("GET", "/v1", PRIVSEP_GET, "the list of operations"),
		.local = RESOURCE_LOCAL_INDEX,
	},
	[RESOURCE_OPENAPI] = {
		OPERATION("GET", "/openapi.json", PRIVSEP_GET, "this interface as OpenAPI 3.1"),
		.local = RESOURCE_LOCAL_OPENAPI,
	},
};
/* clang-format on */
