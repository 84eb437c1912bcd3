/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of a running worker that an operator can see and change: the list of its sessions and
 * its log level. Agent and worker also work without this list. A worker does not write the list if
 * its agent has provided no memory for it, and an agent does not read a list of another version.
 * The list follows the statistics page in the memfd LAUNCH_FD_STATS. Only the worker writes it;
 * there may be any number of readers. Nothing here allocates or owns memory.
 */
#ifndef PLENUM_DATAPLANE_LAUNCH_WATCH_H
#define PLENUM_DATAPLANE_LAUNCH_WATCH_H

#include "dataplane/launch.h"

#define LAUNCH_WATCH_MAGIC 0x504c5741U /* "PLWA" */
#define LAUNCH_WATCH_VERSION 1

/* A struct launch_msg from the agent to the worker. From now on, the worker logs messages up to the
 * enum log_level in `code`, and writes this level to launch_watch.log_level. Older workers ignore
 * the message. */
#define LAUNCH_MSG_LOG_LEVEL 96

#define LAUNCH_SESSION_PATHS_MAX 8
/* The worker writes its sessions in turn, this many at a time, and at least once a second. */
#define LAUNCH_SESSIONS_AT_ONCE 256
/* Largest number of sessions of a worker, and so of entries in the list. */
#define LAUNCH_SESSION_ENTRIES (LAUNCH_SESSIONS_MAX + LAUNCH_SESSIONS_OWING + 1)

enum launch_session_state {
	LAUNCH_SESSION_CONNECTING, /* the peer has not accepted the session yet, or not since it
				      was lost */
	LAUNCH_SESSION_UP,	   /* a path to the peer is up */
	LAUNCH_SESSION_SILENT,	   /* the peer has accepted the session, but answers on no path */
	LAUNCH_SESSION_STATE_MAX
};

struct launch_session_path {
	struct ip_addr local, remote;
	uint16_t local_port, remote_port; /* UDP ports */
	uint8_t port;			  /* index of the leg in launch_config.ports */
	uint8_t state;			  /* enum launch_path_state */
	bool standby;
	/* These members have the meaning of those in struct launch_path_stats. */
	uint64_t srtt_ns, rtt_at_ns;
};

/* Times are of clock_now_ns(). Counters are the sums over the paths of the list. */
struct launch_session {
	uint64_t seq;		    /* odd while the other members change */
	uint64_t looked_ns;	    /* when the worker wrote this entry; 0: the entry's session has
				       ended, or the entry was never used */
	char peer[PLENUM_NAME_MAX]; /* name of the peer's host; "": the name is unknown */
	uint64_t serves;	    /* index of the mount or export that the session is for, as in
				       launch_path_stats.serves */
	uint32_t state;		    /* enum launch_session_state */
	uint64_t since_ns; /* when the peer accepted the session; in LAUNCH_SESSION_CONNECTING:
			      when the attempt to connect began */
	uint64_t heard_ns; /* when the peer's last packet arrived; 0: none yet */
	/* in_flight: count of requests that have no answer yet: at the client, those that it has
	 * sent; at the server, those that it executes. waiting: count of requests that the client
	 * has not sent, or that the server has not begun. */
	uint32_t in_flight, waiting;
	uint64_t lease_ns; /* server: when the client loses its file locks unless a packet from
			      it arrives earlier; 0: the server does not manage its locks */
	uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes;
	uint64_t lost_packets, rx_lost_packets, retransmits;
	uint32_t n_paths;
	struct launch_session_path paths[LAUNCH_SESSION_PATHS_MAX];
};

struct launch_watch {
	uint32_t magic, version, size; /* size: sizeof(struct launch_watch) */
	uint32_t log_level;	       /* enum log_level: the level that the worker uses now */
	uint64_t n_sessions;	       /* count of sessions of the worker */
	uint64_t n_entries;	       /* entries below this index may be in use */
	struct launch_session sessions[LAUNCH_SESSION_ENTRIES];
};

/* Position of the list in the memfd, which is the beginning of a page, and size of the memfd
 * including the list. */
#define LAUNCH_WATCH_OFFSET ((sizeof(struct launch_stats) + 4095) / 4096 * 4096)
#define LAUNCH_WATCH_END (LAUNCH_WATCH_OFFSET + sizeof(struct launch_watch))

#endif
