/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A world for rudp: one server, some clients, one or more legs, a virtual clock. Links have delay,
 * bandwidth, a queue, and faults drawn from a seed; what goes to one endpoint shares the downlink
 * of its port, with a rate and a finite queue, so that many senders make a real incast. The
 * application at both ends is part of it: it makes calls with a pattern that tells whose bytes they
 * are, counts executions and answers, keeps account of every buffer, and has as few of them as the
 * real one where the world says so. A violated promise, a call that never ends among them, stops
 * the run and is described in `fault`.
 */
#ifndef PLENUM_TESTS_RUDP_SIM_H
#define PLENUM_TESTS_RUDP_SIM_H

#include "dataplane/rudp/rudp.h"
#include <stdio.h>

#define SIM_LEGS_MAX 4
#define SIM_CLIENTS_MAX 128
#define SIM_SERVER 0 /* endpoint number; clients follow */
#define SIM_BUF_CLASSES 3

struct sim_config {
	uint64_t seed;
	unsigned legs, clients;
	uint64_t bits_per_s; /* of each port, each way; 0: no limit */
	uint64_t delay_ns;   /* one way */
	uint64_t jitter_ns;
	uint64_t server_delay_ns; /* more, for what the server sends */
	uint32_t queue_bytes;	  /* 0: endless */
	/* From the switch to an endpoint's port, shared by all that send there; 0: no limit. */
	uint64_t down_bits_per_s;
	uint32_t down_queue_bytes;
	uint32_t mtu;
	uint32_t path_mtu[SIM_LEGS_MAX]; /* larger packets vanish on this leg; 0: none do */
	/* Buffers that the server has for requests, and as many for answers: up to 7.5 KiB, up to
	 * 132 KiB, larger; each client has its share (rudp_incast_allows). 0: endless. */
	unsigned bufs[SIM_BUF_CLASSES];
	/* in a million packets */
	uint32_t loss, duplicate, reorder, corrupt, garbage;
	uint64_t reorder_ns;	/* how much later a reordered packet comes */
	uint32_t hold, burst;	/* in a million packets: a link stands still; loses many in a row */
	uint64_t hold_ns;	/* for how long, at most; then all comes at once */
	unsigned burst_packets; /* how many, at most */
	uint32_t eagain, no_buf; /* in a million calls of tx, of buf_get */
	uint64_t turn_ns;	 /* an endpoint handles its input this often */
	/* At which an endpoint hands what it sends to its ports, and does nothing else meanwhile;
	 * 0: at once. */
	uint64_t send_bits_per_s;
	bool drops_bursts; /* packets of one size that leave together are all lost */
	unsigned sources;  /* UDP ports that each port can send from beside its own */
	bool one_subnet;   /* all legs in one subnet */
	bool routed;	   /* each port in a subnet of its own, routers between all */
	uint8_t unrouted;  /* bit per leg: but from a client's no router leads anywhere */
	/* Legs, the last ones, that the server and the clients lack at first: sim_port_add. */
	unsigned late_server, late_client;
	bool labels;
	bool ipv6;
	bool rests; /* all ends: rudp_ack_at_once */
	enum rudp_security security;
	struct rudp_limits limits;
};

enum sim_call_state { SIM_CALL_NONE, SIM_CALL_OPEN, SIM_CALL_DONE, SIM_CALL_ABANDONED };
struct sim_call {
	uint8_t state, client;
	int status;
	unsigned executed, answered;
	uint32_t req_len, resp_len;
	uint64_t sent_ns, done_ns;
	uint8_t *req;
};

struct sim_link { /* from an endpoint's port to the switch of its leg */
	uint64_t busy_until;
	uint64_t down_busy_until; /* from the switch to the port */
	uint64_t held_until;	  /* nothing leaves before */
	unsigned burst_left;	  /* so many more are lost */
	bool cut_out, cut_in;	  /* packets vanish without a word */
	bool full;		  /* takes nothing for now, and says so */
	uint32_t out_mtu;	  /* larger ones do, in this direction; 0: none */
	uint32_t out_loss;	  /* more of them, in a million, in this direction */
	uint8_t sources_out;	  /* bit per source: packets from it vanish, in this direction */
	uint64_t by_source[8];	  /* packets that left by it */
	uint64_t source_lag_ns;	  /* how much longer each source's way is than the one before */
	struct sim_pkt *burst;	  /* the last packet since the flush, which the next may join */
	uint64_t packets, bytes, dropped;
	uint64_t down_bytes, down_packets, down_dropped;
};

struct sim;
struct sim_end {
	struct sim *sim;
	unsigned index;
	struct rudp *r;
	struct rudp_session *session; /* client */
	uint32_t epoch;
	unsigned n_ports;
	struct sim_link links[SIM_LEGS_MAX];
	struct sim_pkt *rx_head, **rx_tail;
	uint64_t next_turn, stalled_until, polls, turns;
	uint64_t sending_until,
		flushed_ns; /* what was sent since the last flush leaves from then */
	bool half_sender;   /* client: of its requests only the first packets go out */
	bool slow_reader;   /* client: has no memory for answers */
	bool trickler;	    /* client: admits to a packet now and then */
	uint64_t trickled_ns;
	struct sim_job *jobs, *waiting, **waiting_tail; /* waiting: for memory for their answers */
	struct block *blocks;
	struct sim_memory {			   /* of the server's buffers, by class */
		unsigned used[SIM_BUF_CLASSES][2]; /* by small messages, by others */
		unsigned used_by[SIM_CLIENTS_MAX + 1][SIM_BUF_CLASSES][2];
	} requests, answers;
	unsigned events[RUDP_EVENT_MAX];
	int last_code;
	long bufs, tokens, calls;		    /* lent to rudp or by it, not given back */
	uint64_t request_bytes, request_bytes_most; /* server: handed over and not answered */
};

struct sim {
	struct sim_config cfg;
	uint64_t now, rng;
	struct sim_end ends[1 + SIM_CLIENTS_MAX];
	struct sim_pkt **heap;
	size_t heap_n, heap_size;
	struct sim_call *calls;
	unsigned n_calls, n_open, calls_size;
	/* Called after a client's call has ended; may make new ones. */
	void (*on_done)(struct sim *sim, unsigned client);
	uint64_t serial;
	uint64_t last_answer_ns, longest_gap_ns; /* between answers, while calls are open */
	char fault[256];
};

struct sim *sim_new(const struct sim_config *cfg);
struct sim *sim_free(struct sim *sim);
uint64_t sim_random(struct sim *sim, uint64_t below);
/* Client `end` calls; delay_us: how long the server works on it. False: rudp had no room. */
bool sim_call(struct sim *sim, unsigned end, uint32_t req_len, uint32_t resp_len,
	      uint32_t delay_us);
void sim_abandon(struct sim *sim, unsigned cookie);
/* Nobody waits for any of this client's calls any more. */
void sim_abandon_all(struct sim *sim, unsigned end);
/* Lets time pass until all calls are answered (false: not within max_ns, or a fault). */
bool sim_finish(struct sim *sim, uint64_t max_ns);
/* Lets ns pass. False on a fault. */
bool sim_pass(struct sim *sim, uint64_t ns);
/* Until every client's session is up. */
bool sim_connect(struct sim *sim, uint64_t max_ns);
void sim_stall(struct sim *sim, unsigned end, uint64_t ns);
/* The carrier of an endpoint's port; announced: rudp is told. */
void sim_leg(struct sim *sim, unsigned end, unsigned leg, bool up, bool announced);
/* The endpoint has the next of the legs that it lacked. */
int sim_port_add(struct sim *sim, unsigned end);
/* A new process in place of the old one; what the old one held is lost. */
void sim_restart(struct sim *sim, unsigned end);
/* Checks that every call has ended, closes all sessions and checks that everything lent was given
 * back. */
bool sim_close(struct sim *sim);

#endif
