/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One path of a session: a port of this endpoint and an address of the peer, with its own round
 * trip, congestion window, packet records and health. Files that may write struct rudp_path:
 * rudp_path*.c (state, probes), rudp_suspect.c (suspect_stage, peer_alive_ns), rudp_loss*.c (sent,
 * rtt, cc, pauses, timed_out), rudp_tx.c (pacing, counters), rudp_rx.c and rudp_ack_out.c (acks,
 * last_rx_ns, quiet, counters), session/rudp.c (local_down, and when the next probe or HELLO is
 * due), rudp_hello.c and rudp_accept.c (joining, standby), rudp_label.c (labels),
 * rudp_incast_share.c (shares), rudp_report.c (quality, latency) and rudp_validate.c (src_ports).
 * All others read it and call the functions below.
 */
#ifndef PLENUM_DATAPLANE_RUDP_PATH_H
#define PLENUM_DATAPLANE_RUDP_PATH_H

#include "dataplane/rudp/path/rudp_acks.h"
#include "dataplane/rudp/path/rudp_cc.h"
#include "dataplane/rudp/path/rudp_gso.h"
#include "dataplane/rudp/path/rudp_latency.h"
#include "dataplane/rudp/path/rudp_mtu.h"
#include "dataplane/rudp/path/rudp_quality.h"
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

/* Stages of a suspect path, which is up but silent while the peer answers on another path. */
enum suspect_stage {
	SUSPECT_NONE,
	SUSPECT_PROBED,	   /* the oldest small message of the path was copied to another path as a
			      probe */
	SUSPECT_CONFIRMED, /* the peer answered on the other path and is still silent on this path:
			      all small messages of this path were copied */
	SUSPECT_MOVED,	   /* the path is still silent: all its packets were moved */
};

/* Times are in ns of clock_now_ns(). 0 means unknown, unless a comment says otherwise. */
struct rudp_path {
	uint8_t state;	       /* enum path_state */
	uint8_t index;	       /* position in rudp_session.paths, the same on both sides */
	uint8_t port;	       /* index in rudp_config.ports of this endpoint's port */
	uint8_t suspect_stage; /* enum suspect_stage; while the path is suspect, it gets new
				  packets only if all other paths of its rank are suspect too,
				  see path_rank() in rudp_tx.c */
	bool standby;	       /* the path is a standby: it sends new packets only while no path
				  that is not a standby is up */
	bool timed_out;	       /* the path is up, but was silent for two timeouts, or its port
				  permanently refused a packet. It gets new packets only while all
				  paths that are up have timed out */
	bool local_down;       /* the link of this endpoint's port is down */
	bool peer_down;	       /* the peer reports that the link at its side is down */
	bool tx_blocked;       /* the port accepted no more packets; valid until the next poll */
	struct datagram_addr remote; /* address of the peer */

	struct rudp_sent sent; /* packets in flight, until they are acknowledged or lost */
	struct rudp_mtu mtu;   /* discovery of the largest packet that arrives */
	struct rudp_rtt rtt;   /* round trip, and the timeouts derived from it */
	struct rudp_cc cc;     /* congestion window */
	struct rudp_acks acks; /* packets of the peer that have arrived, and which of them must be
				  acknowledged */
	struct rudp_gso gso;   /* whether GSO bursts arrive */
	/* The additional UDP source ports of this endpoint, and which of them reach the peer on
	 * this path. */
	struct rudp_src_ports src_ports;
	struct rudp_quality quality; /* share of lost packets in each direction */
	struct rudp_latency latency; /* whether the path's round trip is far longer than that of
					other paths */
	uint64_t pace_ns;	     /* big messages send nothing before this time */

	/* health of a path in state UP */
	uint64_t last_rx_ns; /* when the last packet of the peer arrived on the path */
	uint64_t probe_ns;   /* UP: when the last keepalive was sent; DOWN: when the next probe is
				due */
	bool probe_due;	     /* UP: send a keepalive at the next poll, to measure the round trip */
	uint8_t quiet; /* count of keepalives since the last message, at most 2; each doubles the
			  interval of keepalives */

	/* Health of a path in state DOWN. A run is a series of answered probes with at most a few
	 * unanswered ones. */
	uint64_t answered_since; /* time of the first answer of the current run; 0: no run is in
				    progress */
	unsigned unanswered;	 /* count of probes sent since the last answer */
	unsigned missed; /* how many probes were unanswered although a packet arrived on another
			    path after the probe was sent */
	uint64_t probe_sent_ns; /* when the last probe on this DOWN path was sent */
	unsigned probes_sent;	/* probes_sent: count of probes in the current run; probes_answered:
				   count of these probes that were answered */
	unsigned probes_answered;
	uint64_t hold_ns; /* duration of a run after which the path is up again; longer if the path
			     goes up and down often */
	uint64_t recovered_ns; /* when the path last came up after it was down */

	/* a path in state UP that has packets in flight but is silent */
	uint64_t timed_out_ns;	     /* when timed_out was set */
	uint64_t alive_elsewhere_ns; /* when, after timed_out_ns, the peer answered on another
					path; 0: never */
	int tx_error_code;    /* negative errno with which the port refused the last packet */
	uint64_t tx_error_ns; /* when the port began to refuse all packets; 0: the port accepts
				 packets */

	/* Members for HELLO and JOIN, which the client sends. The server sets only those marked
	 * "server". */
	uint64_t hello_ns;	 /* when the next HELLO or JOIN is due */
	uint64_t hello_interval; /* time (ns) between the next HELLO or JOIN and the one after it */
	uint64_t cookie;	 /* the cookie with which the server validates this client's address
				    on this path */
	bool hello_again;	 /* the path works, but a HELLO or JOIN must inform the peer that
				    `standby` has changed */
	bool crossed; /* the path is standby while a label is unknown, because the path's port and
			 its address are at different positions of their lists */
	uint32_t peer_label; /* hash of the label at the peer's side; 0: unknown */
	uint32_t label_pn;   /* serial of the LABEL message that brought peer_label; 0: peer_label
				came in the ACCEPT */
	uint32_t join_pn; /* server: serial of the JOIN message that set `standby`; 0: the HELLO set
			     it */
	uint32_t class_stamp; /* client: when `standby` last changed, in us modulo 2^32, as JOIN
				 carries it */

	/* server: a LABEL with the label of the server's side must be sent; it is repeated until
	 * the client confirms it */
	bool label_pending;
	uint64_t label_ns, label_interval; /* when the next LABEL is due; time (ns) between the next
					      LABEL and the one after it */

	/* The incast share limits the small messages in flight. The receiver sends the limit in
	 * SHARE. */
	uint32_t incast_stamp;	   /* index of the measuring window (rudp_incast.stamp) in which the
				      port last received a packet on this path */
	uint32_t share_sent_bytes; /* receiver: bytes of the share last sent to the peer */
	uint64_t share_sent_ns;	   /* receiver: when that share was last sent */
	uint32_t share_pn;	   /* sender: serial of the SHARE that set share_bytes */
	uint32_t share_bytes;	/* sender: bytes of small messages that the peer allows in flight */
	uint64_t share_until;	/* sender: when the limit in share_bytes expires */
	uint64_t small_pace_ns; /* sender: no packet of a small message is sent before this time */

	/* failover of the packets of a suspect path */
	uint64_t peer_alive_ns; /* when the peer answered on another path after this path had fallen
				   silent */
	uint64_t pause_since;	/* when this path became silent before its latest failover */
	uint64_t pause_from;	/* when the path's packets were moved to other paths */
	uint64_t pause_ns;	/* time from pause_since until the first moved packet arrived; 0:
				   none has arrived */

	/* statistics since the creation of the path */
	uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes, lost_packets, retransmits, failovers;
	uint64_t probes_lost;	/* count of lost packets above the path MTU, which lost_packets does
				   not include */
	uint64_t rtt_at_ns;	/* when the round trip of a message, not of a probe, was last
				   measured */
	uint64_t last_pause_ns; /* pause_ns of the latest failover that took the path down */
	uint64_t since_ns;	/* when the path last went up or down, or was created */
};

/* Makes paths[index] a new path. All members are set, so nothing remains of an earlier path with
 * this index. */
void rudp_path_init(struct rudp_session *s, unsigned index, unsigned port,
		    const struct datagram_addr *remote, bool standby, uint64_t now);
void rudp_path_set_up(struct rudp_session *s, struct rudp_path *p, uint64_t now);
void rudp_path_set_down(struct rudp_session *s, struct rudp_path *p, int code, uint64_t now);
void rudp_path_poll(struct rudp_session *s, struct rudp_path *p, uint64_t now);
uint64_t rudp_path_deadline(const struct rudp_session *s, const struct rudp_path *p);
/* Call when a packet of the peer arrives on p while p is down. If no other path is up, p is probed
 * soon. */
void rudp_path_heard(struct rudp_session *s, struct rudp_path *p, uint64_t now);
/* Call when the peer has answered, on p itself, a packet that was sent on p. */
void rudp_path_answered(struct rudp_session *s, struct rudp_path *p, uint64_t now);
/* Call when the peer reports which paths it cannot use. */
void rudp_path_peer_mask(struct rudp_session *s, uint8_t mask, uint64_t now);
/* Call when the port refused a packet permanently. */
void rudp_path_tx_error(struct rudp_session *s, struct rudp_path *p, int code, uint64_t now);
static inline uint32_t rudp_path_ip_headers(const struct rudp_path *p)
{
	return p->remote.ip.family == AF_INET6 ? 48 : 28;
}
/* Chooses the chunk size of new messages for the paths that are up. */
void rudp_path_set_chunk_bytes(struct rudp_session *s);
/* Reacts to results of MTU discovery: bits of enum rudp_mtu_result. */
void rudp_path_mtu_result(struct rudp_session *s, struct rudp_path *p, unsigned news, uint64_t now);
/* Call when this host has refused a datagram with this UDP payload on p. */
void rudp_path_too_big(struct rudp_session *s, struct rudp_path *p, uint32_t bytes, uint64_t now);
/* Call when a keepalive interval has passed without a message in either direction. */
static inline void rudp_path_quiet(struct rudp_path *p)
{
	p->quiet = (uint8_t)MIN_OF(p->quiet + 1U, 2U);
}
/* Returns whether no other path is up. */
bool rudp_path_is_only(const struct rudp_session *s, const struct rudp_path *p);
/* Adds a sample of the round trip. host: the part of it that may be delay of the two hosts. */
void rudp_path_rtt(struct rudp_path *p, uint64_t rtt, uint64_t host, uint64_t now);
uint64_t rudp_path_rto(const struct rudp_session *s, const struct rudp_path *p);
uint64_t rudp_path_pto(const struct rudp_session *s, const struct rudp_path *p);

/* rudp_suspect.c */
void rudp_suspect_poll(struct rudp_session *s, struct rudp_path *p, uint64_t now);
/* Call when the suspect path has answered. */
void rudp_suspect_clear(struct rudp_session *s, struct rudp_path *p);
uint64_t rudp_suspect_deadline(const struct rudp_session *s, const struct rudp_path *p);

#endif
