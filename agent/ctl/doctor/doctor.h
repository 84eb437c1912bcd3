/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `plenum doctor`: every check of a host in one list. A check is one row of a const table, in a
 * file for each subject; it reads one picture of the host, which doctor_look.c takes, and writes
 * what it found and what to do about it. Nothing here changes the host. Tests make pictures of
 * their own: a folder for the root of /proc, /sys, /dev and /etc, a recorded inventory, an answer
 * of the agent.
 */
#ifndef PLENUM_AGENT_CTL_DOCTOR_H
#define PLENUM_AGENT_CTL_DOCTOR_H

#include "netcfg/plan/plan.h"
#include <jansson.h>

enum doctor_state { DOCTOR_PASS, DOCTOR_UNKNOWN, DOCTOR_WARN, DOCTOR_FAIL, DOCTOR_STATE_MAX };
const char *doctor_state_to_string(enum doctor_state s);

struct doctor_result {
	enum doctor_state state;
	char evidence[512]; /* what was seen, of the worst that was */
	char remedy[640];   /* what to do about it; "": nothing */
	bool taken;	    /* what was said last is in evidence */
};

/* Room on a file system. */
struct doctor_space {
	uint64_t free_bytes, total_bytes, free_inodes, total_inodes;
	int error; /* 0, or why it is not known */
};

#define DOCTOR_FOLDERS_MAX 64

/* What an echo request from a leg's data IP came to, small and as large as the leg's MTU. */
struct doctor_echo {
	char leg[PLENUM_NAME_MAX], peer[PLENUM_NAME_MAX]; /* peer "": the leg's gateway */
	struct ip_addr from, to;
	uint32_t ifindex, bytes; /* of the link; of the larger one */
	bool small, full;
	/* A small one with this mark: whether it was answered, and the mark of the answer. */
	uint8_t tos, answered_tos;
	bool marked;
};
#define DOCTOR_ECHOES_MAX 64

/* Everything that checks look at. A member that could not be had is NULL, and why stands beside it.
 */
struct doctor_picture {
	const char *root; /* "" for the host, a folder for tests */
	int sys;	  /* the folder /sys, of the caller's network namespace; -1: none */
	bool privileged;
	struct kernel *kernel; /* for route lookups */
	struct inventory *inv;
	struct spec *spec;
	struct plan *plan;
	json_t *steps; /* what is left to do: the agent's plan's, or this plan's */
	json_t *status, *processes, *net; /* of the agent */
	char no_inventory[256], no_spec[256], no_plan[256], no_agent[256];
	char *nft, *iptables, *ip6tables; /* the rules as their own tools print them */
	char no_nft[128], no_iptables[128], no_ip6tables[128];
	int clock_state, clock_error; /* of adjtimex(2): its answer, or why there is none */
	unsigned clock_status;	      /* STA_ bits */
	int udp_gso, udp_gro;	      /* 0, or why a socket does not take it */
	struct doctor_space state, run;
	/* In the order of the spec; error -ETIMEDOUT: the file system does not answer. */
	struct doctor_space exports[DOCTOR_FOLDERS_MAX], mounts[DOCTOR_FOLDERS_MAX];
	char peer[PLENUM_NAME_MAX]; /* the only one to ask; "": all */
	struct doctor_echo echoes[DOCTOR_ECHOES_MAX];
	size_t n_echoes, n_unasked; /* those that there was no room for */
	char no_echoes[160];
};

/* What a check cannot do without: else its result is unknown, with the reason. */
enum {
	DOCTOR_WANTS_INVENTORY = 1 << 0,
	DOCTOR_WANTS_SPEC = 1 << 1,
	DOCTOR_WANTS_PLAN = 1 << 2, /* which has the three */
	DOCTOR_WANTS_AGENT = 1 << 3,
	DOCTOR_WANTS_APPLIED = 1 << 4, /* a plan that has nothing left to do */
};

struct doctor_check {
	const char *id;	   /* "kernel-fuse": lower case and dashes */
	const char *title; /* what is so where it passes, a sentence without a full stop */
	unsigned wants;
	/* result: passed, with no evidence yet. */
	void (*run)(const struct doctor_picture *p, const struct doctor_check *c,
		    struct doctor_result *r);
	const char *about; /* what else its function wants to know */
};

struct doctor_subject {
	const char *name;
	const struct doctor_check *checks;
	size_t n_checks;
};
#define DOCTOR_SUBJECT(name_, checks_)                                            \
	{                                                                         \
		.name = name_, .checks = checks_, .n_checks = ARRAY_SIZE(checks_) \
	}

extern const struct doctor_subject doctor_config, doctor_kernel, doctor_cores, doctor_memory,
	doctor_legs, doctor_routes, doctor_sockets, doctor_bond, doctor_vfs, doctor_firewall,
	doctor_field, doctor_peers, doctor_quality, doctor_rdma, doctor_versions;
extern const struct doctor_subject *const doctor_subjects[];
extern const size_t doctor_n_subjects;

/* Runs one check; says itself where what it wants is missing. */
void doctor_run(const struct doctor_picture *p, const struct doctor_check *c,
		struct doctor_result *ret);
/* As `plenum doctor -j` has it, whatever bytes the evidence quotes. A new reference; NULL: out of
 * memory. */
json_t *doctor_to_json(const struct doctor_subject *s, const struct doctor_check *c,
		       const struct doctor_result *r);
/* The table of checks as mdoc(7) rows for plenum(1). Heap, caller frees. */
char *doctor_man_table(void);

/* ---- for checks ---- */

/* Adds to the evidence where nothing worse was said; what is worse takes its place. */
void doctor_say(struct doctor_result *r, enum doctor_state s, const char *fmt, ...)
	PLENUM_PRINTF(3, 4);
/* What to do about what was said last. */
void doctor_advise(struct doctor_result *r, const char *fmt, ...) PLENUM_PRINTF(2, 3);
/* The file below the picture's root, a line's end cut off. 0; negative errno. */
int doctor_read(const struct doctor_picture *p, char *buf, size_t size, const char *fmt, ...)
	PLENUM_PRINTF(4, 5);
/* The whole of a larger one; heap. NULL: it cannot be read, errno says why. */
char *doctor_read_all(const struct doctor_picture *p, const char *path);
/* A number in such a file. 0; negative errno. */
int doctor_read_number(const struct doctor_picture *p, int64_t *ret, const char *fmt, ...)
	PLENUM_PRINTF(3, 4);
bool doctor_exists(const struct doctor_picture *p, const char *fmt, ...) PLENUM_PRINTF(2, 3);
/* Of the sysfs that shows the caller's network namespace, below /sys. 0; negative errno. */
int doctor_sys_number(const struct doctor_picture *p, int64_t *ret, const char *fmt, ...)
	PLENUM_PRINTF(3, 4);
int doctor_sys_text(const struct doctor_picture *p, char *buf, size_t size, const char *fmt, ...)
	PLENUM_PRINTF(4, 5);
/* The kernel is that version or a later one. */
bool doctor_kernel_is(const struct doctor_picture *p, unsigned major, unsigned minor);
/* Whether the kernel has a module, built in, loaded or there to be loaded. */
bool doctor_has_module(const struct doctor_picture *p, const char *name);
/* Whether workers of that role are configured. */
bool doctor_has_role(const struct doctor_picture *p, enum spec_role role);
/* Whether the worker polls a core of its own, now or as it was asked to. */
bool doctor_worker_polls(const struct plan_worker *w);
size_t doctor_n_polling(const struct doctor_picture *p);
/* The link of a leg of the plan, NULL: it has none now. */
const struct inv_link *doctor_leg_link(const struct doctor_picture *p,
				       const struct plan_leg_info *leg);
/* What those at the other end of a leg's cables say of themselves by LLDP, the nth of them, as
 * `plenum net show` has it; NULL: there are no more. */
const json_t *doctor_neighbour(const struct doctor_picture *p, const char *leg, size_t n);
/* The NUMA node of a core; INV_NUMA_NONE. */
int doctor_core_node(const struct doctor_picture *p, unsigned core);
/* Sets set[i] for the numbers of a list as "0-3,8" in a file. 0; negative errno. */
int doctor_read_list(const struct doctor_picture *p, bool *set, size_t n, const char *path);
/* A process of that name (as the kernel cuts it) runs. */
bool doctor_process_runs(const struct doctor_picture *p, const char *comm);
/* A run function: steps of the plan of the kind that `about` names, "sysctl rp_filter", are what
 * the host still lacks. */
void doctor_run_steps(const struct doctor_picture *p, const struct doctor_check *c,
		      struct doctor_result *r);

/* ---- ctl_ping.c ---- */

struct ctl_args;
/* What these subjects find of the way: on standard error, since it is not what was asked for. */
void ctl_say_matter(const struct ctl_args *a, const struct doctor_subject *const *subjects,
		    size_t n);

/* ---- doctor_look.c ---- */

/* Takes the picture: by the configuration in `file`, NULL: by the one that runs, or that an agent
 * would read. */
void doctor_look(const struct ctl_args *a, const char *file, struct doctor_picture *ret);
/* The same of host, agent and configuration alone. */
void doctor_look_at_plan(const struct ctl_args *a, const char *file, struct doctor_picture *ret);
/* Whom to ask, into p->echoes or why nobody in p->no_echoes; and the asking (doctor_echo.c). */
void doctor_find_echoes(struct doctor_picture *p);
/* Whether p->peer is one of the configuration, or an address. */
bool doctor_knows_peer(const struct doctor_picture *p);
void doctor_look_at_peers(struct doctor_picture *p);
void doctor_picture_done(struct doctor_picture *p);

#endif
