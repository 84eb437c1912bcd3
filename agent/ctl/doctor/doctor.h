/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `plenum doctor`: runs a list of checks on a host. A check is a row of a const table; each subject
 * has its table in a separate file. A check reads a snapshot of the host, which doctor_collect.c
 * makes, and reports findings and remedies. No check changes the host. Tests make their own
 * snapshots: a folder as the root of /proc, /sys, /dev and /etc, a recorded inventory, and an
 * answer of the agent.
 */
#ifndef PLENUM_AGENT_CTL_DOCTOR_H
#define PLENUM_AGENT_CTL_DOCTOR_H

#include "netcfg/host/kernel.h"
#include "netcfg/linux/port_probe.h"
#include "netcfg/linux/rtnl/rtnl_qdisc.h"
#include "netcfg/plan/plan.h"
#include <jansson.h>

/* In order from good to bad. doctor_report() keeps the worst state. */
enum doctor_state {
	DOCTOR_PASS,
	/* A fact worth reading that needs no action. It does not change the exit status. */
	DOCTOR_NOTE,
	DOCTOR_UNKNOWN,
	DOCTOR_WARN,
	DOCTOR_FAIL,
	DOCTOR_STATE_MAX
};
const char *doctor_state_to_string(enum doctor_state s);

struct doctor_result {
	enum doctor_state state;
	char evidence[512]; /* text of the worst finding */
	char remedy[640];   /* what to do about the worst finding; "": nothing */
	bool taken; /* the last doctor_report() replaced the evidence, instead of being ignored */
	/* Id of the check that reports the cause of these findings, see doctor_because(). */
	const char *because;
	unsigned n_findings, n_blamed;
};

/* Free space on a file system. */
struct doctor_space {
	uint64_t free_bytes, total_bytes, free_inodes, total_inodes;
	bool read_only;
	int error; /* 0; negative errno: why the other members are unknown */
};

#define DOCTOR_FOLDERS_MAX 64

/* Results of packets from a leg's data IP: echo requests, a small one and one as large as the leg's
 * MTU, and packets of both sizes to the peer's data port. */
struct doctor_probe {
	char leg[PLENUM_NAME_MAX], peer[PLENUM_NAME_MAX]; /* peer "": the gateway of the leg */
	struct ip_addr from, to;
	uint32_t ifindex, bytes; /* ifindex: the leg's link; bytes: size of the larger request */
	/* The source address belongs to a worker instead of the kernel, so nothing is sent. */
	bool held;
	/* The peer is in another subnet than the leg, so a gateway forwards the packets. */
	bool by_gateway;
	bool echoes; /* echo requests were sent */
	bool small, full;
	struct port_probe port, port_full; /* n_packets 0: no packet had to be sent */
	/* A further small request: the TOS byte of the request, the TOS byte of the answer, and
	 * whether an answer came (marked). */
	uint8_t tos, answered_tos;
	bool marked;
};
#define DOCTOR_PROBES_MAX 64
/* Count of packets of each size that are sent to each data port. */
#define DOCTOR_PACKETS 100U

/* Why the doctor asks for an address by ARP or neighbour discovery on a leg. */
enum doctor_arp_kind {
	DOCTOR_ARP_OWN,	      /* a data IP of this leg, which no other host must have */
	DOCTOR_ARP_OTHER_LEG, /* a data IP of another leg of this host */
	DOCTOR_ARP_PEER,      /* the address of a peer or gateway on this leg */
	/* The address that a peer has on another leg. The doctor asks for it on a leg on which no
	 * peer answers, because the cable may lead to the other leg's network. */
	DOCTOR_ARP_PEER_LEG,
	/* A data IP of this leg. The doctor sends requests for this address to find out whether the
	 * leg's own frames come back to the leg. */
	DOCTOR_ARP_ECHO,
};
struct doctor_arp {
	enum doctor_arp_kind kind;
	char leg[PLENUM_NAME_MAX], peer[PLENUM_NAME_MAX]; /* peer "": a gateway or this host */
	/* The leg to which the address belongs, if it is not `leg`. */
	char other[PLENUM_NAME_MAX];
	struct kernel_probe q;
};
#define DOCTOR_ARPS_MAX 128
#define DOCTOR_QUEUES_MAX 32

/* Everything that checks read. A member that could not be read is NULL; its member no_* then has
 * the reason. */
struct doctor_host {
	const char *root; /* "" for this host; a folder in tests */
	int sys;	  /* descriptor of /sys of the caller's network namespace; -1: none */
	bool privileged;
	struct kernel *kernel; /* for route lookups */
	struct inventory *inv;
	struct spec *spec;
	struct plan *plan;
	json_t *steps; /* steps that have not been applied, from the agent's plan or from `plan` */
	json_t *status, *processes, *net; /* answers of the agent */
	char no_inventory[256], no_spec[256], no_plan[256], no_agent[256];
	/* If the agent does not answer: enum ctl_agent_state, and the remedy. */
	int agent_state;
	char agent_remedy[128];
	uint64_t agent_took_ns;	      /* time from the request for the status to the answer */
	int clock_state, clock_error; /* result of adjtimex(2), or the error */
	unsigned clock_status;	      /* STA_ bits of adjtimex(2) */
	int udp_gso, udp_gro;	      /* 0, or the error of setting the socket option */
	struct doctor_space state, run;
	/* Both arrays are in the order of the spec. The error in an entry is -ETIMEDOUT if its file
	 * system does not answer. */
	struct doctor_space exports[DOCTOR_FOLDERS_MAX], mounts[DOCTOR_FOLDERS_MAX];
	char peer[PLENUM_NAME_MAX]; /* the only peer to probe; "": all peers */
	struct doctor_probe probes[DOCTOR_PROBES_MAX];
	size_t n_probes, n_skipped; /* n_skipped: count of probes for which `probes` has no room */
	char no_probes[160];
	char no_echoes[160]; /* why no echo request was sent although there are probes */
	struct doctor_arp arps[DOCTOR_ARPS_MAX];
	size_t n_arps;
	char no_arps[160];			     /* why the addresses were not asked for */
	struct rtnl_qdisc queues[DOCTOR_QUEUES_MAX]; /* queues of the legs' links */
	size_t n_queues;
	char no_queues[96]; /* why the queues are unknown */
};

/* The parts of the snapshot that a check needs. If one is missing, the result of the check is
 * unknown, with the reason. */
enum {
	DOCTOR_NEEDS_INVENTORY = 1 << 0,
	DOCTOR_NEEDS_SPEC = 1 << 1,
	DOCTOR_NEEDS_PLAN = 1 << 2, /* includes the inventory and the spec */
	DOCTOR_NEEDS_AGENT = 1 << 3,
	DOCTOR_NEEDS_APPLIED = 1 << 4, /* a plan without steps that have to be applied */
};

struct doctor_check {
	const char *id;	   /* such as "kernel-fuse": lower case letters and dashes */
	const char *title; /* a sentence, without a full stop, that is true if the check passes */
	unsigned needs;
	/* Runs the check. At first, r has the state DOCTOR_PASS and no evidence. */
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
	doctor_legs, doctor_routes, doctor_sockets, doctor_bond, doctor_vfs, doctor_programs,
	doctor_peers, doctor_quality, doctor_rdma, doctor_versions, doctor_wiring;
extern const struct doctor_subject *const doctor_subjects[];
extern const size_t doctor_n_subjects;

/* Returns the check that reports the cause of all findings of a result, or NULL if one of the
 * findings is a cause itself. */
const char *doctor_because(const struct doctor_result *r);
/* Runs a check. If a part that it needs is missing, reports that instead. */
void doctor_run(const struct doctor_host *p, const struct doctor_check *c,
		struct doctor_result *ret);
/* Makes an entry of `plenum doctor -j`, a new reference, or NULL if memory is short. The entry is
 * valid JSON even if the evidence quotes invalid UTF-8. */
json_t *doctor_to_json(const struct doctor_subject *s, const struct doctor_check *c,
		       const struct doctor_result *r);
/* Returns the table of checks as mdoc(7) rows for plenum(1), on the heap; the caller frees it. */
char *doctor_man_table(void);

struct ctl_args;
/* Runs the checks of these subjects, and prints findings that may explain a failed ping. They go to
 * standard error, because they are not the result of the command. */
void doctor_warn_causes(const struct ctl_args *a, const struct doctor_subject *const *subjects,
			size_t n);

/* ---- functions for checks ---- */

/* Adds evidence. A finding replaces milder findings, and is ignored after a worse one. A text that
 * is too long is cut at the end of a word. */
void doctor_report(struct doctor_result *r, enum doctor_state s, const char *fmt, ...)
	PLENUM_PRINTF(3, 4);
/* Sets the remedy for the finding of the last doctor_report(). */
void doctor_advise(struct doctor_result *r, const char *fmt, ...) PLENUM_PRINTF(2, 3);
/* Records that the finding of the last doctor_report() follows from a finding of the check with
 * this id. */
void doctor_blame(struct doctor_result *r, const char *id);
/* Reads a file below the root of the snapshot, without the newline at its end. Returns 0 or
 * negative errno. */
int doctor_read(const struct doctor_host *p, char *buf, size_t size, const char *fmt, ...)
	PLENUM_PRINTF(4, 5);
/* Returns the whole content of a larger file, on the heap, or NULL with errno set if it cannot be
 * read. */
char *doctor_read_all(const struct doctor_host *p, const char *path);
/* Reads a file that contains one number. Returns 0 or negative errno. */
int doctor_read_number(const struct doctor_host *p, int64_t *ret, const char *fmt, ...)
	PLENUM_PRINTF(3, 4);
bool doctor_exists(const struct doctor_host *p, const char *fmt, ...) PLENUM_PRINTF(2, 3);
/* Reads a number from a file below /sys of the caller's network namespace. Returns 0 or negative
 * errno. */
int doctor_sys_number(const struct doctor_host *p, int64_t *ret, const char *fmt, ...)
	PLENUM_PRINTF(3, 4);
/* Returns whether the kernel has this or a later version. */
bool doctor_kernel_is(const struct doctor_host *p, unsigned major, unsigned minor);
/* Returns whether the kernel has the module: built in, loaded or installed. */
bool doctor_has_module(const struct doctor_host *p, const char *name);
/* Returns whether the module is built into the kernel. */
bool doctor_has_builtin(const struct doctor_host *p, const char *name);
/* Returns the pid of the agent, or 0 if it is unknown. */
json_int_t doctor_agent_pid(const struct doctor_host *p);
/* Returns whether the configuration has workers of this role. */
bool doctor_has_role(const struct doctor_host *p, enum spec_role role);
/* Returns whether the worker, as running or as requested, has a dedicated core on which it
 * polls. */
bool doctor_worker_polls(const struct plan_worker *w);
size_t doctor_n_polling(const struct doctor_host *p);
/* Returns the link of a leg of the plan, or NULL if it has none at present. */
const struct inv_link *doctor_leg_link(const struct doctor_host *p,
				       const struct plan_leg_info *leg);
/* Returns the bond that the link is, or that is below it, or NULL. */
const struct inv_bond *doctor_link_bond(const struct doctor_host *p, uint32_t ifindex);
/* Returns whether ports of the bond must be in one LAG that is set at the switch by hand. */
bool doctor_bond_is_static(const struct inv_bond *b);
/* Returns whether packets of a leg leave through the link: the leg's own link, or the one below
 * it. */
bool doctor_is_leg_link(const struct doctor_host *p, uint32_t ifindex);
/* Returns LLDP neighbour number n of a leg, as in `plenum net show`, or NULL if there are no
 * more. */
const json_t *doctor_neighbour(const struct doctor_host *p, const char *leg, size_t n);
/* Returns a text about the plan's leg number i from the agent's status, or "" if it is unknown. */
const char *doctor_leg_text(const struct doctor_host *p, size_t i, const char *key);
/* Returns whether the kernel has the port's data IP. If not, a worker has the address, or it is not
 * configured yet. */
bool doctor_kernel_has(const struct doctor_host *p, const struct plan_port *port);
/* Returns a worker's port on the leg, preferably one whose data IP the kernel has, or NULL if no
 * worker has the leg. */
const struct plan_port *doctor_leg_port(const struct doctor_host *p, const char *leg);
/* Returns a worker's path through the probe's leg to the probe's address, preferably one that is
 * up, or NULL if there is none. */
const json_t *doctor_find_path(const struct doctor_host *p, const struct doctor_probe *e);
/* Returns whether the peer's data port answers this host's worker or, if no worker has a path to
 * it, the doctor's own packets. */
bool doctor_peer_answers(const struct doctor_host *p, const struct doctor_probe *e);
/* Returns whether the leg's cable leads to another leg's network. */
bool doctor_is_crossed(const struct doctor_host *p, const char *leg);
/* Returns the NUMA node of a core, or INV_NUMA_NONE. */
int doctor_core_node(const struct doctor_host *p, unsigned core);
/* Reads a list of numbers such as "0-3,8" from a file, and sets set[i] for each number i. Returns 0
 * or negative errno. */
int doctor_read_list(const struct doctor_host *p, bool *set, size_t n, const char *path);
/* Returns whether a process is running whose name in /proc/PID/comm is comm; the kernel cuts such
 * names after 15 characters. */
bool doctor_process_runs(const struct doctor_host *p, const char *comm);
/* A function for the member `run`: fails if the plan has steps to apply that match `about`, such as
 * "sysctl rp_filter". */
void doctor_run_steps(const struct doctor_host *p, const struct doctor_check *c,
		      struct doctor_result *r);

/* ---- doctor_collect.c and doctor_probe.c ---- */

/* Makes the snapshot with the configuration in `file`. If `file` is NULL, uses the running
 * configuration or, if there is none, the files that an agent would read. */
void doctor_collect(const struct ctl_args *a, const char *file, struct doctor_host *ret);
/* Like doctor_collect(), but the snapshot has only the host's inventory, the answers of the agent,
 * the configuration and the plan. It lacks what the other checks need: the results of probes, and
 * the state of the clock, the queues, the folders and the kernel's UDP segmentation. */
void doctor_collect_plan(const struct ctl_args *a, const char *file, struct doctor_host *ret);
/* Chooses the probes to send: fills p->probes, or p->no_probes with the reason why there are none.
 * doctor_send_probes() sends them (doctor_probe.c). */
void doctor_find_probes(struct doctor_host *p);
/* Returns whether p->peer is in the configuration, has a session, or is an address. */
bool doctor_knows_peer(const struct doctor_host *p);
void doctor_send_probes(struct doctor_host *p);
/* Asks for addresses by ARP and neighbour discovery (doctor_wiring.c). Call after the probes. */
void doctor_send_arps(struct doctor_host *p);
void doctor_host_done(struct doctor_host *p);

/* Has the agent of another host run the doctor there, and prints the report. Returns the exit
 * status. In doctor_remote.c. */
int doctor_ask(const struct ctl_args *a);

#endif
