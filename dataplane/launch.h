/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface between the agent and a worker: the descriptors that a worker inherits, its
 * configuration, the messages between the two, and the layout of the statistics page. Agent and
 * worker are built together, so plain structs suffice; magic, version and size detect a mixed
 * installation. The agent writes the configuration into a sealed memfd and never changes it. A
 * changed configuration needs a new worker process, except for changes that the agent sends in
 * messages: links, labels, keys, and ports of legs that are added later. Nothing here allocates or
 * owns memory.
 */
#ifndef PLENUM_DATAPLANE_LAUNCH_H
#define PLENUM_DATAPLANE_LAUNCH_H

#include "dataplane/launch_fault.h"
#include "netcfg/base/addr.h"
#include "netcfg/base/base.h"
#include "netcfg/base/version.h"
#include <net/if.h>
#include <string.h>

#define LAUNCH_MAGIC 0x504c4e4dU /* "PLNM" */
#define LAUNCH_VERSION 35

/* Size of launch_config.share_fd; server_share.c defines its content. If that layout changes, this
 * size and the version above must change too, because workers of the old version continue to use
 * the old memory. */
#define LAUNCH_SHARE_BYTES 974131200
/* Size of launch_config.locks_fd, whose layout lock_layout.h defines. Another layout must have
 * another size, because the memory keeps clients' locks across an upgrade: a later version must be
 * able to use the memory, or must notice that it cannot. */
#define LAUNCH_LOCKS_BYTES 32903168

/*
 * Inherited descriptors. All other descriptors are closed.
 *
 * A worker outlives its agent: it serves for LAUNCH_ORPHAN_S without one, and another agent may
 * adopt it in that time. The worker has all descriptors open that the next agent needs, under these
 * numbers. The agent copies them with pidfd_getfd(2) if neither the service manager nor the
 * descriptor holder has kept them. So the numbers up to LAUNCH_FD_AGENT must not change in any
 * version.
 *
 * A worker uses one control socket as long as it runs. It keeps the agent's side open too, so
 * messages sent without an agent wait there for the next agent. Therefore the worker notices an
 * agent's exit by a hang-up of LAUNCH_FD_ALIVE, not by an end of file on the socket, and an agent
 * adopts the worker by a message with a new pipe.
 */
enum launch_fd {
	LAUNCH_FD_CONTROL = 3, /* AF_UNIX SOCK_SEQPACKET to the agent */
	LAUNCH_FD_CONFIG = 4,  /* sealed memfd: struct launch_config */
	LAUNCH_FD_STATS = 5,   /* shared memfd: struct launch_stats, written by the worker */
	LAUNCH_FD_STATE = 6,   /* memfd that the agent creates and that outlives the worker; its
				  name tells the next agent which worker this is, also after a
				  restart of the worker */
	LAUNCH_FD_AGENT = 7,   /* the agent's side of LAUNCH_FD_CONTROL: kept open, never used */
	LAUNCH_FD_ALIVE = 8,   /* read end of a pipe; hangs up when the agent has exited */
	LAUNCH_FD_KEY = 9, /* 16 random bytes that sign the file handles that clients keep: created
			      once per host, kept across reboots; only a compute worker's helpers
			      read them, never the worker */
	LAUNCH_FD_FIRST = 10, /* first of the descriptors that the configuration names */
};

#define LAUNCH_ORPHAN_S 600 /* how many seconds a worker serves without an agent */

#define LAUNCH_KEY_BYTES 16
#define LAUNCH_SECRETS_MAX 2
#define LAUNCH_SECRET_BYTES 32
#define LAUNCH_CERTIFICATE_BYTES 276 /* IDENTITY_CERTIFICATE_BYTES */
#define LAUNCH_REVOKED_MAX 256
#define LAUNCH_PORTS_MAX PLENUM_LEGS_MAX
#define LAUNCH_SOURCES_MAX 8 /* maximum number of UDP source ports of a worker on one leg */
#define LAUNCH_MOUNTS_MAX 128
/* Maximum number of mounts of other workers that a worker serves as a mount worker. */
#define LAUNCH_SHARED_MOUNTS_MAX 16
/* Maximum number of mount workers of a mount, in addition to the worker that owns it. */
#define LAUNCH_MOUNT_WORKERS_MAX 15
#define LAUNCH_EXPORTS_MAX 16
#define LAUNCH_CLIENTS_MAX 256
#define LAUNCH_CLIENT_ADDRS_MAX 4096
#define LAUNCH_SESSIONS_MAX 10000
#define LAUNCH_SESSIONS_DEFAULT 4096
#define LAUNCH_IDS_MAX 256
#define LAUNCH_OPCODES_MAX 64
#define LAUNCH_PEER_ADDRS_MAX 16
#define LAUNCH_PATHS_MAX 256 /* maximum number of entries in launch_stats.paths: two per mount */
#define LAUNCH_REASON_MAX 128
#define LAUNCH_CLIENT_STATS_MAX 1024

enum launch_role { LAUNCH_FRONTEND, LAUNCH_COMPUTE, LAUNCH_DRIVES, LAUNCH_ROLE_MAX };
enum launch_transport {
	LAUNCH_UDP,	       /* kernel sockets */
	LAUNCH_DPDK,	       /* polling core */
	LAUNCH_DPDK_INTERRUPT, /* sleeps until packets arrive, so the core may be shared */
	LAUNCH_TRANSPORT_MAX
};

struct launch_port { /* one leg of this worker */
	char leg[PLENUM_NAME_MAX];
	char label[PLENUM_NAME_MAX]; /* label of the switch, as known at the start; "": unknown */
	char ifname[IFNAMSIZ];	     /* kernel interface; for a VF that is bound to vfio, and has no
					interface, that of its PF */
	char device[PLENUM_NAME_MAX]; /* DPDK device argument ("0000:3b:02.1" or "net_memif0,..."),
				       * LAUNCH_DEVICE_*; "" for UDP */
	uint32_t ifindex;
	uint32_t mtu; /* largest IP packet in bytes */
	struct ip_prefix ip;
	struct ip_addr gateway; /* family 0: none */
	uint16_t udp_port;
	uint8_t udp_sources; /* count of UDP source ports, including udp_port; 0 stands for 1 */
	struct mac_addr mac; /* DPDK: source address of frames */
	uint32_t again;	     /* how often the host has taken the device from a worker and has
				returned it; if this number has changed, the worker must open the
				device again */
	bool rdma;	     /* bulk data may use the RDMA device that has this leg's address */
	bool rdma_asked;     /* the configuration asks for RDMA, so the worker is degraded if bulk
				data cannot use it */
	bool rdma_only;	     /* bulk data of this host's mounts may use only RDMA, and waits while
				RDMA is unavailable */
	bool shared; /* DPDK: the kernel keeps the device and the address, and flow rules steer
			datagrams for the worker's port to it */
};

/*
 * Returns whether the worker drives a PCI function itself. Only the names of PCI devices have
 * colons but no arguments.
 */
static inline bool launch_port_is_function(const struct launch_port *p)
{
	return strlen(p->device) < 16 && strchr(p->device, ':') && !strchr(p->device, ',');
}

/* Devices for a kernel interface: via AF_XDP, or AF_PACKET if that fails; or only via AF_PACKET. */
#define LAUNCH_DEVICE_AF_XDP PLENUM_DEVICE_AF_XDP
#define LAUNCH_DEVICE_AF_PACKET PLENUM_DEVICE_AF_PACKET

static inline bool launch_port_is_xdp(const struct launch_port *p)
{
	return strcmp(p->device, LAUNCH_DEVICE_AF_XDP) == 0;
}

/* Limits of a mount, for all of its workers together; 0: no limit. */
struct launch_limits {
	uint64_t bytes_per_s, operations_per_s;
};

struct launch_mount {	/* A mount of a frontend; the agent has opened /dev/fuse and has mounted
			   it. */
	char path[256]; /* shown in messages; otherwise unused */
	char export_name[PLENUM_NAME_MAX];
	char peer[PLENUM_NAME_MAX];
	uint8_t id[16]; /* random, drawn once per mount; kept when a worker restarts */
	int fuse_fd;	/* descriptor of /dev/fuse, open until the agent unmounts */
	int state_fd;	/* memfd, empty at first: the state of the mount, for the process that
			   serves it next. It moves with the mount to another worker or agent. The
			   agent never reads it, and gives it only to the process that serves the
			   mount and to the mount's mount workers */
	int bell_fd; /* eventfd that the owner and the mount workers of the mount share; -1: none */
	uint32_t mount_worker;	   /* 0: this worker owns the mount; else this worker's number as a
				      mount worker of another worker's mount */
	bool has_mount_workers;	   /* other cores of the entry serve the mount as mount workers */
	bool mount_workers_always; /* mount workers always read requests: the owner does not measure
				      whether that helps */
	bool read_only;
	bool suid, dev;	 /* options of the kernel's mount */
	bool write_back; /* small writes may be held and gathered, see client_write_back.c */
	uint32_t locks;	 /* enum launch_locks */
	uint32_t soft_s; /* how long requests wait before they fail; 0: for ever (a hard mount) */
	struct launch_limits limits; /* of the owner; a running worker gets changes by LIMITS */
	struct {
		struct ip_addr ip;
		uint16_t port;
	} addrs[LAUNCH_PEER_ADDRS_MAX]; /* some data IPs of the peer; the client begins the session
					   at one of these */
	uint32_t n_addrs;
};

/* LOCAL: the client's kernel manages file locks, so they do not exclude other clients. NONE: all
 * locks are refused. CLUSTER: the server manages them. */
enum launch_locks { LAUNCH_LOCKS_LOCAL, LAUNCH_LOCKS_NONE, LAUNCH_LOCKS_CLUSTER, LAUNCH_LOCKS_MAX };

/* Returns whether programs see the same mount in both configurations, because path, source and
 * options of the kernel's mount are equal. One of these options is whether the server manages the
 * locks, because the kernel learns that only at the start of the mount. */
static inline bool launch_mount_equal(const struct launch_mount *a, const struct launch_mount *b)
{
	return strcmp(a->path, b->path) == 0 && strcmp(a->export_name, b->export_name) == 0 &&
	       strcmp(a->peer, b->peer) == 0 && a->read_only == b->read_only &&
	       a->suid == b->suid && a->dev == b->dev &&
	       (a->locks == LAUNCH_LOCKS_CLUSTER) == (b->locks == LAUNCH_LOCKS_CLUSTER);
}

enum launch_squash { LAUNCH_SQUASH_NONE, LAUNCH_SQUASH_ROOT, LAUNCH_SQUASH_ALL };

struct launch_ids { /* maps a range of user or group ids: the client's id `client + i` is this
		       host's id `server + i` */
	uint32_t client, server, count; /* i is from 0 to count - 1 */
};

struct launch_client { /* compute: a rule that says which clients may use an export, and how */
	char host[PLENUM_NAME_MAX]; /* name of the client's host; "": the rule does not depend
				       on the name */
	struct ip_prefix network;   /* family 0: the rule does not depend on the address. If the
				       rule depends on neither name nor address, it matches every
				       client */
	bool read_only;
	enum launch_squash squash;
	uint32_t anonuid, anongid;
	/* Ranges in launch_config.ids: first the users' ranges, then the groups'. Without ranges,
	 * ids stay the same. */
	uint32_t first_ids, n_uids, n_gids;
	/* Range in launch_config.client_addrs: the addresses of `host`. Without a cluster key any
	 * client could claim that name, so the rule matches only sessions from one of these
	 * addresses. With a key the range is empty. */
	uint32_t first_addr, n_addrs;
};

struct launch_export {
	char name[PLENUM_NAME_MAX];
	char path[256]; /* shown in messages; otherwise unused */
	int dir_fd;	/* the export's root, opened with O_DIRECTORY | O_RDONLY */
	int state_fd; /* memfd, empty at first: the state of the export; kept for the export of this
			 name even if its path or options change */
	bool read_only;
	bool crosses; /* clients also see file systems that are mounted inside the export */
	/* Range in launch_config.clients. The first rule that matches decides; a client without a
	 * match is refused. */
	uint32_t first_client, n_clients;
};

/* Protection of this worker's packets, with the same values as in rudp.h. */
enum launch_security {
	LAUNCH_SECURITY_NONE,
	LAUNCH_SECURITY_AUTH,
	LAUNCH_SECURITY_ENCRYPT,
	LAUNCH_SECURITY_MAX
};

/* ACCEPT: this host proves its identity, but accepts peers without one. REQUIRE: peers must too. */
enum launch_identity { LAUNCH_IDENTITY_OFF, LAUNCH_IDENTITY_ACCEPT, LAUNCH_IDENTITY_REQUIRE };
struct launch_revoked { /* certificates of this host up to this epoch are refused */
	char host[PLENUM_NAME_MAX];
	uint64_t epoch;
};

struct launch_config {
	uint32_t magic, version, size; /* size: sizeof(struct launch_config) */
	char host[PLENUM_NAME_MAX];    /* this host's name: the worker sends it to peers, which
					  check it */
	uint32_t worker_id; /* ID of the worker, unique on this host; kept when the worker restarts
			     */
	uint32_t epoch;	    /* a number that grows with each start of any worker on
			       this host */
	uint64_t boot_id; /* random number that identifies the worker together with worker_id; drawn
			     when the worker's state is created */
	enum launch_role role;
	enum launch_transport transport;
	uint32_t core;	  /* logical CPU on which the worker runs */
	uint32_t spin_us; /* how long an idle worker polls before it blocks; 0: it blocks at once */
	uint32_t orphan_s;  /* how many seconds the worker serves without an agent */
	uint32_t log_level; /* enum log_level */
	uint32_t sessions;  /* compute: maximum number of client mounts served at a time; 0:
			       LAUNCH_SESSIONS_DEFAULT */
	/* The cluster's keys at the start, the preferred one first; LAUNCH_MSG_KEYS brings later
	 * keys. The worker clears them after its transport has copied them. Only root can open the
	 * memfd, because workers do not let other processes read their descriptors. */
	enum launch_security security;
	uint32_t n_secrets; /* 0 if and only if security is LAUNCH_SECURITY_NONE */
	uint8_t secrets[LAUNCH_SECRETS_MAX][LAUNCH_SECRET_BYTES];
	/* The identity of this host, zeros if it is off. The worker clears host_secret early. */
	enum launch_identity identity;
	uint8_t host_secret[LAUNCH_SECRET_BYTES], host_public[LAUNCH_SECRET_BYTES];
	uint8_t cluster_key[LAUNCH_SECRET_BYTES]; /* verifies certificates */
	uint8_t certificate[LAUNCH_CERTIFICATE_BYTES];
	/* The revoked hosts at the start; LAUNCH_MSG_REVOKED brings later ones. */
	struct launch_revoked revoked[LAUNCH_REVOKED_MAX];
	uint32_t n_revoked;
	struct launch_port ports[LAUNCH_PORTS_MAX];
	uint32_t n_ports;
	/*
	 * Frontend: reads and writes of at least this many bytes are bulk data, which may use RDMA.
	 */
	uint32_t rdma_read_min, rdma_write_min;
	/* failover: the ports share one address (DPDK only). The first port with a link carries the
	 * traffic. A port whose link has returned carries traffic again only after the link has
	 * stayed up for hold_ms. */
	bool failover;
	uint32_t hold_ms;
	struct launch_mount mounts[LAUNCH_MOUNTS_MAX];
	uint32_t n_mounts;
	struct launch_mount shared[LAUNCH_SHARED_MOUNTS_MAX]; /* mounts of other workers that this
								 worker serves as a mount worker */
	uint32_t n_shared;
	uint32_t n_shared_missing; /* count of further mounts of other workers that this worker must
				      serve, but that are not mounted yet: when one of them is
				      mounted, the agent restarts the worker */
	struct launch_export exports[LAUNCH_EXPORTS_MAX];
	uint32_t n_exports;
	uint32_t n_missing; /* count of further exports that are configured, but whose directory
			       does not exist: when one of the directories appears, the agent
			       restarts the worker */
	struct launch_client clients[LAUNCH_CLIENTS_MAX];
	uint32_t n_clients;
	struct launch_ids ids[LAUNCH_IDS_MAX];
	uint32_t n_ids;
	struct ip_addr client_addrs[LAUNCH_CLIENT_ADDRS_MAX];
	uint32_t n_client_addrs;
	int locks_fd; /* compute: memfd of LAUNCH_LOCKS_BYTES with the locks of all clients. All
			 compute workers share it. It is zeros at first, and sealed like
			 share_fd */
	int share_fd; /* compute: memfd of LAUNCH_SHARE_BYTES that all compute workers of this
			 version share. It is zeros at first, and sealed so that no worker can
			 shrink it. The workers record in it which leases clients have, and
			 which worker serves which client */
};

/*
 * Returns the memory for DPDK in MiB: enough for one port per leg, even if DPDK does not drive all
 * of them.
 */
static inline uint32_t launch_dpdk_mib(const struct launch_config *c)
{
	uint32_t mib = PLENUM_DPDK_MIB;

	for (uint32_t i = 0; i < c->n_ports; i++)
		mib += plenum_dpdk_port_mib(c->ports[i].mtu);
	return mib;
}

/* Returns whether ports can be added to a running worker, which is a confined process: it can open
 * kernel sockets, but not the host's files that a DPDK device needs. */
static inline bool launch_takes_ports(const struct launch_config *c)
{
	return c->transport == LAUNCH_UDP && !c->failover;
}

/* Returns whether a running worker can switch from port `is` to port `want`. The leg must keep its
 * address; only the leg's device may differ. */
static inline bool launch_port_moves(const struct launch_port *is, const struct launch_port *want)
{
	return strcmp(is->leg, want->leg) == 0 && is->again == want->again &&
	       is->mtu == want->mtu && is->udp_port == want->udp_port &&
	       is->udp_sources == want->udp_sources && is->ip.len == want->ip.len &&
	       is->rdma == want->rdma && is->rdma_asked == want->rdma_asked &&
	       is->rdma_only == want->rdma_only &&
	       memcmp(&is->ip.addr, &want->ip.addr, sizeof(is->ip.addr)) == 0 &&
	       memcmp(&is->gateway, &want->gateway, sizeof(is->gateway)) == 0;
}

/* Returns whether the RDMA driver is too old. A driver that is not part of the kernel, such as
 * OFED's, has a version and is supported from 4.6-1.0.1.1 on; the kernel's own drivers have no
 * version. */
static inline bool launch_rdma_driver_is_old(const char *module, const char *version)
{
	return strcmp(module, "mlx5_core") == 0 && version_is_older(version, "4.6-1.0.1.1");
}

/* Returns whether any leg may use RDMA, now or with a device that is added later. */
static inline bool launch_takes_rdma(const struct launch_config *c)
{
	for (uint32_t i = 0; i < c->n_ports && i < LAUNCH_PORTS_MAX; i++)
		if (c->ports[i].rdma)
			return true;
	return false;
}

/* Returns the number of client mounts that a compute worker serves at a time. */
static inline uint32_t launch_sessions(const struct launch_config *c)
{
	return c->sessions ? c->sessions : LAUNCH_SESSIONS_DEFAULT;
}

/* Returns the number of sessions that mount workers must leave free for mounts. */
static inline uint32_t launch_sessions_kept(const struct launch_config *c)
{
	return MAX_OF(launch_sessions(c) / 4, 1U);
}

/* Count of additional sessions for mount workers that only finish requests which they have begun.
 * These sessions are short. */
#define LAUNCH_SESSIONS_OWING 64U

/* An RDMA test measures transfers over one leg: from a frontend to the server of a mount, or from a
 * compute worker to the client that claims the name `peer`. */
#define LAUNCH_PING_COUNT_MAX 4096
#define LAUNCH_PING_BYTES_MAX (1U << 20)
#define LAUNCH_PING_DEPTH_MAX 4
/* after this many seconds a test ends, even if some transfers have not been made */
#define LAUNCH_PING_S_MAX 15
enum launch_ping_what { LAUNCH_PING_IN = 1, LAUNCH_PING_OUT, LAUNCH_PING_WHAT_MAX };
struct launch_ping {
	uint64_t id;	       /* ID of the test; 0: no test */
	uint32_t mount, port;  /* frontend: index in launch_config.mounts; port: index of the leg in
				  launch_config.ports */
	uint32_t what;	       /* enum launch_ping_what: whether to read into this host's
				  memory, or to write from it */
	uint32_t bytes, count; /* bytes of each transfer; count of transfers */
	uint32_t depth;	       /* count of transfers at a time */
	/* The result of a test. */
	int32_t status; /* 0: all transfers were made; negative errno: the test ended after `done`
			   transfers */
	uint32_t done;
	uint64_t took_ns; /* duration of all transfers, without the pauses between them */
	uint32_t min_ns, median_ns, p99_ns, max_ns; /* duration of one transfer */
	char reason[32];	    /* a reason code if RDMA is unavailable, else "" */
	char peer[PLENUM_NAME_MAX]; /* compute: the client with which the test runs */
};
static inline bool launch_ping_is_valid(const struct launch_ping *p)
{
	return p->id && p->mount < LAUNCH_MOUNTS_MAX && p->port < LAUNCH_PORTS_MAX && p->what &&
	       p->what < LAUNCH_PING_WHAT_MAX && p->bytes && p->bytes <= LAUNCH_PING_BYTES_MAX &&
	       p->count && p->count <= LAUNCH_PING_COUNT_MAX && p->depth &&
	       p->depth <= LAUNCH_PING_DEPTH_MAX;
}

/* Messages on LAUNCH_FD_CONTROL: one struct launch_msg per packet, in either direction. HOLD, DROP
 * and the fields before the union are the same in all versions, because an agent reads these
 * messages also from workers of other versions. */
enum launch_msg_type {
	/* Messages from the worker to the agent. */
	LAUNCH_MSG_READY = 1, /* the ports are open, rudp is up and the mounts are served; sent
				 once, and after each ADOPT */
	LAUNCH_MSG_FAILED,    /* the worker cannot start, and exits; code = negative errno, text =
				 the reason */
	LAUNCH_MSG_EVENT,     /* an event for operators; code = enum launch_event, text = a
				 sentence about the event */
	LAUNCH_MSG_HOLD,      /* asks the agent to keep a file of exports[index] open after the
				 worker's exit, for the next server of this export; the message
				 carries an O_PATH descriptor of the file. The agent keeps it until
				 LAUNCH_MSG_DROP with the same key, or until the export is
				 removed */
	LAUNCH_MSG_DROP,
	LAUNCH_MSG_RELEASED,	/* the host wants the device of port `index` back: the worker has
				   closed the port, and opens it again only after a restart. Sent
				   once, and after each ADOPT */
	LAUNCH_MSG_HAS_PORT,	/* confirms a PORT message: port `index` is now the one described
				   in `port`. Sent when that message arrived, and before READY
				   after each ADOPT */
	LAUNCH_MSG_PINGED,	/* the result of a PING */
	LAUNCH_MSG_LOCK_KEEP,	/* compute: record on disk that the mount `mount_id`, which has
				   the number `index` in the table of file locks, has locks with
				   the epoch `key`; answered by LOCK_KEPT */
	LAUNCH_MSG_LOCK_FORGET, /* remove that record; answered by LOCK_FORGOTTEN */
	/* Messages from the agent to the worker. */
	LAUNCH_MSG_LINK = 64,  /* the link of port `index` is up (code = 1) or down (code = 0) */
	LAUNCH_MSG_STOP,       /* finish running requests, then exit with status 0 */
	LAUNCH_MSG_ADOPT = 67, /* the next agent adopts the worker; carries the read end of that
				  agent's pipe; the worker answers READY */
	LAUNCH_MSG_LABEL,      /* text = the new label of port `index`; "": unknown */
	LAUNCH_MSG_KEYS,  /* the cluster's new keys; code = their number; the preferred one is first
			   */
	LAUNCH_MSG_PORT,  /* port `index` has changed to the one described in `port`: a leg was
			     added (index is then the next number), or the device of a leg was
			     replaced. Sent only if launch_takes_ports() */
	LAUNCH_MSG_FAULT, /* a new fault, or the end of a fault */
	LAUNCH_MSG_CAPTURE,    /* code 1, with one descriptor: write the packets of the ports in
				  `capture` to the packet ring behind this descriptor
				  (packet_ring.h), which replaces an earlier ring. Code 0: end the
				  capture. A capture also ends when the agent exits */
	LAUNCH_MSG_RDMA,       /* a new RDMA device that a leg may use; carries an O_PATH descriptor
				  of the device file; text = the device's name. With code 1 and no
				  descriptor: port `index` must not use its device, whose driver is
				  too old */
	LAUNCH_MSG_PING,       /* run an RDMA test, one at a time; answered by PINGED */
	LAUNCH_MSG_LOCK_BREAK, /* compute: break the file lock whose id is `key` (lock_layout.h) */
	LAUNCH_MSG_LOCK_KEPT,  /* the record of LOCK_KEEP is on disk */
	LAUNCH_MSG_LIMITS,     /* mounts[index] has these new limits */
	LAUNCH_MSG_LOCK_FORGOTTEN, /* there is no record of that mount with that epoch on disk */
	LAUNCH_MSG_REVOKED, /* certificates of the host `text` are refused up to the epoch `key` */
};
enum launch_event {
	LAUNCH_EVENT_PATH_DOWN,
	LAUNCH_EVENT_PATH_UP,
	LAUNCH_EVENT_PATH_MTU, /* the size of the packets that arrive on the path has changed */
	LAUNCH_EVENT_PEER_UP,
	LAUNCH_EVENT_PEER_LOST,
	LAUNCH_EVENT_PEER_REFUSED,
	LAUNCH_EVENT_DEGRADED, /* the port is degraded; text = the reason */
	LAUNCH_EVENT_RESTORED, /* the port works as configured again */
	LAUNCH_EVENT_RDMA,     /* bulk data begin or stop to use RDMA; text = the reason */
	LAUNCH_EVENT_LOCK,     /* a file lock was broken, or could not be */
	LAUNCH_EVENT_MAX
};
struct launch_capture {
	uint64_t ring_bytes; /* a power of two */
	uint32_t snap_bytes; /* how many bytes of each packet are kept */
	uint32_t ports;	     /* bit per port */
	bool keys;	     /* whether to capture the keys of encrypted sessions too */
};
struct launch_msg {
	uint32_t type; /* enum launch_msg_type, which decides the meaning of code and index */
	int32_t code;
	uint32_t index; /* index, in the configuration, of the port, mount or export that the
			   message concerns */
	uint32_t pad;
	uint64_t key; /* HOLD, DROP: number of the descriptor, unique on this host; LOCK_BREAK:
			 id of the lock; LOCK_KEEP, LOCK_FORGET and their answers: a lock epoch */
	union {
		char text[LAUNCH_REASON_MAX * 2]; /* NUL-terminated */
		uint8_t keys[LAUNCH_SECRETS_MAX][LAUNCH_SECRET_BYTES];
		struct launch_fault fault;
		struct launch_port port;
		struct launch_capture capture;
		struct launch_ping ping;
		uint8_t mount_id[16];
		struct launch_limits limits;
	};
};

/* Exit statuses of a worker. Any other exit is a crash. The agent restarts the worker with growing
 * delays ("backoff"). */
enum launch_exit {
	LAUNCH_EXIT_STOPPED = 0,
	LAUNCH_EXIT_CONFIG = 64, /* the configuration cannot work: the agent must not restart the
				    worker before the configuration changes */
	LAUNCH_EXIT_PORT = 65,	 /* a port could not be opened; restart with backoff */
	/* The agent has exited, and no other agent adopted the worker within orphan_s. */
	LAUNCH_EXIT_ORPHAN = 66,
	/* DPDK is unavailable: another transport, or a later retry, may work. */
	LAUNCH_EXIT_TRANSPORT = 67,
	LAUNCH_EXIT_SANDBOX = 68, /* the worker cannot be confined and refuses to run unconfined;
				     restart with backoff */
	/* The agent is of another version; restart with backoff, because the agent's successor may
	 * have the same version, and mounts wait for it. An agent that does not know this status
	 * treats it as a crash, and restarts the worker as well. */
	LAUNCH_EXIT_VERSION = 69,
};

/*
 * The statistics page. The worker alone writes it; there may be any number of readers. Counters are
 * 64-bit, aligned, stored and loaded relaxed; `seq` is odd while the text fields change (seqlock).
 */
enum launch_path_state {
	LAUNCH_PATH_JOINING, /* the peer has not answered on this path yet */
	LAUNCH_PATH_UP,
	LAUNCH_PATH_SUSPECT, /* the path was silent for a moment: it is still up, but carries no
				new packets */
	LAUNCH_PATH_DOWN,
	LAUNCH_PATH_STATE_MAX
};
struct launch_path_stats {
	char local[IP_ADDR_STR_MAX], remote[IP_ADDR_STR_MAX];
	char leg[PLENUM_NAME_MAX], peer[PLENUM_NAME_MAX];
	uint64_t up;	/* 1 healthy, 0 not */
	uint64_t state; /* enum launch_path_state */
	/* Sizes of an IP packet in bytes. mtu: in use now; mtu_found: the largest that was found to
	 * arrive; mtu_most: the largest that the links of both hosts allow. If mtu_found is less
	 * than mtu_most, the fabric does not carry packets that both hosts allow, and `reason` says
	 * so. */
	uint64_t mtu, mtu_found, mtu_most;
	uint64_t standby;      /* 1: usable, but used only while no better path is up */
	uint64_t swapped;      /* 1: the path leads to another switch, although another port of this
				  host is on the switch of the peer's leg */
	uint64_t sources;      /* UDP source ports that carry load, including the port's own */
	uint64_t sources_lost; /* further UDP source ports whose packets do not reach the peer */
	/* How many packets of a million are lost from this host to the peer, and from the peer to
	 * this host; UINT64_MAX: unknown. */
	uint64_t loss_out_ppm, loss_in_ppm;
	/* 1: the loss is far larger than usual, or than on the other legs. */
	uint64_t lossy_out, lossy_in;
	uint64_t avoided; /* 1: lossy, and a better path carries the load */
	/* slow_ns: the round trip of a slow path; 0: the path is not slow. slow_than_ns: the
	 * shorter round trip that it was compared with. slow_than: the leg with the shorter round
	 * trip; "": this path itself had the shorter round trip earlier. */
	uint64_t slow_ns, slow_than_ns;
	char slow_than[PLENUM_NAME_MAX];
	uint64_t segmentation_lost; /* 1: packets of segmented bursts do not arrive, so packets are
				       sent one by one */
	uint64_t srtt_ns, peer_srtt_ns; /* peer_srtt_ns: the round trip as the peer measures it;
					   0: unknown */
	uint64_t rtt_at_ns; /* clock_now_ns() when a message last measured the round trip; 0: never.
			       Between sleeping hosts, probes mostly measure how long the hosts take
			       to wake up */
	uint64_t cwnd_bytes;
	uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes;
	uint64_t lost_packets, rx_lost_packets; /* lost_packets: lost packets of this host;
						   rx_lost_packets: lost packets of the peer */
	uint64_t retransmits, failovers;
	uint64_t last_pause_ns; /* longest time without progress in the last failover */
	uint64_t since_ns;	/* clock_now_ns() when the path last went up or down, or was
				   created */
	/* File data of the session that RDMA transferred over this leg. If several paths use one
	 * leg, the first has the total. */
	uint64_t rdma_read_bytes, rdma_write_bytes;
	uint64_t session;  /* a small number of the session, the same for all paths of the
			      session */
	uint64_t serves;   /* what the path's session is for. Frontend: index of the mount in
			      launch_config.mounts, or LAUNCH_MOUNTS_MAX plus its index in
			      launch_config.shared. Compute: index of the export.
			      LAUNCH_SERVES_NONE: neither */
	uint64_t heard_ns; /* clock_now_ns() of the peer's last packet on the path; 0: none yet */
};
#define LAUNCH_SERVES_NONE UINT64_MAX
/* Reasons because of which the agent searches for a device that the worker could use. */
#define LAUNCH_RDMA_NONE "rdma-no-device"
#define LAUNCH_RDMA_GONE "rdma-device-gone"
#define LAUNCH_RDMA_NO_GID "rdma-no-gid"
#define LAUNCH_RDMA_OLD "rdma-driver-old"
struct launch_rdma_stats { /* RDMA of one port, as seen from this side of the queue pairs; in
			      the order of the ports */
	uint64_t pairs;	   /* queue pairs that work */
	uint64_t read_bytes, write_bytes; /* file data that RDMA transferred */
	uint64_t failures;		  /* RDMA transfers that failed; their data was then
					     sent in another way */
	char reason[32];		  /* a reason code if no queue pair works, else "" */
	char gpu[32];			  /* code: whether the device can access GPU memory */
};
/* The packet counters of a port that bypasses the kernel, so that the kernel does not count its
 * packets. */
struct launch_port_counters {
	uint64_t tx_packets, rx_packets;
	uint64_t tx_full;   /* how often the device or kernel accepted only a part of a burst at
			       first; the worker sends the rest later, so no packet is lost */
	uint64_t tx_lost;   /* the port's own packets, such as ARP, for which there was no buffer */
	uint64_t rx_missed; /* received packets for which there was no space */
	/* Packets that were received and dropped. */
	uint64_t rx_short, rx_malformed, rx_fragments, rx_checksum, rx_not_ours;
	uint64_t conflicts; /* how often another host claimed the address */
	/* For kernel sockets only: bytes of UDP payload; bursts that the kernel or NIC segmented or
	 * merged; packets by source port. */
	uint64_t tx_bytes, rx_bytes, tx_bursts, rx_bursts;
	uint64_t tx_by_source[LAUNCH_SOURCES_MAX];
};
/* Packets that this host refused to send, by destination; only the latest destinations. */
#define LAUNCH_REFUSALS_MAX 4
struct launch_refusal {
	struct ip_addr to; /* family 0: the entry is unused */
	uint64_t error;	   /* errno of the last refusal */
	uint64_t packets;
	uint64_t at_ns; /* clock_now_ns() of the last refusal */
};
struct launch_port_stats { /* one per port, in the order of the ports */
	char by[16]; /* how the port sends: "udp", "dpdk", "af-packet" or "af-xdp"; "": the port
			is not open */
	/* The leg's name and the reason why the leg is degraded; "": it is not degraded. */
	char reason[LAUNCH_REASON_MAX];
	struct launch_refusal refusals[LAUNCH_REFUSALS_MAX];
	uint64_t counts; /* 1: the counters are valid; 0: only the kernel counts */
	struct launch_port_counters counters;
};
struct launch_mount_stats {  /* one per mount, in the order of the configuration */
	uint64_t served;     /* 1: the server is connected and answers; 0: the server
				does not answer */
	uint64_t since_ns;   /* clock_now_ns() when `served` last changed; 0: unknown */
	uint64_t open_files; /* count of files that programs have open in the mount, without
				directories */
	char reason[LAUNCH_REASON_MAX]; /* why the server refused the mount, as "code:
					   sentence"; "": the mount is not refused */
	char by[IP_ADDR_STR_MAX]; /* an address of the compute worker that serves the mount; "": no
				     worker serves it */
	uint64_t limited;	  /* 1: the limits of the mount hold requests back now */
	uint64_t waited_ns;	  /* how long requests have waited for the limits, all together */
};
/*
 * How long requests took. A client counts the time from reading the request from the FUSE device
 * until it writes the answer there. In a mount worker, the time begins when the request arrives
 * from the mount's owner. Requests that the client answers without the server are not counted. A
 * server counts the time from the request's arrival until it passes the answer to the transport.
 * Bucket i counts durations of up to launch_latency_limit_ns(i), the last bucket all longer ones.
 */
enum launch_request_class {
	LAUNCH_READ,
	LAUNCH_WRITE,
	LAUNCH_SYNC,	 /* fsync */
	LAUNCH_METADATA, /* all requests of other classes */
	LAUNCH_REQUEST_CLASS_MAX
};
#define LAUNCH_LATENCY_FIRST_NS 8000ULL
#define LAUNCH_LATENCY_LIMITS 20 /* the largest limit is 4.2 s */
struct launch_latency {
	uint64_t buckets[LAUNCH_LATENCY_LIMITS + 1];
	uint64_t sum_ns;
};
struct launch_latencies {
	struct launch_latency of[LAUNCH_REQUEST_CLASS_MAX];
};
/* Entries of launch_stats.latencies: at a frontend the mounts of the configuration, then its shared
 * mounts; at a compute worker its exports. */
#define LAUNCH_LATENCIES_MAX (LAUNCH_MOUNTS_MAX + LAUNCH_SHARED_MOUNTS_MAX)
_Static_assert(LAUNCH_LATENCIES_MAX >= LAUNCH_EXPORTS_MAX, "each export has an entry");
/* State of one client mount at a compute worker. A mount has one struct launch_client_stats; its
 * mount workers have none. */
enum launch_client_state {
	LAUNCH_CLIENT_CONNECTED, /* the client has a session with a working path */
	LAUNCH_CLIENT_SILENT,	 /* the client has a session, but answers on no path */
	LAUNCH_CLIENT_AWAY, /* the client has no session; the server keeps the client's open files
			       until the client returns */
	LAUNCH_CLIENT_STATE_MAX
};
struct launch_client_stats {
	char host[PLENUM_NAME_MAX]; /* name of the client's host, as the client gives it */
	struct ip_addr addr;	    /* address from which the client's latest session came; family
				       0: unknown */
	uint32_t export_index;
	uint32_t state;	     /* enum launch_client_state */
	uint32_t open_files; /* count of files that the client has open, without directories */
	uint64_t since_ns;   /* clock_now_ns() of the session's start or end */
	uint64_t heard_ns;   /* clock_now_ns() of the client's last packet; 0: unknown */
};
/* A client whose mount a compute worker refuses now, or has refused shortly before. */
#define LAUNCH_REFUSED_MAX 64
struct launch_refused_client {
	char host[PLENUM_NAME_MAX];	   /* name of the client's host, as the client gives it */
	char export_name[PLENUM_NAME_MAX]; /* name of the export, as the client gives it */
	struct ip_addr addr;		   /* address from which the client came */
	char reason[LAUNCH_REASON_MAX];	   /* "code: sentence" */
	uint64_t times;			   /* count of refusals since since_ns */
	uint64_t since_ns;		   /* clock_now_ns() of the first of these refusals */
};
struct launch_fault_stats {
	struct launch_fault fault; /* id 0: no fault */
	uint64_t touched;	   /* count of packets that the fault has affected */
};
struct launch_stats {
	uint32_t magic, version;
	uint64_t seq;	       /* odd while the text fields change */
	uint64_t heartbeat_ns; /* clock_now_ns() at the loop's last turn; at least once a second */
	uint64_t started_ns;   /* clock_now_ns() of the worker's start */
	uint64_t loops,
		sleeps;	   /* count of turns of the loop; count of turns that ended in a sleep */
	uint64_t rx_drops; /* received packets that could not be parsed or belong to no session */
	/* Numbers of file system requests, of their responses, and of responses with an error;
	 * bytes of file data that the requests read and wrote. */
	uint64_t requests, responses, request_errors;
	uint64_t read_bytes, write_bytes;
	uint64_t sessions; /* sessions that are up */
	uint64_t n_paths;  /* count of valid entries in `paths` */
	char network[32];  /* "UDP", "DPDK" or "DPDK-INTERRUPT"; with "/ RDMA" added if RDMA is used
			      too */
	char reason[LAUNCH_REASON_MAX]; /* why the worker is degraded, apart from the reasons of its
					   ports; "": no such reason */
	struct launch_port_stats ports[LAUNCH_PORTS_MAX];
	struct launch_path_stats paths[LAUNCH_PATHS_MAX];
	struct launch_mount_stats mounts[LAUNCH_MOUNTS_MAX]; /* for a frontend only */
	struct launch_rdma_stats rdma[LAUNCH_PORTS_MAX];
	struct launch_fault_stats faults[LAUNCH_FAULTS_MAX];
	/* frontend: requests sent to servers, by FUSE opcode; the last entry also counts all larger
	 * opcodes */
	uint64_t asked[LAUNCH_OPCODES_MAX];
	/* frontend: entry i is mounts[i], or shared[i - LAUNCH_MOUNTS_MAX]; compute: exports[i] */
	struct launch_latencies latencies[LAUNCH_LATENCIES_MAX];
	/* compute. open_files: files that clients have open in exports[i], without directories.
	 * clients: the clients' mounts, the newest first. n_clients counts all of them, but the
	 * page has only the first LAUNCH_CLIENT_STATS_MAX. The seqlock protects them. */
	uint64_t open_files[LAUNCH_EXPORTS_MAX];
	uint64_t n_clients;
	struct launch_client_stats clients[LAUNCH_CLIENT_STATS_MAX];
	/* compute. refusals: count of refusals since the worker's start. refused: the first
	 * n_refused entries are clients that are refused now. The seqlock protects them. */
	uint64_t refusals, n_refused;
	struct launch_refused_client refused[LAUNCH_REFUSED_MAX];
};

static inline void launch_stat_add(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}
static inline void launch_stat_set(uint64_t *counter, uint64_t value)
{
	__atomic_store_n(counter, value, __ATOMIC_RELAXED);
}
static inline uint64_t launch_stat_get(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

/* Returns the longest duration in bucket i, which must be less than LAUNCH_LATENCY_LIMITS. */
static inline uint64_t launch_latency_limit_ns(unsigned i)
{
	return LAUNCH_LATENCY_FIRST_NS << i;
}
static inline unsigned launch_latency_bucket(uint64_t ns)
{
	uint64_t over = ns == 0 ? 0 : (ns - 1) / LAUNCH_LATENCY_FIRST_NS;
	unsigned i = over == 0 ? 0 : 64U - (unsigned)__builtin_clzll(over);

	return MIN_OF(i, (unsigned)LAUNCH_LATENCY_LIMITS);
}
static inline void launch_latency_add(struct launch_latency *l, uint64_t ns)
{
	launch_stat_add(&l->buckets[launch_latency_bucket(ns)], 1);
	launch_stat_add(&l->sum_ns, ns);
}

#endif
