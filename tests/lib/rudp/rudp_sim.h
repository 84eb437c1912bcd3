/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A simulated network for rudp: one server, several clients, one or more legs, a virtual clock.
 * Links have delay, bandwidth, a queue, and faults drawn from a seed; all packets to one endpoint
 * share the downlink of its port, with a rate and a finite queue, so that many senders cause a real
 * incast. The applications at both ends are included: their data has a pattern that identifies its
 * message; they count executions and responses, account for every buffer, and can be as short of
 * buffers as the real server. A broken promise, such as a call that never ends, stops the run and
 * is described in `fault`.
 */
#ifndef PLENUM_TESTS_RUDP_SIM_H
#define PLENUM_TESTS_RUDP_SIM_H

#include "dataplane/rudp/rudp.h"
#include <stdio.h>

#define SIM_LEGS_MAX 4
#define SIM_CLIENTS_MAX 1024
#define SIM_SERVER 0 /* endpoint number; clients follow */
#define SIM_BUF_CLASSES 3
/* While the server is short of response memory, a client silent for this long loses its session. */
#define SIM_SILENT_NS (40 * NSEC_PER_MSEC)

struct sim_config {
	uint64_t seed;
	unsigned legs, clients;
	uint64_t bits_per_s; /* of each port and direction; 0: unlimited */
	uint64_t delay_ns;   /* one way */
	uint64_t jitter_ns;
	uint64_t server_delay_ns; /* additional, for packets from the server */
	uint32_t queue_bytes;	  /* 0: unlimited */
	/* From the switch to an endpoint's port, shared by all senders; 0: unlimited. */
	uint64_t down_bits_per_s;
	uint32_t down_queue_bytes;
	uint32_t mtu;
	uint32_t path_mtu[SIM_LEGS_MAX]; /* larger packets are lost on this leg; 0: none */
	/* The server's request buffers, and as many response buffers: up to 7.5 KiB, up to 132 KiB,
	 * larger; each client has a share (rudp_incast_allows, and for responses by
	 * rudp_session_standing as in the file system's server). 0: unlimited. */
	unsigned bufs[SIM_BUF_CLASSES];
	unsigned keeps; /* the server keeps the sessions of clients up to this number, silent or not
			 */
	/* in a million packets */
	uint32_t loss, duplicate, reorder, corrupt, garbage;
	uint64_t reorder_ns;	 /* how late a reordered packet is */
	uint32_t hold, burst;	 /* per million packets: a link stalls; a burst of losses */
	uint64_t hold_ns;	 /* longest stall; then everything arrives at once */
	unsigned burst_packets;	 /* longest burst */
	uint32_t eagain, no_buf; /* per million calls of tx, of buf_get */
	uint64_t turn_ns;	 /* an endpoint handles its input this often */
	/* Rate at which an endpoint hands packets to its ports, and does nothing else meanwhile; 0:
	 * infinite. */
	uint64_t send_bits_per_s;
	bool drops_bursts; /* all packets of a GSO burst are lost */
	unsigned sources;  /* UDP source ports of each port beside its own */
	bool one_subnet;   /* all legs in one subnet */
	bool routed;	   /* each port in its own subnet, with routers between all */
	uint8_t unrouted;  /* bit per leg: a client's leg without a route to other subnets */
	/* The last legs, missing at first at the server or at the clients: sim_port_add. */
	unsigned late_server, late_client;
	bool labels;
	bool ipv6;
	unsigned
		one_host; /* with IPv6: only clients up to this number share a /64 prefix; 0: all */
	bool rests;	  /* all ends: rudp_ack_at_once */
	int refuse; /* the server refuses clients with this negative errno; 0: it accepts them */
	enum rudp_security security;
	struct rudp_limits limits;
};

enum sim_call_state { SIM_CALL_NONE, SIM_CALL_OPEN, SIM_CALL_DONE, SIM_CALL_ABANDONED };
struct sim_call {
	uint8_t state;
	uint16_t client;
	int status;
	unsigned executed, answered;
	uint32_t req_len, resp_len;
	uint64_t sent_ns, done_ns;
	uint8_t *req;
};

struct sim_link { /* from an endpoint's port to the switch of its leg */
	uint64_t busy_until;
	uint64_t down_busy_until; /* from the switch to the port */
	uint64_t held_until;	  /* nothing leaves before this */
	unsigned burst_left;	  /* further losses of the current burst */
	bool cut_out, cut_in;	  /* packets are lost silently */
	bool full;		  /* refuses packets for now */
	uint32_t out_mtu;	  /* larger ones are lost in this direction; 0: none */
	uint32_t out_loss;	  /* additional loss per million in this direction */
	uint64_t out_delay_ns;	  /* additional delay in this direction */
	uint8_t sources_out;	  /* bit per source port: its packets are lost in this direction */
	uint64_t by_source[8];	  /* packets sent per source port */
	uint64_t source_lag_ns;	  /* additional delay from each source port to the next */
	struct sim_pkt
		*burst; /* the last packet since the flush, to which the next may be joined */
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
	bool wait_due;		/* memory was freed since `waiting` was last tried */
	uint64_t wait_again_ns; /* when it is tried anyway */
	uint64_t due_ns;	/* when it has something to do; 0: to be computed */
	uint64_t sending_until,
		flushed_ns; /* packets sent since the last flush leave from this time */
	bool half_sender;   /* client: sends only the first packets of its requests */
	bool slow_reader;   /* client: has no memory for responses */
	bool trickler;	    /* client: acknowledges only a packet now and then */
	bool was_silent;    /* client: it was for SIM_SILENT_NS when the server ended its session */
	uint64_t heard_ns;  /* client: when the server last processed a packet of it */
	uint64_t trickled_ns;
	struct sim_job *jobs, *waiting,
		**waiting_tail; /* waiting: jobs that need response memory */
	struct block *blocks;
	struct sim_memory {				 /* the server's buffers, by class */
		unsigned used[SIM_BUF_CLASSES][2];	 /* used by small messages, by others */
		unsigned on_trial[SIM_BUF_CLASSES];	 /* used by clients on trial */
		unsigned (*used_by)[SIM_BUF_CLASSES][2]; /* of each client; not at clients */
	} requests, answers;
	unsigned events[RUDP_EVENT_MAX];
	int last_code;
	long bufs, tokens, calls;		    /* lent to rudp or by it, not returned */
	uint64_t request_bytes, request_bytes_most; /* server: delivered and not answered */
};

struct sim {
	struct sim_config cfg;
	uint64_t now, rng;
	struct sim_end ends[1 + SIM_CLIENTS_MAX];
	struct sim_pkt **heap;
	size_t heap_n, heap_size;
	struct sim_call *calls;
	unsigned n_calls, n_open, calls_size;
	/* Called when a client's call has ended; may make new ones. */
	void (*on_done)(struct sim *sim, unsigned client);
	uint64_t serial;
	uint64_t last_answer_ns, longest_gap_ns; /* time between responses while calls are open */
	char fault[256];
};

struct sim *sim_new(const struct sim_config *cfg);
struct sim *sim_free(struct sim *sim);
uint64_t sim_random(struct sim *sim, uint64_t below);
/* The same of a generator without simulation; *state: its seed at first. */
uint64_t sim_random_of(uint64_t *state, uint64_t below);
/* Client `end` makes a call; delay_us: the server's execution time. False: the queue is full. */
bool sim_call(struct sim *sim, unsigned end, uint32_t req_len, uint32_t resp_len,
	      uint32_t delay_us);
void sim_abandon(struct sim *sim, unsigned cookie);
/* Marks all calls of this client as abandoned: their results do not matter. */
void sim_abandon_all(struct sim *sim, unsigned end);
/* Runs until all calls are answered (false: not within max_ns, or a fault). */
bool sim_finish(struct sim *sim, uint64_t max_ns);
/* Runs for ns. False on a fault. */
bool sim_pass(struct sim *sim, uint64_t ns);
/* Runs until every client's session is up. */
bool sim_connect(struct sim *sim, uint64_t max_ns);
void sim_stall(struct sim *sim, unsigned end, uint64_t ns);
/* Sets the carrier of an endpoint's port; announced: also tells rudp. */
void sim_leg(struct sim *sim, unsigned end, unsigned leg, bool up, bool announced);
/* Gives the endpoint the next of its missing legs. */
int sim_port_add(struct sim *sim, unsigned end);
/* Replaces the process by a new one; the old one's memory is lost. */
void sim_restart(struct sim *sim, unsigned end);
/* Checks that every call has ended, closes all sessions, and checks that everything lent was
 * returned. */
bool sim_close(struct sim *sim);

#endif
