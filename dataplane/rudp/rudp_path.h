/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One path of a session: a port of ours and an address of the peer, with its own round trip,
 * congestion window, packet records and health. Files that may write it: rudp_path.c (state,
 * probes), rudp_suspect.c (suspect_stage), rudp_loss.c (sent, rtt, cc, pauses), rudp_tx.c (pacing,
 * counters), rudp_rx.c (acks, last_rx_ns), rudp_hello.c and rudp_accept.c (joining, standby),
 * rudp_label.c (labels), rudp_incast_share.c (shares) and rudp_validate.c (src_ports). All others
 * read it and call the functions below.
 */
#ifndef PLENUM_DATAPLANE_RUDP_PATH_H
#define PLENUM_DATAPLANE_RUDP_PATH_H

#include "dataplane/rudp/path/rudp_acks.h"
#include "dataplane/rudp/path/rudp_cc.h"
#include "dataplane/rudp/path/rudp_gso.h"
#include "dataplane/rudp/path/rudp_mtu.h"
#include "dataplane/rudp/path/rudp_rtt.h"
#include "dataplane/rudp/path/rudp_sent.h"
#include "dataplane/rudp/path/rudp_src_ports.h"
#include "dataplane/rudp/rudp.h"

enum path_state {
	PATH_NONE,
	PATH_JOINING, /* client: HELLO sent, no ACCEPT yet */
	PATH_UP,
	PATH_DOWN,
};

/* A suspect path is up and silent while the peer answers on another path. */
enum suspect_stage {
	SUSPECT_NONE,
	SUSPECT_PROBED,	   /* its oldest small message was copied to another path as a probe */
	SUSPECT_CONFIRMED, /* the peer answered there and still not here: all its small messages
			   were copied */
	SUSPECT_MOVED,	   /* still silent: all its packets were moved */
};

struct rudp_path {
	uint8_t state, index, port;
	uint8_t suspect_stage; /* enum suspect_stage; a suspect path sends nothing new while others
			  are not suspect */
	bool standby;
	bool timed_out;	 /* up, but two timeouts passed: sends nothing new */
	bool local_down; /* the link under our port */
	bool peer_down;	 /* the peer reports its link down */
	bool tx_blocked; /* the port is full, until the next poll */
	struct datagram_addr remote;

	struct rudp_sent sent;
	struct rudp_mtu mtu;
	struct rudp_rtt rtt;
	struct rudp_cc cc;
	struct rudp_acks acks;
	struct rudp_gso gso;
	struct rudp_src_ports src_ports;
	uint64_t pace_ns; /* big messages wait until then */

	/* health */
	uint64_t last_rx_ns, probe_ns;
	bool probe_due;
	uint8_t quiet; /* doublings of the probe interval: number of intervals without a message */
	uint64_t answered_since; /* down: start of the current run of answered probes; 0: none */
	unsigned unanswered, missed; /* probes since the last answer; of these, probes sent while
					the peer answered on another path */
	uint64_t probe_sent_ns;	     /* send time of the last one */
	unsigned probes_sent, probes_answered; /* probes and answers since answered_since */
	uint64_t hold_ns; /* how long the path must answer to be up again; grows while it flaps */
	uint64_t recovered_ns; /* time of the last recovery; 0: never was down */
	uint64_t timed_out_ns,
		alive_elsewhere_ns; /* when the peer answered on another path, but not here */
	int tx_error_code;
	uint64_t tx_error_ns; /* since when the port refuses our packets */
	uint64_t hello_ns, hello_interval, cookie;
	bool hello_again;    /* the peer must learn the changed standby flag */
	bool crossed;	     /* client: standby by address order, used when labels are unknown */
	uint32_t peer_label; /* client: label of the peer's end */
	uint32_t label_pn;   /* client: packet number of the LABEL that set it; 0: ACCEPT did */
	uint32_t join_pn; /* server: packet number of the JOIN that set `standby`; 0: HELLO did */
	uint32_t class_stamp; /* when `standby` changed, in the unit of JOIN's stamps */
	bool label_pending;   /* server: the client has not confirmed our end's label */
	uint64_t label_ns, label_interval;
	uint32_t incast_stamp;	   /* the port's incast window in which this path last received */
	uint32_t share_sent_bytes; /* incast share last sent to the peer */
	uint64_t share_sent_ns;
	uint32_t share_pn,
		share_bytes; /* incast share received from the peer, and in which packet */
	uint64_t share_until;
	uint64_t small_pace_ns; /* next small message by the incast share */
	uint64_t peer_alive_ns; /* when the peer answered on another path during this path's silence
				 */
	uint64_t pause_since, pause_from, pause_ns; /* of the latest failover */

	uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes, lost_packets, retransmits, failovers;
	uint64_t last_pause_ns;
	uint64_t since_ns; /* of the last change of state, or of its creation */
};

/* The only constructor of a path: every incarnation of path `index` starts here without any state
 * of the previous one. */
void rudp_path_init(struct rudp_session *s, unsigned index, unsigned port,
		    const struct datagram_addr *remote, bool standby, uint64_t now);
void rudp_path_set_up(struct rudp_session *s, struct rudp_path *p, uint64_t now);
void rudp_path_set_down(struct rudp_session *s, struct rudp_path *p, int code, uint64_t now);
void rudp_path_poll(struct rudp_session *s, struct rudp_path *p, uint64_t now);
uint64_t rudp_path_deadline(const struct rudp_session *s, const struct rudp_path *p);
/* The peer answered, on p itself, a packet that we sent on p. */
void rudp_path_answered(struct rudp_session *s, struct rudp_path *p, uint64_t now);
/* The peer reported which paths it cannot use. */
void rudp_path_peer_mask(struct rudp_session *s, uint8_t mask, uint64_t now);
/* The port refused a packet permanently. */
void rudp_path_tx_error(struct rudp_session *s, struct rudp_path *p, int code, uint64_t now);
static inline uint32_t rudp_path_ip_headers(const struct rudp_path *p)
{
	return p->remote.ip.family == AF_INET6 ? 48 : 28;
}
/* Chooses the chunk size of new messages for the paths that are up. */
void rudp_path_set_chunk_bytes(struct rudp_session *s);
/* Reacts to results of MTU discovery: bits of enum rudp_mtu_result. */
void rudp_path_mtu_result(struct rudp_session *s, struct rudp_path *p, unsigned news, uint64_t now);
/* Our own host refused a datagram with this UDP payload on p. */
void rudp_path_too_big(struct rudp_session *s, struct rudp_path *p, uint32_t bytes, uint64_t now);
/* A probe interval passed without a message in either direction. */
static inline void rudp_path_quiet(struct rudp_path *p)
{
	p->quiet = (uint8_t)MIN_OF(p->quiet + 1U, 2U);
}
/* Whether no other path is up. */
bool rudp_path_is_only(const struct rudp_session *s, const struct rudp_path *p);
/* host: the part that may be the hosts' delay instead of the network's. */
void rudp_path_rtt(struct rudp_path *p, uint64_t rtt, uint64_t host, uint64_t now);
uint64_t rudp_path_rto(const struct rudp_session *s, const struct rudp_path *p);
uint64_t rudp_path_pto(const struct rudp_session *s, const struct rudp_path *p);

/* rudp_suspect.c */
void rudp_suspect_poll(struct rudp_session *s, struct rudp_path *p, uint64_t now);
/* The suspect path has answered. */
void rudp_suspect_clear(struct rudp_session *s, struct rudp_path *p);
uint64_t rudp_suspect_deadline(const struct rudp_session *s, const struct rudp_path *p);

#endif
