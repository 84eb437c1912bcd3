/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Probes the legs of this host: each leg asks LINKS_PROBES random other hosts a second, with small
 * and full packets in turn, whatever the number of hosts. A host that does not answer is asked
 * again, also through two other hosts on the same leg, as in SWIM. The answers decide whether the
 * own leg, the leg of the other host, or a switch between them is at fault. On a leg that loses
 * some packets even when it works, a verdict needs more consecutive losses. This is a state machine
 * without sockets: the caller passes in packets and the time, and sends the packets that the module
 * requests.
 */
#ifndef PLENUM_AGENT_LINKS_H
#define PLENUM_AGENT_LINKS_H

#include "agent/base/links_report.h"
#include "agent/links/links_wire.h"

#define LINKS_PROBES 3	     /* regular questions of a leg a second */
#define LINKS_QUESTIONS 6    /* all questions of a leg a second, on average */
#define LINKS_BURST 12	     /* questions that a leg may send at once */
#define LINKS_PEERS_MAX 64   /* other hosts that a leg knows at a time */
#define LINKS_PENDING_MAX 32 /* questions of a leg that may be in flight */
#define LINKS_DUTIES_MAX 16  /* hosts that a leg asks at a time on behalf of other hosts */
#define LINKS_SOURCES 64     /* buckets of the rate limit that applies to each source of packets */
/* Maximum number of other hosts' faulty legs in a report about a leg. */
#define LINKS_FAULTS_MAX 8
/* A question without an answer for this time counts as lost. */
#define LINKS_WAIT_NS (300 * NSEC_PER_MSEC)
/* Time between questions to a host that does not answer: before the verdict and after it. */
#define LINKS_AGAIN_NS (150 * NSEC_PER_MSEC)
#define LINKS_FAULTY_NS NSEC_PER_SEC
/* A leg that receives no answer for this time, although it asks, may be at fault. */
#define LINKS_SILENCE_NS (900 * NSEC_PER_MSEC)

const char *links_verdict_to_string(enum links_verdict v);

struct links_peer { /* the caller sets the first members */
	char host[PLENUM_NAME_MAX], leg[PLENUM_NAME_MAX];
	struct ip_addr ip;
	/* The members below are set by the module. */
	enum links_verdict verdict;
	uint64_t since_ns;  /* when this verdict began */
	uint64_t asked_ns;  /* last question; 0: none yet */
	uint64_t helped_ns; /* when third hosts were last asked whether this host answers them */
	unsigned misses;    /* questions in a row without an answer */
	bool suspect;	    /* a question was not answered, and there is no verdict yet */
	bool full_next;	    /* the next regular question is a full packet */
	unsigned told_up, told_down; /* how many third hosts have reported since helped_ns that the
					host answers them, or does not */
};

struct links_pending {
	uint64_t number; /* 0: the entry is free */
	uint64_t sent_ns;
	uint32_t peer, via; /* indexes of peers; via: the host that was asked, or `peer` */
	bool regular, full;
};

struct links_duty {		      /* a question that this leg sends on behalf of another host */
	struct ip_addr asker, target; /* the host that wants to know; family 0: the entry is free */
	uint64_t asked;		      /* the asker's number */
	uint64_t numbers[3];
	unsigned sent;
	uint64_t first_ns;
};

struct links_bucket { /* tokens are in thousandths */
	uint64_t tokens, at_ns;
};

struct links_leg { /* the caller sets the first members */
	char name[PLENUM_NAME_MAX];
	uint32_t ifindex;
	struct ip_prefix ip;
	uint32_t mtu; /* the MTU of the link; 0: send no full packets */
	bool open;    /* packets can be sent */
	/* The members below are set by the module. */
	bool answered; /* a host has answered since the leg is known */
	bool alone;    /* the leg is silent, and no other leg is heard: no verdict */
	enum links_verdict verdict;
	struct links_peer peers[LINKS_PEERS_MAX];
	uint32_t n_peers;
	struct links_pending pending[LINKS_PENDING_MAX];
	struct links_duty duties[LINKS_DUTIES_MAX];
	struct links_bucket questions, helps, answers, sources[LINKS_SOURCES];
	uint64_t next_ns;    /* next regular question */
	uint64_t begun_ns;   /* when the leg began to ask */
	uint64_t heard_ns;   /* last answer */
	unsigned unanswered; /* questions without an answer since heard_ns */
	uint64_t history,
		full;	/* results of the latest regular questions, bit 0 is the newest; 1: lost */
	uint64_t doubt; /* like `history`, and also has lost repeated questions to hosts that
			   answered later */
	unsigned n_history, n_full, n_doubt;
	uint64_t rtt_ns; /* smoothed; 0: unknown */
};

struct links_setup {
	/* Sends `len` bytes to the port LINKS_PORT of that address. */
	void (*send)(void *user, uint32_t ifindex, const struct ip_addr *to, const uint8_t *buf,
		     size_t len);
	uint32_t (*random)(void *user);
	void *user;
};

struct links {
	struct links_setup setup;
	struct links_keys keys;
	struct links_leg legs[PLENUM_LEGS_MAX];
	size_t n_legs;
	uint64_t next_ns; /* nothing is due before this time */
};

void links_init(struct links *l, const struct links_setup *setup);
/* Replaces the legs. The caller sets only the first members of each leg. Legs with the same ifindex
 * and address keep their state. */
void links_set_legs(struct links *l, const struct links_leg *legs, size_t n, uint64_t now);
/* Replaces the known hosts of a leg; hosts that were known before keep their state. */
void links_set_peers(struct links *l, uint32_t ifindex, const struct links_peer *peers, size_t n,
		     uint64_t now);
/* Takes a packet that arrived on the leg. Returns whether it was valid. */
bool links_hear(struct links *l, uint32_t ifindex, const struct ip_addr *from, const uint8_t *buf,
		size_t len, uint64_t now);
/* Call when the kernel of that host has refused a packet, because no program uses the port or a
 * firewall rejects it. The refusal proves that the host's leg works. */
void links_refused(struct links *l, uint32_t ifindex, const struct ip_addr *from, uint64_t now);
/* Sends the questions that are due. Returns in how many ns the next one is due, or UINT64_MAX. */
uint64_t links_run(struct links *l, uint64_t now);

/* Makes the report about a leg: its verdict, its losses, and faulty legs of other hosts. */
void links_report_make(const struct links_leg *leg, struct links_report *ret);
struct links_leg *links_find(struct links *l, uint32_t ifindex);
/* Returns the verdict about a host's leg, or LINKS_OK while there is none. If many hosts fail at
 * the same time, the fault is in a switch between this host and them. */
enum links_verdict links_fault(const struct links_leg *leg, const struct links_peer *p);
/* Returns whether the host does not answer. Only then does links_fault() have a verdict about
 * it. */
bool links_is_faulty(const struct links_peer *p);
/* Returns the lost share of the leg's latest regular questions in per cent. */
unsigned links_loss_percent(const struct links_leg *leg, bool full);
/* Counts the known hosts that were asked, and those that answered their last questions. */
void links_count(const struct links_leg *leg, unsigned *ret_asked, unsigned *ret_answering);

#endif
