/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contract between the agent and a worker: the descriptors that a worker inherits, its
 * configuration, the messages between them, and the layout of the statistics page. Agent and worker
 * are built together, so plain structs serve; magic, version and size detect a mixed installation.
 * The agent writes the configuration into a sealed memfd and never changes it: a change of
 * configuration means a new worker, except for changes by message: links, labels, keys, and ports
 * of legs that are added later. Nothing here allocates or owns.
 */
#ifndef PLENUM_DATAPLANE_LAUNCH_H
#define PLENUM_DATAPLANE_LAUNCH_H

#include "netcfg/base/addr.h"
#include "netcfg/base/base.h"
#include "netcfg/base/version.h"
#include <net/if.h>
#include <string.h>

#define LAUNCH_MAGIC 0x504c4e4dU /* "PLNM" */
#define LAUNCH_VERSION 29

/* Size of launch_config.share_fd; server_share.c defines its content. If that layout changes,
 * this size and the version above change too: workers that still use the old memory keep it. */
#define LAUNCH_SHARE_BYTES 974131200

/*
 * Inherited descriptors. All others are closed.
 *
 * A worker outlives its agent: it serves for LAUNCH_ORPHAN_S and may be adopted meanwhile. The next
 * agent finds all it needs open in the worker, under these numbers, and fetches it with
 * pidfd_getfd(2) if the service manager has not kept it: so the numbers up to LAUNCH_FD_AGENT never
 * change, in any version. The worker uses one control socket for its whole life, because it keeps
 * the agent's end open too: messages sent without an agent wait there for the next one. Therefore
 * an agent's exit shows as a hang-up of LAUNCH_FD_ALIVE, not as an end of file on the socket, and
 * adoption is a message with a new pipe.
 */
enum launch_fd {
	LAUNCH_FD_CONTROL = 3, /* AF_UNIX SOCK_SEQPACKET to the agent */
	LAUNCH_FD_CONFIG = 4,  /* sealed memfd: struct launch_config */
	LAUNCH_FD_STATS = 5,   /* shared memfd: struct launch_stats, written by the worker */
	LAUNCH_FD_STATE = 6, /* the agent's memfd that outlives the worker: its name is the identity
			      * of the worker and its successors, for the next agent to read */
	LAUNCH_FD_AGENT = 7, /* the agent's end of LAUNCH_FD_CONTROL: kept open, never used */
	LAUNCH_FD_ALIVE = 8, /* read end of a pipe; hangs up when the agent has exited */
	LAUNCH_FD_KEY = 9,   /* 16 random bytes that sign the file handles kept by clients: created
			      * once per host, kept across reboots; only a compute worker's helpers
			      * read them, never the worker */
	LAUNCH_FD_FIRST = 10, /* first of the descriptors that the configuration names */
};

#define LAUNCH_ORPHAN_S 600 /* how long a worker serves without an agent */

#define LAUNCH_KEY_BYTES 16
#define LAUNCH_SECRETS_MAX 2
#define LAUNCH_SECRET_BYTES 32
#define LAUNCH_PORTS_MAX PLENUM_LEGS_MAX
#define LAUNCH_SOURCES_MAX 8 /* UDP ports that a worker sends from on one leg */
#define LAUNCH_MOUNTS_MAX 128
#define LAUNCH_SHARED_MOUNTS_MAX 16 /* mounts of others that a mount worker serves */
#define LAUNCH_MOUNT_WORKERS_MAX 15 /* mount workers of a mount, besides its own worker */
#define LAUNCH_EXPORTS_MAX 16
#define LAUNCH_CLIENTS_MAX 256
#define LAUNCH_CLIENT_ADDRS_MAX 4096
#define LAUNCH_SESSIONS_MAX 10000
#define LAUNCH_SESSIONS_DEFAULT 4096
#define LAUNCH_IDS_MAX 256
#define LAUNCH_OPCODES_MAX 64
#define LAUNCH_PEER_ADDRS_MAX 16
#define LAUNCH_PATHS_MAX 256 /* two for each mount */
#define LAUNCH_REASON_MAX 128

enum launch_role { LAUNCH_FRONTEND, LAUNCH_COMPUTE, LAUNCH_DRIVES, LAUNCH_ROLE_MAX };
enum launch_transport {
	LAUNCH_UDP,	       /* kernel sockets */
	LAUNCH_DPDK,	       /* polling core */
	LAUNCH_DPDK_INTERRUPT, /* RX interrupts, core shared */
	LAUNCH_TRANSPORT_MAX
};

struct launch_port { /* one leg of this worker */
	char leg[PLENUM_NAME_MAX];
	char label[PLENUM_NAME_MAX];  /* of the switch, as known at the start; "": unknown */
	char ifname[IFNAMSIZ];	      /* kernel interface; for a VF on vfio the PF's */
	char device[PLENUM_NAME_MAX]; /* DPDK device argument ("0000:3b:02.1" or "net_memif0,..."),
				       * LAUNCH_DEVICE_*; "" for UDP */
	uint32_t ifindex;
	uint32_t mtu; /* bytes of IP packet */
	struct ip_prefix ip;
	struct ip_addr gateway; /* family 0: none */
	uint16_t udp_port;
	uint8_t udp_sources; /* source ports used, including udp_port; 0: as 1 */
	struct mac_addr mac; /* DPDK: source address of frames */
	uint32_t again;	     /* number of times that the host has taken the device from a worker and
			      * given it back; a change means another life of the device */
	bool rdma;	     /* bulk data may use an RDMA device that has its address */
	bool rdma_asked;     /* the worker is degraded if they do not */
	bool rdma_only;	     /* bulk data of this host's mounts wait for RDMA */
	bool shared;	     /* DPDK: the kernel keeps the device and the address, and flow rules
			      * direct datagrams for the worker's port to it */
};

/*
 * Whether the worker drives a PCI function itself: only PCI devices have colons and no arguments.
 */
static inline bool launch_port_is_function(const struct launch_port *p)
{
	return strlen(p->device) < 16 && strchr(p->device, ':') && !strchr(p->device, ',');
}

/* A kernel interface via AF_XDP, with AF_PACKET as the fallback; via AF_PACKET. */
#define LAUNCH_DEVICE_AF_XDP PLENUM_DEVICE_AF_XDP
#define LAUNCH_DEVICE_AF_PACKET PLENUM_DEVICE_AF_PACKET

static inline bool launch_port_is_xdp(const struct launch_port *p)
{
	return strcmp(p->device, LAUNCH_DEVICE_AF_XDP) == 0;
}

struct launch_mount {	/* frontend: the agent has opened /dev/fuse and mounted it */
	char path[256]; /* for messages only */
	char export_name[PLENUM_NAME_MAX];
	char peer[PLENUM_NAME_MAX];
	uint8_t id[16]; /* random, made once per mount; kept across a worker's restart */
	int fuse_fd;	/* /dev/fuse, open until the agent unmounts */
	int state_fd;	/* memfd, empty at first: state for the process that serves this mount
			 * next. It moves with the mount to another worker or agent; the agent
			 * never reads it, and gives it to one process at a time, and to its
			 * mount workers */
	int bell_fd;	/* eventfd of the mount and its mount workers; -1: none */
	uint32_t mount_worker;	/* 0: this worker's own mount; else this worker's number as a mount
				 * worker of another worker's mount */
	bool has_mount_workers; /* other cores of the entry serve it as mount workers */
	bool mount_workers_always; /* mount workers always read requests, without measuring whether
				    * that helps */
	bool read_only;
	bool suid, dev;	 /* of the kernel's mount */
	bool locks_none; /* locks are refused; otherwise the client's kernel manages them */
	uint32_t soft_s; /* how long requests wait before they fail; 0: hard, they wait for ever */
	struct {
		struct ip_addr ip;
		uint16_t port;
	} addrs[LAUNCH_PEER_ADDRS_MAX]; /* seeds: any data IPs of the peer */
	uint32_t n_addrs;
};

/* Whether both are the same mount for programs: path, source and options of the kernel's mount. */
static inline bool launch_mount_equal(const struct launch_mount *a, const struct launch_mount *b)
{
	return strcmp(a->path, b->path) == 0 && strcmp(a->export_name, b->export_name) == 0 &&
	       strcmp(a->peer, b->peer) == 0 && a->read_only == b->read_only &&
	       a->suid == b->suid && a->dev == b->dev;
}

enum launch_squash { LAUNCH_SQUASH_NONE, LAUNCH_SQUASH_ROOT, LAUNCH_SQUASH_ALL };

struct launch_ids { /* a range of user or group ids: client + i becomes server + i */
	uint32_t client, server, count; /* i is less than count */
};

struct launch_client {		    /* compute: which clients may use an export, and how */
	char host[PLENUM_NAME_MAX]; /* "": not by name */
	struct ip_prefix network;   /* family 0: not by address; neither: every client */
	bool read_only;
	enum launch_squash squash;
	uint32_t anonuid, anongid;
	/* In launch_config.ids: first the ranges of users, then those of groups. None: ids are
	 * equal. */
	uint32_t first_ids, n_uids, n_gids;
	/* The host's addresses, in launch_config.client_addrs. Without a cluster key the rule
	 * matches the host's name only in sessions from these. With a key there are none. */
	uint32_t first_addr, n_addrs;
};

struct launch_export {
	char name[PLENUM_NAME_MAX];
	char path[256]; /* for messages only */
	int dir_fd;	/* O_DIRECTORY | O_RDONLY of the export's root */
	int state_fd;	/* memfd, empty at first: kept for the export of this name, whatever its
			 * path or options */
	bool read_only;
	bool crosses; /* clients also see file systems mounted below it */
	/* In launch_config.clients: the first match counts; a client without a match is refused. */
	uint32_t first_client, n_clients;
};

/* Protection of this worker's packets, as in rudp.h. */
enum launch_security {
	LAUNCH_SECURITY_NONE,
	LAUNCH_SECURITY_AUTH,
	LAUNCH_SECURITY_ENCRYPT,
	LAUNCH_SECURITY_MAX
};

struct launch_config {
	uint32_t magic, version, size; /* size = sizeof(struct launch_config) */
	char host[PLENUM_NAME_MAX];    /* this host's name, which peers check */
	uint32_t worker_id;	       /* unique on this host, kept across restarts */
	uint32_t epoch;		       /* increases with every start of any worker on this host */
	uint64_t boot_id; /* random, made with the worker's state; identifies the worker together
			   * with worker_id */
	enum launch_role role;
	enum launch_transport transport;
	uint32_t core;	    /* number of the logical CPU to run on */
	uint32_t spin_us;   /* how long an idle worker polls before it blocks; 0: blocks at once */
	uint32_t orphan_s;  /* seconds that it serves without an agent */
	uint32_t log_level; /* enum log_level */
	uint32_t sessions;  /* compute: mounts of clients at a time; 0: LAUNCH_SESSIONS_DEFAULT */
	/* The cluster's keys at the start, the one to use first; LAUNCH_MSG_KEYS brings later ones.
	 * The worker clears them once its transport has them; the memfd can be opened by root
	 * alone, since a worker is not dumpable. */
	enum launch_security security;
	uint32_t n_secrets; /* 0 exactly if security is LAUNCH_SECURITY_NONE */
	uint8_t secrets[LAUNCH_SECRETS_MAX][LAUNCH_SECRET_BYTES];
	struct launch_port ports[LAUNCH_PORTS_MAX];
	uint32_t n_ports;
	/*
	 * Frontend: reads and writes of at least this many bytes are bulk data, which may use RDMA.
	 */
	uint32_t rdma_read_min, rdma_write_min;
	/* The ports share one address, DPDK only: the first with a link carries, and one whose link
	 * is back must keep it for hold_ms before it carries again. */
	bool failover;
	uint32_t hold_ms;
	struct launch_mount mounts[LAUNCH_MOUNTS_MAX];
	uint32_t n_mounts;
	struct launch_mount shared[LAUNCH_SHARED_MOUNTS_MAX]; /* mounts of other workers that this
							       * one serves as a mount worker */
	uint32_t n_shared;
	uint32_t n_shared_missing; /* entries of `shared` behind those, which are not mounted yet:
				    * the agent restarts the worker when one is */
	struct launch_export exports[LAUNCH_EXPORTS_MAX];
	uint32_t n_exports;
	uint32_t n_missing; /* entries of `exports` behind those, whose directory does not exist:
			     * the agent restarts the worker when it does */
	struct launch_client clients[LAUNCH_CLIENTS_MAX];
	uint32_t n_clients;
	struct launch_ids ids[LAUNCH_IDS_MAX];
	uint32_t n_ids;
	struct ip_addr client_addrs[LAUNCH_CLIENT_ADDRS_MAX];
	uint32_t n_client_addrs;
	int share_fd; /* compute: memfd of LAUNCH_SHARE_BYTES shared by all compute workers of this
		       * version, zeros at first, sealed so that no worker can shrink it; the
		       * workers record there what they have lent to clients, and which of them
		       * serves which client */
};

/*
 * Memory needed for DPDK, in MiB: with a port for each leg, whether or not DPDK drives all of them.
 */
static inline uint32_t launch_dpdk_mib(const struct launch_config *c)
{
	uint32_t mib = PLENUM_DPDK_MIB;

	for (uint32_t i = 0; i < c->n_ports; i++)
		mib += plenum_dpdk_port_mib(c->ports[i].mtu);
	return mib;
}

/* Whether a running worker can get further ports. Kernel sockets open in a confined process; DPDK
 * devices need the host's files, which the worker cannot open any more. */
static inline bool launch_takes_ports(const struct launch_config *c)
{
	return c->transport == LAUNCH_UDP && !c->failover;
}

/* Whether a running worker can switch from port `is` to `want`: the leg keeps its address, and its
 * device was replaced. */
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

/* A driver from outside the kernel, such as OFED's, has a version, and this file system supports it
 * from 4.6-1.0.1.1 on; the kernel's own drivers have none. */
static inline bool launch_rdma_driver_is_old(const char *module, const char *version)
{
	return strcmp(module, "mlx5_core") == 0 && version_is_older(version, "4.6-1.0.1.1");
}

/* Whether any leg may use RDMA, with a present device or one that is added later. */
static inline bool launch_takes_rdma(const struct launch_config *c)
{
	for (uint32_t i = 0; i < c->n_ports && i < LAUNCH_PORTS_MAX; i++)
		if (c->ports[i].rdma)
			return true;
	return false;
}

/* Number of client mounts that a compute worker serves at a time. */
static inline uint32_t launch_sessions(const struct launch_config *c)
{
	return c->sessions ? c->sessions : LAUNCH_SESSIONS_DEFAULT;
}

/* Sessions that mount workers leave free for mounts. */
static inline uint32_t launch_sessions_kept(const struct launch_config *c)
{
	return MAX_OF(launch_sessions(c) / 4, 1U);
}

/* Further sessions for mount workers that finish their requests, which takes a short time. */
#define LAUNCH_SESSIONS_OWING 64U

/* Faults that a worker injects into its packets, as if the network had caused them. */
#define LAUNCH_FAULTS_MAX 8
#define LAUNCH_FAULT_S_MAX 3600
#define LAUNCH_FAULT_PPM 1000000U
#define LAUNCH_FAULT_DELAY_US_MAX 1000000U
enum launch_fault_way { LAUNCH_FAULT_IN = 1, LAUNCH_FAULT_OUT = 2 };
struct launch_fault {
	uint32_t id;				       /* on this host; 0: no fault */
	uint32_t ways;				       /* bits of enum launch_fault_way */
	uint32_t drop_ppm, duplicate_ppm, reorder_ppm; /* of a million packets, in each direction */
	uint32_t delay_us;			       /* in each direction */
	uint64_t until_ns;	    /* clock_now_ns() at which it expires; 0: now */
	char leg[PLENUM_NAME_MAX];  /* "": all legs */
	char peer[PLENUM_NAME_MAX]; /* a host's name, or one of its addresses; "": all peers */
};

/* The checks common to both ends; the duration is not checked. */
static inline bool launch_fault_is_valid(const struct launch_fault *f)
{
	return f->id && f->ways && !(f->ways & ~(uint32_t)(LAUNCH_FAULT_IN | LAUNCH_FAULT_OUT)) &&
	       memchr(f->leg, '\0', sizeof(f->leg)) && memchr(f->peer, '\0', sizeof(f->peer)) &&
	       f->drop_ppm <= LAUNCH_FAULT_PPM && f->duplicate_ppm <= LAUNCH_FAULT_PPM &&
	       f->reorder_ppm <= LAUNCH_FAULT_PPM && f->delay_us <= LAUNCH_FAULT_DELAY_US_MAX;
}

/* An RDMA test measures transfers over one leg: from a frontend to the server of a mount; or from a
 * compute worker to the client that calls itself `peer`. */
#define LAUNCH_PING_COUNT_MAX 4096
#define LAUNCH_PING_BYTES_MAX (1U << 20)
#define LAUNCH_PING_DEPTH_MAX 4
#define LAUNCH_PING_S_MAX 15 /* then it ends, even if transfers are missing */
enum launch_ping_what { LAUNCH_PING_IN = 1, LAUNCH_PING_OUT, LAUNCH_PING_WHAT_MAX };
struct launch_ping {
	uint64_t id;	       /* 0: none */
	uint32_t mount, port;  /* frontend: index in launch_config.mounts; index of the leg in
				* launch_config.ports */
	uint32_t what;	       /* enum launch_ping_what: read into this host's memory, or write from
				* it */
	uint32_t bytes, count; /* bytes per transfer; number of transfers */
	uint32_t depth;	       /* transfers at a time */
	/* The result of a test. */
	int32_t status; /* 0: all were done; else negative errno, after `done` transfers */
	uint32_t done;
	uint64_t took_ns; /* total time, without the pauses between transfers */
	uint32_t min_ns, median_ns, p99_ns, max_ns; /* duration of one transfer */
	char reason[32];			    /* a reason code, if RDMA is unavailable; "" */
	char peer[PLENUM_NAME_MAX];		    /* compute: the client that runs it */
};
static inline bool launch_ping_is_valid(const struct launch_ping *p)
{
	return p->id && p->mount < LAUNCH_MOUNTS_MAX && p->port < LAUNCH_PORTS_MAX && p->what &&
	       p->what < LAUNCH_PING_WHAT_MAX && p->bytes && p->bytes <= LAUNCH_PING_BYTES_MAX &&
	       p->count && p->count <= LAUNCH_PING_COUNT_MAX && p->depth &&
	       p->depth <= LAUNCH_PING_DEPTH_MAX;
}

/* Messages on LAUNCH_FD_CONTROL: one struct launch_msg per packet, in either direction. HOLD, DROP
 * and the fields before the union are the same in all versions: an agent reads these messages from
 * workers of other versions, too. */
enum launch_msg_type {
	/* worker -> agent */
	LAUNCH_MSG_READY = 1, /* ports open, rudp up, mounts served; once, and after each ADOPT */
	LAUNCH_MSG_FAILED,    /* cannot start; code = negative errno, text says why; the worker then
			       * exits */
	LAUNCH_MSG_EVENT,     /* an event for operators: code = enum launch_event, text */
	LAUNCH_MSG_HOLD, /* with one O_PATH descriptor of a file of exports[index]: pin the file
			  * across the worker's exit, for the next server of this export, until
			  * LAUNCH_MSG_DROP with the same key, or the export's end */
	LAUNCH_MSG_DROP,
	LAUNCH_MSG_RELEASED, /* the host has asked for the device of port `index` back; the port is
			      * closed until the worker's restart. Sent once, and after each
			      * ADOPT */
	LAUNCH_MSG_HAS_PORT, /* port `index` is now `port`, after a PORT: sent when that arrived,
			      * and before READY after each ADOPT */
	LAUNCH_MSG_PINGED,   /* the result of a PING */
	/* agent -> worker */
	LAUNCH_MSG_LINK = 64,  /* code = 1 up, 0 down; index = port */
	LAUNCH_MSG_STOP,       /* finish what is running, then exit 0 */
	LAUNCH_MSG_ADOPT = 67, /* from the next agent, with the read end of its pipe; answered by
				* READY */
	LAUNCH_MSG_LABEL,      /* text = the new label of the leg, "": unknown; index = port */
	LAUNCH_MSG_KEYS,       /* the cluster's new keys, `code` of them, the one to use first */
	LAUNCH_MSG_PORT,    /* a leg that was added later: `port` is port `index` from now on, the
			     * next number or, with another device, an existing one. Only if
			     * launch_takes_ports */
	LAUNCH_MSG_FAULT,   /* a new fault, or the end of one */
	LAUNCH_MSG_CAPTURE, /* code 1, with one descriptor: write the packets of the ports in
			     * `capture` to this ring (packet_ring.h), replacing an earlier one; 0:
			     * end the capture. It also ends with the agent */
	LAUNCH_MSG_RDMA, /* with one O_PATH descriptor of the file of an RDMA device that a leg may
			  * use and that appeared after the worker's start; text = the device's
			  * name. Code 1, without one: port `index` may not use it, its driver is
			  * too old */
	LAUNCH_MSG_PING, /* run an RDMA test; one at a time, answered by PINGED */
};
enum launch_event {
	LAUNCH_EVENT_PATH_DOWN,
	LAUNCH_EVENT_PATH_UP,
	LAUNCH_EVENT_PATH_MTU, /* the packet size that arrives has changed */
	LAUNCH_EVENT_PEER_UP,
	LAUNCH_EVENT_PEER_LOST,
	LAUNCH_EVENT_PEER_REFUSED,
	LAUNCH_EVENT_DEGRADED, /* the port is degraded; text is the reason */
	LAUNCH_EVENT_RESTORED, /* the port works as configured again */
	LAUNCH_EVENT_RDMA,     /* bulk data use RDMA, or no longer; text says why */
	LAUNCH_EVENT_MAX
};
struct launch_capture {
	uint64_t ring_bytes; /* a power of two */
	uint32_t snap_bytes; /* bytes kept of each packet */
	uint32_t ports;	     /* bit per port */
	bool keys;	     /* also capture the keys of encrypted sessions */
};
struct launch_msg {
	uint32_t type; /* enum launch_msg_type, which says what the next two mean */
	int32_t code;
	uint32_t index; /* of a port, mount or export in the configuration */
	uint32_t pad;
	uint64_t key; /* HOLD, DROP: identifies the descriptor, unique on this host */
	union {
		char text[LAUNCH_REASON_MAX * 2]; /* NUL-terminated */
		uint8_t keys[LAUNCH_SECRETS_MAX][LAUNCH_SECRET_BYTES];
		struct launch_fault fault;
		struct launch_port port;
		struct launch_capture capture;
		struct launch_ping ping;
	};
};

/* Exit statuses of a worker. Any other exit is a crash; the worker is restarted with backoff. */
enum launch_exit {
	LAUNCH_EXIT_STOPPED = 0,
	LAUNCH_EXIT_CONFIG =
		64,	       /* the configuration cannot work: do not restart until it changes */
	LAUNCH_EXIT_PORT = 65, /* a port could not be opened; restart with backoff */
	LAUNCH_EXIT_ORPHAN = 66, /* the agent has exited and no other adopted the worker within
				  * orphan_s */
	LAUNCH_EXIT_TRANSPORT =
		67, /* DPDK is unavailable: another transport, or a later retry, may work */
	LAUNCH_EXIT_SANDBOX = 68, /* the worker cannot be confined, and refuses to run unconfined;
				   * restart with backoff */
	LAUNCH_EXIT_VERSION = 69, /* the agent is of another version; restart with backoff: its
				   * successor may have ours, and mounts wait for it. An agent that
				   * does not know this status treats it as a crash, with the same
				   * outcome */
};

/*
 * The statistics page. Single writer (the worker), any number of readers. Counters are 64-bit,
 * aligned, stored and loaded relaxed; `seq` is odd while the text fields change (seqlock).
 */
enum launch_path_state {
	LAUNCH_PATH_JOINING, /* the peer has not answered on it yet */
	LAUNCH_PATH_UP,
	LAUNCH_PATH_SUSPECT, /* silent for a moment: still up, but gets no new packets */
	LAUNCH_PATH_DOWN,
	LAUNCH_PATH_STATE_MAX
};
struct launch_path_stats {
	char local[IP_ADDR_STR_MAX], remote[IP_ADDR_STR_MAX];
	char leg[PLENUM_NAME_MAX], peer[PLENUM_NAME_MAX];
	uint64_t up;	/* 1 healthy, 0 not */
	uint64_t state; /* enum launch_path_state */
	/* Bytes of an IP packet: in use; largest found to arrive; limit of both hosts' links. If
	 * the latter two differ, the fabric carries less than the hosts: `reason` says so. */
	uint64_t mtu, mtu_found, mtu_most;
	uint64_t standby;      /* 1: usable, but used only if no better path is up */
	uint64_t swapped;      /* 1: the peer's leg is on the switch of another of our ports */
	uint64_t sources;      /* UDP source ports that carry load, with the port's own */
	uint64_t sources_lost; /* further ones that do not reach the peer */
	/* Packets of a million that are lost, to the peer and from it; UINT64_MAX: unknown. */
	uint64_t loss_out_ppm, loss_in_ppm;
	uint64_t lossy_out, lossy_in; /* 1: far more than usual, or than on the other legs */
	uint64_t avoided;	      /* 1: lossy, and a better path carries the load */
	/* The round trip of a slow path, 0: it is not slow; the usual one, and the leg that has it;
	 * "": this path before. */
	uint64_t slow_ns, slow_than_ns;
	char slow_than[PLENUM_NAME_MAX];
	uint64_t segmentation_lost; /* 1: segmented packets do not arrive, so packets are sent one
				     * by one */
	uint64_t srtt_ns, peer_srtt_ns; /* the latter as the peer measures it; 0: unknown */
	uint64_t rtt_at_ns; /* clock_now_ns() of the last round trip of a message; 0: none yet.
			     * Round trips of probes between sleeping hosts say little */
	uint64_t cwnd_bytes;
	uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes;
	uint64_t lost_packets, rx_lost_packets; /* ours, the peer's */
	uint64_t retransmits, failovers;
	uint64_t last_pause_ns; /* longest time without progress at the last failover */
	uint64_t since_ns;	/* clock_now_ns() of the last change between up and down, or of its
				 * creation */
	/* File data of the session transferred by RDMA over this leg; if several paths use one leg,
	 * the first has the total. */
	uint64_t rdma_read_bytes, rdma_write_bytes;
};
/* Reasons for which the agent looks for a device to pass on. */
#define LAUNCH_RDMA_NONE "rdma-no-device"
#define LAUNCH_RDMA_GONE "rdma-device-gone"
#define LAUNCH_RDMA_NO_GID "rdma-no-gid"
#define LAUNCH_RDMA_OLD "rdma-driver-old"
struct launch_rdma_stats {		  /* in the order of the ports; queue pairs of this end */
	uint64_t pairs;			  /* working ones */
	uint64_t read_bytes, write_bytes; /* file data transferred by RDMA */
	uint64_t failures;		  /* transfers that were then sent another way */
	char reason[32];		  /* a reason code, if there is no pair; "" otherwise */
	char gpu[32];			  /* a code: whether it can access GPU memory */
};
/* The port's own packet counters, where no kernel below it counts. */
struct launch_port_counters {
	uint64_t tx_packets, rx_packets;
	uint64_t tx_full;   /* bursts not accepted as a whole; no packet is lost by them */
	uint64_t tx_lost;   /* the port's own packets (ARP and the like) that found no buffer */
	uint64_t rx_missed; /* received packets that found no room */
	/* Received and dropped. */
	uint64_t rx_short, rx_malformed, rx_fragments, rx_checksum, rx_not_ours;
	uint64_t conflicts; /* other hosts that claimed the address */
	/* Kernel sockets only: bytes of UDP payload; bursts segmented or merged below; packets by
	 * source port. */
	uint64_t tx_bytes, rx_bytes, tx_bursts, rx_bursts;
	uint64_t tx_by_source[LAUNCH_SOURCES_MAX];
};
/* Packets that this host refused to send, by destination; the latest ones. */
#define LAUNCH_REFUSALS_MAX 4
struct launch_refusal {
	struct ip_addr to; /* family 0: none */
	uint64_t error;	   /* errno of the last one */
	uint64_t packets;
	uint64_t at_ns; /* clock_now_ns() of the last one */
};
struct launch_port_stats { /* in the order of the ports */
	char by[16];	   /* "udp", "dpdk", "af-packet", "af-xdp"; "": not open */
	/* The leg and why it is degraded; "": it is not. */
	char reason[LAUNCH_REASON_MAX];
	struct launch_refusal refusals[LAUNCH_REFUSALS_MAX];
	uint64_t counts; /* 1: the counters are valid; 0: the kernel counts */
	struct launch_port_counters counters;
};
struct launch_mount_stats {		/* in the order of the configuration */
	uint64_t served;		/* 1: its server is connected and answers; 0: it does not */
	char reason[LAUNCH_REASON_MAX]; /* the server's refusal, "code: sentence"; "": none */
	char by[IP_ADDR_STR_MAX];	/* an address of the worker that serves it; "": none */
};
/*
 * How long requests took. A client's request lasts from its read from the FUSE device (in a mount
 * worker: from its receipt from the mount's owner) until its answer is written there; requests that
 * the client answers without the server are not counted. A server's request lasts from its arrival
 * until its answer is handed to the transport. Bucket i counts durations of up to
 * launch_latency_limit_ns(i), the last one all longer ones.
 */
enum launch_request_class {
	LAUNCH_READ,
	LAUNCH_WRITE,
	LAUNCH_SYNC,	 /* fsync */
	LAUNCH_METADATA, /* all others */
	LAUNCH_REQUEST_CLASS_MAX
};
#define LAUNCH_LATENCY_FIRST_NS 8000ULL
#define LAUNCH_LATENCY_LIMITS 20 /* the highest is 4.2 s */
struct launch_latency {
	uint64_t buckets[LAUNCH_LATENCY_LIMITS + 1];
	uint64_t sum_ns;
};
struct launch_latencies {
	struct launch_latency of[LAUNCH_REQUEST_CLASS_MAX];
};
/* In launch_stats.latencies: the mounts of the configuration, then its shared mounts, or its
 * exports. */
#define LAUNCH_LATENCIES_MAX (LAUNCH_MOUNTS_MAX + LAUNCH_SHARED_MOUNTS_MAX)
_Static_assert(LAUNCH_LATENCIES_MAX >= LAUNCH_EXPORTS_MAX, "each export has an entry");
struct launch_fault_stats {
	struct launch_fault fault; /* id 0: none */
	uint64_t touched;	   /* packets that it affected */
};
struct launch_stats {
	uint32_t magic, version;
	uint64_t seq;		/* odd while the text fields change */
	uint64_t heartbeat_ns;	/* clock_now_ns() of the loop's last turn; at least once a second */
	uint64_t started_ns;	/* clock_now_ns() of the worker's start */
	uint64_t loops, sleeps; /* turns of the loop; of these, turns that ended in a sleep */
	uint64_t rx_drops;	/* packets that could not be parsed or belong to no session */
	/* File system requests and their responses, and those of them with an error; bytes of file
	 * data read and written by them. */
	uint64_t requests, responses, request_errors;
	uint64_t read_bytes, write_bytes;
	uint64_t sessions; /* that are up */
	uint64_t n_paths;  /* valid entries of `paths` */
	char network[32];  /* "UDP", "DPDK", "DPDK-INTERRUPT"; "/ RDMA" added where used */
	char reason[LAUNCH_REASON_MAX]; /* any other reason to be degraded; "": none */
	struct launch_port_stats ports[LAUNCH_PORTS_MAX];
	struct launch_path_stats paths[LAUNCH_PATHS_MAX];
	struct launch_mount_stats mounts[LAUNCH_MOUNTS_MAX]; /* frontend */
	struct launch_rdma_stats rdma[LAUNCH_PORTS_MAX];
	struct launch_fault_stats faults[LAUNCH_FAULTS_MAX];
	/* frontend: requests sent to servers, by FUSE opcode; higher opcodes are counted in the
	 * last */
	uint64_t asked[LAUNCH_OPCODES_MAX];
	/* frontend: entry i is mounts[i], or shared[i - LAUNCH_MOUNTS_MAX]; compute: exports[i] */
	struct launch_latencies latencies[LAUNCH_LATENCIES_MAX];
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

/* The longest duration in bucket i, below LAUNCH_LATENCY_LIMITS. */
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
