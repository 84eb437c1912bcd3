/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `plenum doctor`: all checks of a host in one list. A check is one row of a const table; each
 * subject has its table in one file. A check reads one picture of the host, which doctor_collect.c
 * takes, and reports what it found and what to do about it. Nothing here changes the host. Tests
 * build their own pictures: a folder as the root of /proc, /sys, /dev and /etc, a recorded
 * inventory, and an answer of the agent.
 */
#ifndef PLENUM_AGENT_CTL_DOCTOR_H
#define PLENUM_AGENT_CTL_DOCTOR_H

#include "netcfg/plan/plan.h"
#include <jansson.h>

enum doctor_state { DOCTOR_PASS, DOCTOR_UNKNOWN, DOCTOR_WARN, DOCTOR_FAIL, DOCTOR_STATE_MAX };
const char *doctor_state_to_string(enum doctor_state s);

struct doctor_result {
	enum doctor_state state;
	char evidence[512]; /* the worst finding */
	char remedy[640];   /* what to do about it; "": nothing */
	bool taken;	    /* the last doctor_report() is in evidence */
};

/* Free space on a file system. */
struct doctor_space {
	uint64_t free_bytes, total_bytes, free_inodes, total_inodes;
	int error; /* 0, or the negative errno that explains why the rest is unknown */
};

#define DOCTOR_FOLDERS_MAX 64

/* Result of the echo requests from a leg's data IP: a small one and one as large as the leg's
 * MTU. */
struct doctor_probe {
	char leg[PLENUM_NAME_MAX], peer[PLENUM_NAME_MAX]; /* peer "": the leg's gateway */
	struct ip_addr from, to;
	uint32_t ifindex, bytes; /* link index; size of the larger request */
	bool small, full;
	/* A small request sent with this TOS byte: whether it was answered, and the TOS byte of
	 * the answer. */
	uint8_t tos, answered_tos;
	bool marked;
};
#define DOCTOR_PROBES_MAX 64

/* Everything that checks read. A member that could not be read is NULL; its no_* member
 * says why. */
struct doctor_host {
	const char *root; /* "" for the host, a folder in tests */
	int sys;	  /* the folder /sys of the caller's network namespace; -1: none */
	bool privileged;
	struct kernel *kernel; /* for route lookups */
	struct inventory *inv;
	struct spec *spec;
	struct plan *plan;
	json_t *steps; /* steps still to do, from the agent's plan or from `plan` */
	json_t *status, *processes, *net; /* from the agent */
	char no_inventory[256], no_spec[256], no_plan[256], no_agent[256];
	char *nft, *iptables, *ip6tables; /* the rules as printed by the tools themselves */
	char no_nft[128], no_iptables[128], no_ip6tables[128];
	int clock_state, clock_error; /* result of adjtimex(2), or the error */
	unsigned clock_status;	      /* STA_ bits */
	int udp_gso, udp_gro;	      /* 0, or the error of the socket option */
	struct doctor_space state, run;
	/* In the order of the spec; error -ETIMEDOUT: the file system does not answer. */
	struct doctor_space exports[DOCTOR_FOLDERS_MAX], mounts[DOCTOR_FOLDERS_MAX];
	char peer[PLENUM_NAME_MAX]; /* the only peer to probe; "": all */
	struct doctor_probe probes[DOCTOR_PROBES_MAX];
	size_t n_probes, n_skipped; /* n_skipped: probes skipped because `probes` is full */
	char no_probes[160];
};

/* What a check needs. If it is missing, the result is unknown and says so. */
enum {
	DOCTOR_NEEDS_INVENTORY = 1 << 0,
	DOCTOR_NEEDS_SPEC = 1 << 1,
	DOCTOR_NEEDS_PLAN = 1 << 2, /* implies inventory and spec */
	DOCTOR_NEEDS_AGENT = 1 << 3,
	DOCTOR_NEEDS_APPLIED = 1 << 4, /* a plan with no steps left */
};

struct doctor_check {
	const char *id; /* "kernel-fuse": lower case and dashes */
	const char
		*title; /* the sentence that is true when the check passes, without a full stop */
	unsigned needs;
	/* r starts as passed, without evidence. */
	void (*run)(const struct doctor_host *p, const struct doctor_check *c,
		    struct doctor_result *r);
	const char *about; /* argument for `run` */
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
	doctor_programs, doctor_peers, doctor_quality, doctor_rdma, doctor_versions;
extern const struct doctor_subject *const doctor_subjects[];
extern const size_t doctor_n_subjects;

/* Runs one check. If something that the check needs is missing, reports that instead. */
void doctor_run(const struct doctor_host *p, const struct doctor_check *c,
		struct doctor_result *ret);
/* One entry of `plenum doctor -j`; valid JSON even if the evidence quotes invalid UTF-8. A new
 * reference; NULL: out of memory. */
json_t *doctor_to_json(const struct doctor_subject *s, const struct doctor_check *c,
		       const struct doctor_result *r);
/* The table of checks as mdoc(7) rows for plenum(1). Heap, caller frees. */
char *doctor_man_table(void);

struct ctl_args;
/* Runs the checks of these subjects and prints what may explain a failed ping, on standard error
 * because it is not the command's result. */
void doctor_warn_causes(const struct ctl_args *a, const struct doctor_subject *const *subjects,
			size_t n);

/* ---- for checks ---- */

/* Adds evidence. A finding replaces milder ones; after a worse one it is ignored. */
void doctor_report(struct doctor_result *r, enum doctor_state s, const char *fmt, ...)
	PLENUM_PRINTF(3, 4);
/* The remedy for the finding of the last doctor_report(). */
void doctor_advise(struct doctor_result *r, const char *fmt, ...) PLENUM_PRINTF(2, 3);
/* Reads a file below the picture's root, without the trailing newline. 0; negative errno. */
int doctor_read(const struct doctor_host *p, char *buf, size_t size, const char *fmt, ...)
	PLENUM_PRINTF(4, 5);
/* The whole content of a larger file; heap. NULL: cannot be read, see errno. */
char *doctor_read_all(const struct doctor_host *p, const char *path);
/* Reads a file that holds one number. 0; negative errno. */
int doctor_read_number(const struct doctor_host *p, int64_t *ret, const char *fmt, ...)
	PLENUM_PRINTF(3, 4);
bool doctor_exists(const struct doctor_host *p, const char *fmt, ...) PLENUM_PRINTF(2, 3);
/* Reads a file below /sys as the caller's network namespace shows it. 0; negative errno. */
int doctor_sys_number(const struct doctor_host *p, int64_t *ret, const char *fmt, ...)
	PLENUM_PRINTF(3, 4);
/* Whether the kernel has this version or a later one. */
bool doctor_kernel_is(const struct doctor_host *p, unsigned major, unsigned minor);
/* Whether the kernel has the module: built in, loaded or installed. */
bool doctor_has_module(const struct doctor_host *p, const char *name);
/* Whether the configuration has workers of this role. */
bool doctor_has_role(const struct doctor_host *p, enum spec_role role);
/* Whether the worker has a dedicated polling core, as running or as requested. */
bool doctor_worker_polls(const struct plan_worker *w);
size_t doctor_n_polling(const struct doctor_host *p);
/* The link of a leg of the plan; NULL: it has none now. */
const struct inv_link *doctor_leg_link(const struct doctor_host *p,
				       const struct plan_leg_info *leg);
/* The nth LLDP neighbour on a leg, as in `plenum net show`; NULL: no more. */
const json_t *doctor_neighbour(const struct doctor_host *p, const char *leg, size_t n);
/* The NUMA node of a core, or INV_NUMA_NONE. */
int doctor_core_node(const struct doctor_host *p, unsigned core);
/* Reads a list such as "0-3,8" from a file and sets set[i] for each number. 0; negative errno. */
int doctor_read_list(const struct doctor_host *p, bool *set, size_t n, const char *path);
/* Whether a process with this name (as truncated by the kernel) runs. */
bool doctor_process_runs(const struct doctor_host *p, const char *comm);
/* A run function: fails if the plan has steps left of the kind in `about`, e.g. "sysctl
 * rp_filter". */
void doctor_run_steps(const struct doctor_host *p, const struct doctor_check *c,
		      struct doctor_result *r);

/* ---- doctor_collect.c and doctor_probe.c ---- */

/* Takes the picture, with the configuration in `file`. NULL: the running configuration, or the one
 * that an agent would read. */
void doctor_collect(const struct ctl_args *a, const char *file, struct doctor_host *ret);
/* The same without the parts that only checks of memory, firewalls, folders and peers read. */
void doctor_collect_plan(const struct ctl_args *a, const char *file, struct doctor_host *ret);
/* Fills p->probes with the probes to send, or p->no_probes with the reason for none.
 * doctor_send_probes() sends them (doctor_probe.c). */
void doctor_find_probes(struct doctor_host *p);
/* Whether p->peer is in the configuration, has a session, or is an address. */
bool doctor_knows_peer(const struct doctor_host *p);
void doctor_send_probes(struct doctor_host *p);
void doctor_host_done(struct doctor_host *p);

#endif
