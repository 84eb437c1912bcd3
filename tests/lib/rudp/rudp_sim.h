/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A simulated network for rudp: a server, several clients, one or more legs, and a virtual clock.
 * Links have a delay, a bandwidth, a queue, and faults that depend on a seed. All packets to an
 * endpoint share the downlink of its port, which has a rate and a finite queue, so that many
 * senders cause a real incast. The applications at both ends are a part of the simulation. Their
 * data has a pattern that identifies the message. They count executions and responses, account for
 * every buffer, and can run out of buffers like the real server. If rudp breaks one of its
 * promises, for example if a call never ends, the run stops and `fault` describes the problem.
 */
#ifndef PLENUM_TESTS_RUDP_SIM_H
#define PLENUM_TESTS_RUDP_SIM_H

#include "dataplane/rudp/rudp.h"
#include <stdio.h>

#define SIM_LEGS_MAX 4
#define SIM_CLIENTS_MAX 1024
#define SIM_SERVER 0 /* number of the server's endpoint; the numbers of the clients follow */
#define SIM_BUF_CLASSES 3
/* While the server lacks memory for responses, a client that is silent for this time loses its
 * session. */
#define SIM_SILENT_NS (40 * NSEC_PER_MSEC)

struct sim_config {
	uint64_t seed;
	unsigned legs, clients;
	uint64_t bits_per_s; /* rate of each port in each direction; 0: unlimited */
	uint64_t delay_ns;   /* delay in each direction */
	uint64_t jitter_ns;
	uint64_t server_delay_ns; /* additional delay of packets from the server */
	uint32_t queue_bytes;	  /* size of the queue of each link; 0: unlimited */
	/* Rate from the switch to the port of an endpoint, which all senders share; 0:
	 * unlimited. */
	uint64_t down_bits_per_s;
	uint32_t down_queue_bytes;
	uint32_t mtu;
	uint32_t path_mtu[SIM_LEGS_MAX]; /* larger packets are lost on this leg; 0: no limit */
	/*
	 * Number of the server's buffers for requests in each of three classes: up to 7.5 KiB, up
	 * to 132 KiB, larger (0: unlimited). It has as many for responses. Each client has a share
	 * of the buffers: rudp_incast_allows limits it for requests, rudp_session_standing for
	 * responses, as in the server of the file system.
	 */
	unsigned bufs[SIM_BUF_CLASSES];
	unsigned keeps; /* the clients up to this number keep their sessions while they are
			   silent */
	/* Probabilities in events per million packets. */
	uint32_t loss, duplicate, reorder, corrupt, garbage;
	uint64_t reorder_ns; /* delay of a reordered packet */
	/* Probabilities per million packets that a link stalls (hold) and that a burst of losses
	 * begins (burst). */
	uint32_t hold, burst;
	uint64_t hold_ns; /* longest stall; afterwards all packets of the link arrive at once */
	unsigned burst_packets;	 /* maximum number of packets in a burst */
	uint32_t eagain, no_buf; /* failures per million calls of tx and of buf_get */
	uint64_t turn_ns;	 /* time between two turns of an endpoint */
	/* Rate at which an endpoint passes packets to its ports, which takes its whole time; 0:
	 * unlimited. */
	uint64_t send_bits_per_s;
	bool drops_bursts; /* all packets of GSO bursts are lost */
	unsigned sources;  /* UDP source ports of each port in addition to its main one */
	bool one_subnet;   /* all legs are in one subnet */
	bool routed;	   /* each port is in its own subnet, and routers connect all subnets */
	uint8_t unrouted; /* one bit for each leg on which a client has no route to other subnets */
	/* Number of legs, counted from the last one, that the server and the clients lack at first.
	 * sim_port_add() adds them. */
	unsigned late_server, late_client;
	bool labels;
	bool ipv6;
	unsigned
		/* with IPv6, clients up to this number share a /64 prefix; 0: all clients do */
		one_host;
	bool rests; /* both ends set rudp_ack_at_once */
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

struct sim_link { /* the link from the port of an endpoint to the switch of its leg */
	uint64_t busy_until;
	uint64_t down_busy_until; /* from the switch to the port */
	uint64_t held_until;	  /* no packet is sent before this time */
	unsigned burst_left;	  /* number of packets that the current burst of losses still
				     drops */
	bool cut_out, cut_in;	  /* packets in this direction are lost without an error */
	bool full;		  /* the link refuses packets now */
	uint32_t out_mtu;	  /* larger packets are lost in this direction; 0: no limit */
	uint32_t out_loss;	  /* additional losses per million in this direction */
	uint64_t out_delay_ns;	  /* additional delay in this direction */
	/* one bit for each source port whose packets are lost in this direction */
	uint8_t sources_out;
	uint64_t by_source[8]; /* number of packets sent from each source port */
	/* each source port has this much more delay than the previous one */
	uint64_t source_lag_ns;
	struct sim_pkt *burst; /* the last packet since the flush; the next packet may belong to the
				  same burst */
	uint64_t packets, bytes, dropped;
	uint64_t down_bytes, down_packets, down_dropped;
};

struct sim;
struct sim_end {
	struct sim *sim;
	unsigned index;
	struct rudp *r;
	struct rudp_session *session; /* a client's session; NULL at the server */
	uint32_t epoch;
	unsigned n_ports;
	struct sim_link links[SIM_LEGS_MAX];
	struct sim_pkt *rx_head, **rx_tail;
	uint64_t next_turn, stalled_until, polls, turns;
	bool wait_due;		/* memory was freed since `waiting` was last checked */
	uint64_t wait_again_ns; /* when `waiting` is checked again at the latest */
	uint64_t due_ns;	/* time of the endpoint's next work; 0: must be computed */
	uint64_t sending_until, flushed_ns; /* packets that were sent since the last flush leave at
					       this time or later */
	bool half_sender; /* a client that sends only the first packets of its requests */
	bool slow_reader; /* a client that has no memory for responses */
	bool trickler;	  /* a client that acknowledges only one packet from time to time */
	/* client: the server ended its session because it was silent for SIM_SILENT_NS */
	bool was_silent;
	uint64_t heard_ns; /* client: time at which the server last processed a packet from it */
	uint64_t trickled_ns;
	struct sim_job *jobs, *waiting,
		**waiting_tail; /* waiting: jobs that need memory for their response */
	struct block *blocks;
	struct sim_memory { /* the server's buffers, by class */
		/* Number of buffers that small messages [0] and other messages [1] use. */
		unsigned used[SIM_BUF_CLASSES][2];
		unsigned on_trial[SIM_BUF_CLASSES]; /* number of buffers that clients on trial
						       use */
		/* Number of buffers that each client uses; only at the server. */
		unsigned (*used_by)[SIM_BUF_CLASSES][2];
	} requests, answers;
	unsigned events[RUDP_EVENT_MAX];
	int last_code;
	long bufs, tokens, calls; /* objects that rudp has received from the application or given to
				     it, and that were not returned yet */
	/* server: bytes of requests that are delivered but not answered */
	uint64_t request_bytes, request_bytes_most;
};

struct sim {
	struct sim_config cfg;
	uint64_t now, rng;
	struct sim_end ends[1 + SIM_CLIENTS_MAX];
	struct sim_pkt **heap;
	size_t heap_n, heap_size;
	struct sim_call *calls;
	unsigned n_calls, n_open, calls_size;
	/* Called when a call of a client has ended. The function may make new calls. */
	void (*on_done)(struct sim *sim, unsigned client);
	uint64_t serial;
	/* For the longest time between two responses while calls are unanswered. */
	uint64_t last_answer_ns, longest_gap_ns;
	char fault[256];
};

struct sim *sim_new(const struct sim_config *cfg);
struct sim *sim_free(struct sim *sim);
uint64_t sim_random(struct sim *sim, uint64_t below);
/* Like sim_random, but for a generator without a simulation. *state is first the seed, then the
 * generator's state. */
uint64_t sim_random_of(uint64_t *state, uint64_t below);
/* Makes a call of the client `end`, whose execution at the server takes delay_us. Returns false if
 * the client's queue is full. */
bool sim_call(struct sim *sim, unsigned end, uint32_t req_len, uint32_t resp_len,
	      uint32_t delay_us);
void sim_abandon(struct sim *sim, unsigned cookie);
/* Marks all calls of this client as abandoned, so that their results are not checked. */
void sim_abandon_all(struct sim *sim, unsigned end);
/* Runs until all calls are answered. Returns false if that takes longer than max_ns or a fault
 * occurs. */
bool sim_finish(struct sim *sim, uint64_t max_ns);
/* Simulates ns nanoseconds. Returns false if a fault occurs. */
bool sim_pass(struct sim *sim, uint64_t ns);
/* Runs until the sessions of all clients are up. Returns false if that takes longer than max_ns. */
bool sim_connect(struct sim *sim, uint64_t max_ns);
void sim_stall(struct sim *sim, unsigned end, uint64_t ns);
/* Sets the carrier of an endpoint's port. announced: also informs rudp. */
void sim_leg(struct sim *sim, unsigned end, unsigned leg, bool up, bool announced);
/* Adds the next missing leg of the endpoint. */
int sim_port_add(struct sim *sim, unsigned end);
/* Replaces the process of the endpoint by a new one, without the state of the old one. */
void sim_restart(struct sim *sim, unsigned end);
/* Checks that all calls have ended, closes all sessions, and checks that all objects were returned.
 * Returns false if a fault occurs. */
bool sim_close(struct sim *sim);

#endif
