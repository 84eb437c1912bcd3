/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The difference between what is wanted and what is there, as ordered steps, each with its reason;
 * and the workers that shall run once it is done. Pure: the same spec and inventory
 * give the same plan, and nothing is read or changed. `plenum plan` prints exactly this.
 *
 * What a mode of `ha` means is said by its planner (planner.h); a program makes the planners known
 * once, before its first plan, by plugins_register() of plugins/plugins.h.
 */
#ifndef PLENUM_NETCFG_PLAN_H
#define PLENUM_NETCFG_PLAN_H

#include "netcfg/base/reason.h"
#include "netcfg/host/inventory.h"
#include "netcfg/host/kernel.h"
#include "netcfg/spec/spec.h"
#include <jansson.h>

/* Leg i's routes live in table 7000 + i, or that plus a multiple of 64 where others use it. */
#define PLAN_TABLE_FIRST 7000
#define PLAN_TABLE_STRIDE 64
#define PLAN_RULE_PRIORITY 7000
#define PLAN_UNREACHABLE_METRIC 7000 /* of the table's last route, which leads nowhere */

/* What one DPDK worker takes of the host's 2 MiB hugepages, or more where its ports take more. */
#define PLAN_HUGEPAGES_PER_WORKER 32
#define PLAN_HUGEPAGE_KIB 2048

enum plan_verb {
	PLAN_ADD,
	PLAN_DEL,
	PLAN_SET,
	PLAN_RESTORE, /* sets what was found before we first set it */
	PLAN_VERB_MAX
};

struct object_kind; /* object.h */

struct plan_step {
	const struct object_kind *kind;
	enum plan_verb verb;
	unsigned phase;			/* enum object_phase */
	char leg[PLENUM_NAME_MAX];	/* what it is for; "": the host */
	char ifname[IFNAMSIZ];		/* the interface that it is about; "": none */
	char link[KERNEL_LINK_REF_MAX]; /* the link that it is done on, found anew when it runs */
	/* What the kernel is asked for. ifindex and old value are those seen when it was planned;
	 * what counts is captured when it runs. */
	struct kernel_change change;
	char reason[160]; /* why, in a sentence */
	bool disruptive;  /* traffic may stop: commit-confirm arms */
};

enum plan_kernel_port {
	PLAN_AF_PACKET,
	PLAN_AF_XDP,
};

struct plan_port { /* one leg of one worker */
	char leg[PLENUM_NAME_MAX], label[PLENUM_NAME_MAX];
	char ifname[IFNAMSIZ], pci[16];
	/* The VF that is the worker's alone, by its PF: pci is its address, "" until it is made,
	 * and mac its own. "": it has none. */
	char vf[KERNEL_LINK_REF_MAX];
	uint32_t ifindex, mtu;
	struct ip_prefix ip;
	struct ip_addr gateway;
	struct mac_addr mac;
	bool shared;	   /* the IP is the host's; the worker's port tells it from the others */
	bool kernel_owned; /* DPDK on a kernel interface */
	enum plan_kernel_port kernel_port; /* and how */
	bool rdma;			   /* bulk data may go by an RDMA device that has the IP */
	bool rdma_asked;		   /* and are expected to */
	bool rdma_only;	     /* and such data of the host's mounts wait until they do */
	uint8_t udp_sources; /* UDP ports that it sends from */
	uint8_t roce;	     /* the version of RoCE that is asked for; 0: none */
	bool stands_by;	     /* the IP is that of the first port, which carries while it can */
};

#define PLAN_PORTS_MAX PLENUM_LEGS_MAX
#define PLAN_DEVICE_MAX 18 /* a MAC or a PCI address, with a NUL */

struct plan_worker {
	uint32_t id; /* from 1; stays with the core (plan_worker_ids.h), a new one's is the lowest
		      * that is free */
	enum spec_role role;
	unsigned core;
	enum spec_transport asked, effective; /* effective is never auto */
	/* What VFs are kept for it for: the transport that it asks for by name or, under auto, was
	 * agreed to (transport_choice.h) or is taken to by this plan; SPEC_TRANSPORT_UDP: none are.
	 */
	enum spec_transport claim;
	bool moves; /* auto: this plan takes it to what nobody has agreed to yet */
	bool lost;  /* auto: it does without something that was agreed to */
	/* The VF that is its own on plan.legs[i], whether it uses it or not: its number plus one;
	 * 0: none. */
	uint16_t vf[PLAN_PORTS_MAX + 1];
	/* Why effective is less than asked or possible (no-vf, vf-unused, kernel-interface,
	 * no-af-xdp, no-iommu, no-witness, vf-limit, vfs-foreign, vfs-busy, no-hugepages,
	 * dpdk-failed), which
	 * legs it does without (leg-missing), or why it cannot be started (no-leg). */
	struct reason reason;
	bool is_of_legs; /* the reason is: it counts under auto, too */
	/* Of 2 MiB, that it needs for the transport it asked for; 0 where that is not DPDK's
	 * memory: sockets, or a port by AF_XDP on each leg. */
	unsigned hugepages;
	char note[64]; /* what else an operator should know, e.g. that it serves nothing; "" */
	uint16_t udp_port;
	struct plan_port ports[PLAN_PORTS_MAX]; /* on the legs that are configured */
	size_t n_ports;
	struct ip_addr ips[PLAN_PORTS_MAX]; /* on all legs, there or not */
	size_t n_ips;
	/* Borrowed from the spec: those this worker serves. Mounts are dealt to the entry's cores
	 * in turn; a core that is left carries data of one, by a lane of its own. Exports are every
	 * core's. */
	const struct spec_mount **mounts;
	size_t n_mounts;
	const struct spec_mount *lane_of; /* NULL: none */
	unsigned lane;			  /* from 1 */
	bool has_lanes;			  /* others of the entry carry data of its mount */
	const struct spec_export *exports;
	size_t n_exports;
	uint32_t sessions; /* at most; 0: not given */
};

/* Whether a worker's reason is a fact of this host and build that nobody is to do anything about,
 * such as a device without VFs: a note beside its reasons. */
bool plan_reason_is_note(const struct reason *r);
/* The same of a worker: with auto, why it has no better transport than what was agreed to is a note
 * whatever it is. */
bool plan_worker_is_content(const struct plan_worker *w);

/* What an apply does besides the steps: workers that start, stop or restart, mounts that come or
 * go, exports that change. plan_build knows nothing of these; who runs them adds them. */
struct plan_action {
	char text[200];	  /* "restart worker 2 (frontend on core 3)" */
	char reason[160]; /* why, in a sentence */
	bool disruptive;
};

/* What the host lacks for what is asked, and only its operator can give it, most of it by a reboot.
 * `command` is a shell's; kernel_args are for the kernel's command line, which is edited
 * differently on every distribution. */
struct plan_need {
	char code[24]; /* iommu, sriov-firmware, vf-resources, hugepages, devlink-reload ... */
	char why[200];
	char kernel_args[64], command[256], firmware[160]; /* "": nothing of the kind */
	bool reboot;
};

/* The texts that the agent and plan_actions_start share: id, role, core; peer, export, path; name,
 * path, " read-only" or "". */
#define PLAN_ACTION_START "start worker %u (%s on core %u)"
#define PLAN_ACTION_MOUNT "mount %.50s:%.50s on %.80s"
#define PLAN_ACTION_EXPORT "export %.60s (%.100s)%s"

enum plan_leg_state {
	PLAN_LEG_USABLE,
	PLAN_LEG_DEGRADED, /* carries data, but less than asked for */
	PLAN_LEG_ABSENT,   /* its device is not there, or not ready yet */
	PLAN_LEG_REFUSED,  /* its device must not be touched */
	PLAN_LEG_DISABLED, /* it is not wanted: all is well without it */
	PLAN_LEG_STATE_MAX
};
const char *plan_leg_state_to_string(enum plan_leg_state s);

/* What became of one data device of the spec. The plan configures what is usable or degraded and
 * leaves the rest alone; a leg that is missing today is no error. */
struct plan_leg_info {
	char name[PLENUM_NAME_MAX], device[PLENUM_NAME_MAX]; /* as the spec has them */
	char network[PLENUM_NAME_MAX], label[PLENUM_NAME_MAX];
	char bond[IFNAMSIZ];   /* it is a port of that leg, and has no addresses; "": it is not */
	char ifname[IFNAMSIZ]; /* "": no such device */
	uint32_t ifindex;      /* 0: no such device */
	/* By which the device is known again: its maker's MAC, else its PCI address; filled where
	 * the leg is configured. */
	char identity[PLAN_DEVICE_MAX];
	enum plan_leg_state state;
	struct reason reason; /* why it is not usable */
};

static inline bool plan_leg_is_configured(const struct plan_leg_info *leg)
{
	return leg->state == PLAN_LEG_USABLE || leg->state == PLAN_LEG_DEGRADED;
}

struct plan {
	char host[PLENUM_NAME_MAX];
	uint64_t inventory_number;
	/* One a data device, in the spec's order; where they are the ports of a bond, that first.
	 */
	struct plan_leg_info legs[PLAN_PORTS_MAX + 1];
	size_t n_legs;
	/* The legs have one address a worker between them; the first that has a link carries it,
	 * and one that is back has to last for hold_s. 0: each leg has its own. */
	uint32_t hold_s;
	struct plan_step *steps;
	size_t n_steps;
	/* What leaves the record of owned values without a step: it is gone, or others have set it.
	 */
	struct plan_step *disowned;
	size_t n_disowned;
	/* How much more is to be given back once workers have let go of it (plan_context.held). */
	size_t n_deferred;
	size_t n_moves;		 /* workers with auto that it takes to what is new to them */
	struct plan_need *needs; /* what only the machine's operator can do, once each */
	size_t n_needs;
	/* Wanted values of whose changes the kernel tells nobody: plan_has_drifted looks at them.
	 */
	struct plan_step *unannounced;
	size_t n_unannounced;
	bool waits;   /* for the kernel, which is removing what is to be made anew after that */
	char *record; /* path of that record, NULL: none is kept */
	struct plan_action *actions; /* in the order in which they are done, after the steps */
	size_t n_actions;
	struct plan_worker *workers;
	size_t n_workers;
};

/* A worker that tried DPDK and could not have it: plans choose UDP for it, and say why. */
struct plan_failure {
	uint32_t worker; /* its id; core and asked make sure that it is still the same */
	unsigned core;
	enum spec_transport asked;
	char why[112];
};

/* The kernel did not make so many VFs of that PF: plans do without, and say why. */
struct plan_refusal {
	char pf[16];
	uint32_t n;
	char why[64];
};

/* What was tried and did not work: not again in this boot, unless somebody asks for another
 * attempt. Owned by who runs the workers. */
struct plan_failures {
	struct plan_failure *entries;
	size_t n;
	struct plan_refusal *refusals;
	size_t n_refusals;
};
/* Notes that worker w failed; a later reason replaces an earlier one. 0, -ENOMEM. */
int plan_failures_add(struct plan_failures *f, const struct plan_worker *w, const char *why);
/* Borrowed; NULL: this worker has not failed. f may be NULL. */
const struct plan_failure *plan_failures_find(const struct plan_failures *f,
					      const struct plan_worker *w);
/* The same of VFs: n of that PF. */
int plan_failures_add_vfs(struct plan_failures *f, const char *pf, uint32_t n, const char *why);
const struct plan_refusal *plan_failures_find_vfs(const struct plan_failures *f, const char *pf,
						  uint32_t n);
void plan_failures_clear(struct plan_failures *f);
/*
 * Kept in a file for the next process of this boot: "plenum-attempts 1 boot ID netns INODE", then
 * lines "dpdk WORKER CORE ASKED WHY" and "vfs PF N WHY". One that is absent, of another boot or
 * cannot be read is empty. save: 0, negative errno; nothing to keep removes the file.
 */
void plan_failures_load(struct plan_failures *f, const char *path);
int plan_failures_save(const struct plan_failures *f, const char *path);

struct transport_choice;
struct plan_owned;
struct plan_worker_ids;
struct plan_conflicts;

/* What besides spec and inventory a plan depends on. Everything is borrowed and may be NULL. */
struct plan_context {
	/* What runs now: the hugepages that its DPDK workers hold count as free for their
	 * successors, else a second plan would differ from the first for no reason but the first.
	 */
	const struct plan *running;
	/* Where that is not known, as right after a start of the agent: the 2 MiB pages of the
	 * workers that an earlier agent has started. */
	uint64_t held_hugepages;
	const struct plan_failures *failures; /* these do not get DPDK again */
	/* What earlier applies changed (plan_owned.h); NULL: nothing is given back or recorded. */
	const struct plan_owned *owned;
	const struct plan_worker_ids *places; /* which worker is on which core; NULL: on none */
	/* Which workers with auto were taken to VFs, and whose VFs are which (transport_choice.h).
	 */
	const struct transport_choice *agreed;
	/* Somebody asks for this apply and can undo it: workers with auto are taken to the best
	 * that can be had. Else they stay what was agreed. */
	bool may_move;
	/* Nobody is to confirm it: only those are taken on whose cores a worker runs that somebody
	 * answers, who can tell whether it still does. */
	bool by_witness;
	const unsigned *witnessed; /* these cores */
	size_t n_witnessed;
	/* PFs whose VFs an apply has made that is under way: the record does not know of them yet.
	 */
	const char (*made)[16];
	size_t n_made;
	/* Data IPs that other hosts have: no worker gets them (plan_conflict.h). */
	const struct plan_conflicts *conflicts;
	/* The PCI functions that living workers have open, by address. Nothing is taken from under
	 * them: what would be is left for a later plan (plan.n_deferred). */
	const char (*held)[16];
	size_t n_held;
	/* What an operator has taken upon himself, by name: the interface whose dependents may be
	 * cut off, or one such dependency (plan_guard.h). */
	const char (*forced)[PLENUM_NAME_MAX];
	size_t n_forced;
};
#define PLAN_FORCED_MAX 8

/* What no host of this build could be planned for, into d: for those who check a file without a
 * host. 0, -EINVAL. */
int plan_check(const struct spec *spec, struct diag *d);
/* 0 and *ret (borrows from spec: spec outlives it); -EINVAL with every contradiction between spec
 * and host in d; -ENOMEM. ctx NULL: a host where nothing runs. */
int plan_build(const struct spec *spec, const struct inventory *inv, const struct plan_context *ctx,
	       struct diag *d, struct plan **ret);
/* Fills in what only the steps have made, from an inventory taken after them: the indexes of links,
 * VFs' addresses. */
void plan_resolve(struct plan *p, const struct inventory *inv);
struct plan *plan_free(struct plan *p); /* accepts NULL, returns NULL */
/* A zeroed action at the end of the plan; NULL: no memory. */
struct plan_action *plan_action_add(struct plan *p);
/* The need of that code and reason, made where it is not there; NULL: no memory, which only loses
 * advice. */
struct plan_need *plan_need_add(struct plan *p, const char *code, const char *fmt, ...)
	PLENUM_PRINTF(3, 4);
/* An action with its reason. 0, -ENOMEM. */
int plan_action_say(struct plan *p, bool disruptive, const char *reason, const char *fmt, ...)
	PLENUM_PRINTF(4, 5);
/* What happens to workers, mounts and exports where none of them is there. 0, -ENOMEM. */
int plan_actions_start(struct plan *p, const char *reason);
/* {"host", "inventory", "legs": [...], "steps": [...], "actions": [...], "workers": [...]}: all
 * that is shown of a plan, a new reference; NULL: no memory. */
json_t *plan_to_object(const struct plan *p);
/* The same as text; heap, caller frees; NULL: no memory. */
char *plan_to_json(const struct plan *p);
/* Numbered steps and actions with their reasons, then the workers, from a plan of any shape; lines
 * are broken at `width` characters. Heap, caller frees; NULL: no memory. */
char *plan_object_to_text(const json_t *plan, size_t width);
char *plan_to_text(const struct plan *p); /* without a width */
/* Whether another plan is worth it: one of p->unannounced is no longer as p wants it, or p waits
 * for the kernel. Reads those alone: a few files each. */
bool plan_has_drifted(struct kernel *k, const struct plan *p);
/* "set leg-a (veth0) mtu 9000 (was 1500)", into buf; returns buf. */
const char *plan_step_describe(const struct plan_step *s, char *buf, size_t size);
/* The same of a step that sets right what somebody else has changed, as what they did: "the mtu of
 * leg-a (veth0) was set to 1400 (9000 is wanted)". */
const char *plan_step_describe_undone(const struct plan_step *s, char *buf, size_t size);

#endif
