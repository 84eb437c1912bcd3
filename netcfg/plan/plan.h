/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan: the difference between the desired and the actual host as ordered steps, each with its
 * reason, and the workers that run once the steps are done. Planning is pure: the same spec and
 * inventory give the same plan, and planning neither reads nor changes the host. `plenum plan`
 * prints exactly this.
 *
 * The planner of each mode of `ha` (planner.h) defines what the mode means. A program registers
 * the planners once, before its first plan, with plugins_register() of plugins/plugins.h.
 */
#ifndef PLENUM_NETCFG_PLAN_H
#define PLENUM_NETCFG_PLAN_H

#include "netcfg/base/reason.h"
#include "netcfg/host/inventory.h"
#include "netcfg/host/kernel.h"
#include "netcfg/object/plan_step.h"
#include "netcfg/spec/spec.h"
#include <jansson.h>

/* Leg i's routes live in table 7000 + i. If another program uses that table, a multiple of 64 is
 * added. */
#define PLAN_TABLE_FIRST 7000
#define PLAN_TABLE_STRIDE 64
#define PLAN_RULE_PRIORITY 7000
#define PLAN_UNREACHABLE_METRIC 7000 /* of the table's last route, which is unreachable */

/* Minimum 2 MiB hugepages of one DPDK worker; ports with large MTUs need more. */
#define PLAN_HUGEPAGES_PER_WORKER 32
#define PLAN_HUGEPAGE_KIB 2048

enum plan_kernel_port {
	PLAN_AF_PACKET,
	PLAN_AF_XDP,
};

struct plan_port { /* one leg of one worker */
	char leg[PLENUM_NAME_MAX], label[PLENUM_NAME_MAX];
	char ifname[IFNAMSIZ], pci[16];
	/* The worker's own VF, as "PF/vfN": pci is its address ("" until the VF exists) and mac
	 * its MAC. "": the worker has no VF here. */
	char vf[KERNEL_LINK_REF_MAX];
	uint32_t ifindex, mtu;
	struct ip_prefix ip;
	struct ip_addr gateway;
	struct mac_addr mac;
	bool shared;	   /* the IP is the host's; the UDP port identifies the worker */
	bool kernel_owned; /* DPDK on a kernel interface */
	enum plan_kernel_port kernel_port; /* the kind of kernel interface access */
	bool rdma;			   /* bulk data may use an RDMA device that has this IP */
	bool rdma_asked;		   /* the configuration asks for RDMA */
	bool rdma_only;			   /* bulk data of mounts wait until RDMA works */
	uint8_t udp_sources;		   /* number of UDP source ports */
	bool stands_by; /* standby: the IP belongs to the first port, which carries data while it
			   can */
};

#define PLAN_PORTS_MAX PLENUM_LEGS_MAX
#define PLAN_DEVICE_MAX 18 /* a MAC or a PCI address, with a NUL */

struct plan_worker {
	uint32_t id; /* from 1; stays with the core (plan_worker_ids.h); a new worker gets the
			lowest free id */
	enum spec_role role;
	unsigned core;
	enum spec_transport asked, effective; /* effective is never auto */
	/* The transport that the worker reserves VFs for: the transport named in the spec or,
	 * under auto, the accepted one (transport_choice.h) or the one that this plan moves it to.
	 * SPEC_TRANSPORT_UDP: it reserves none. */
	enum spec_transport claim;
	bool moves; /* auto: this plan moves it to a transport that no apply has accepted yet */
	bool lost;  /* auto: an accepted VF or transport is unavailable */
	/* Number of its VF on plan.legs[i] plus one, whether it uses the VF or not; 0: none. */
	uint16_t vf[PLAN_PORTS_MAX + 1];
	/* Why effective is less than asked or possible (no-vf, vf-unused, kernel-interface,
	 * no-af-xdp, no-iommu, no-witness, vf-limit, vfs-foreign, vfs-busy, no-hugepages,
	 * dpdk-failed), which legs are missing (leg-missing), or why the worker cannot start
	 * (no-leg). */
	struct reason reason;
	bool is_of_legs; /* the reason concerns legs, so it also counts under auto */
	/* 2 MiB hugepages needed for the transport asked for; 0 if that transport does not use
	 * DPDK memory: sockets, or AF_XDP ports on each leg. */
	unsigned hugepages;
	bool no_core;  /* the host lacks its core: it has no ports, and does not run */
	char note[64]; /* extra information, such as an idle worker; "" */
	uint16_t udp_port;
	struct plan_port ports[PLAN_PORTS_MAX]; /* on the configured legs */
	size_t n_ports;
	struct ip_addr ips[PLAN_PORTS_MAX]; /* on all legs, available or not */
	size_t n_ips;
	/* Borrowed from the spec: the mounts of this worker. The mounts of an entry are dealt to
	 * its cores in turn; a core without a mount becomes a mount worker of one. All cores
	 * serve all exports. */
	const struct spec_mount **mounts;
	size_t n_mounts;
	const struct spec_mount *shared_mount; /* NULL: none */
	unsigned mount_worker;		       /* from 1 */
	bool has_mount_workers; /* other cores of the entry carry data of its mount */
	const struct spec_export *exports;
	size_t n_exports;
	uint32_t sessions; /* at most; 0: not given */
};

/* Whether the reason is a fact of this host and build that needs no action, such as a device
 * without VFs. Shown as a note. */
bool plan_reason_is_note(const struct reason *r);
/* Whether the worker needs no action. Under auto, any reason for not having a better transport
 * than the accepted one is a note. */
bool plan_worker_is_content(const struct plan_worker *w);

/* What an apply does besides the steps: workers that start, stop or restart, mounts that appear or
 * disappear, exports that change. The agent adds these; plan_build adds none. */
struct plan_action {
	char text[200];	  /* "restart worker 2 (frontend on core 3)" */
	char reason[160]; /* one sentence */
	bool disruptive;
};

/* Something that the configuration needs and only the operator can provide, often with a reboot.
 * `command` is a shell command; kernel_args belong on the kernel command line, whose location
 * depends on the distribution. */
struct plan_need {
	char code[24]; /* iommu, sriov-firmware, vf-resources, hugepages, devlink-reload ... */
	char why[200];
	char kernel_args[64], command[256], firmware[160]; /* "": none */
	bool reboot;
};

/* Texts shared by the agent and plan_actions_start. Arguments: id, role, core; peer, export, path;
 * name, path, " read-only" or "". */
#define PLAN_ACTION_START "start worker %u (%s on core %u)"
#define PLAN_ACTION_MOUNT "mount %.50s:%.50s on %.80s"
#define PLAN_ACTION_EXPORT "export %.60s (%.100s)%s"

enum plan_leg_state {
	PLAN_LEG_USABLE,
	PLAN_LEG_DEGRADED, /* carries data, with less than the configuration asks for */
	PLAN_LEG_ABSENT,   /* its device is missing or not ready yet */
	PLAN_LEG_REFUSED,  /* Plenum must not touch its device */
	PLAN_LEG_DISABLED, /* the configuration disables it; this is not a fault */
	PLAN_LEG_STATE_MAX
};
const char *plan_leg_state_to_string(enum plan_leg_state s);

/* One data device of the spec and its state. The plan configures usable and degraded legs and
 * ignores the others; a missing leg is not an error. */
struct plan_leg_info {
	char name[PLENUM_NAME_MAX], device[PLENUM_NAME_MAX]; /* as the spec has them */
	char network[PLENUM_NAME_MAX], label[PLENUM_NAME_MAX];
	char bond[IFNAMSIZ];   /* the bond leg that it is a port of, without own addresses; "": none
				*/
	char ifname[IFNAMSIZ]; /* "": the device is missing */
	uint32_t ifindex;      /* 0: the device is missing */
	/* Recognizes the device later: its permanent MAC, else its PCI address. Set only for
	 * configured legs. */
	char identity[PLAN_DEVICE_MAX];
	enum plan_leg_state state;
	struct reason reason; /* why it is not usable */
	/* A rule of another program before the agent's, for packets of the leg that have a firewall
	 * mark: whether any have one is not known. mark 0: there is none. */
	uint32_t mark, mark_rule;
};

static inline bool plan_leg_is_configured(const struct plan_leg_info *leg)
{
	return leg->state == PLAN_LEG_USABLE || leg->state == PLAN_LEG_DEGRADED;
}

struct plan {
	char host[PLENUM_NAME_MAX];
	uint64_t inventory_number;
	/* One per data device, in the spec's order; a bond of them comes first. */
	struct plan_leg_info legs[PLAN_PORTS_MAX + 1];
	size_t n_legs;
	/* active-backup without a bond: each worker has one address for all legs; the first leg
	 * with carrier carries it. A recovered leg is used again after hold_s. 0: each leg has its
	 * own addresses. */
	uint32_t hold_s;
	struct plan_step *steps;
	size_t n_steps;
	/* Entries to drop from the record of owned values without a step: the value is gone, or
	 * another program changed it. */
	struct plan_step *disowned;
	size_t n_disowned;
	/* Number of values to restore once running workers release them (plan_context.held). */
	size_t n_deferred;
	size_t n_moves;		 /* workers with auto that this plan moves to a new transport */
	struct plan_need *needs; /* actions only the operator can take, once each */
	size_t n_needs;
	/* Desired values whose changes the kernel does not announce; plan_has_drifted checks them.
	 */
	struct plan_step *unannounced;
	size_t n_unannounced;
	bool waits;   /* the kernel is still removing an object that a later plan recreates */
	char *record; /* path of the record of owned values; NULL: none */
	struct plan_action *actions; /* in execution order, after the steps */
	size_t n_actions;
	struct plan_worker *workers;
	size_t n_workers;
};

/* A worker that failed to start with DPDK: plans choose UDP for it and name the cause. */
struct plan_failure {
	uint32_t worker; /* its id; core and asked confirm that it is the same worker */
	unsigned core;
	enum spec_transport asked;
	char why[256]; /* the worker's text, which may name each leg */
};

/* The kernel failed to create n VFs of that PF: plans use fewer and name the cause. */
struct plan_refusal {
	char pf[16];
	uint32_t n;
	char why[64]; /* the errno's text */
};

/* Attempts that failed during this boot. Plans do not repeat them until the operator asks for
 * another attempt. Owned by the agent. */
struct plan_failures {
	struct plan_failure *entries;
	size_t n;
	struct plan_refusal *refusals;
	size_t n_refusals;
};
/* Records that worker w failed; a later cause replaces an earlier one. 0, -ENOMEM. */
int plan_failures_add(struct plan_failures *f, const struct plan_worker *w, const char *why);
/* Borrowed; NULL: this worker has not failed. f may be NULL. */
const struct plan_failure *plan_failures_find(const struct plan_failures *f,
					      const struct plan_worker *w);
/* The same for n VFs of that PF. */
int plan_failures_add_vfs(struct plan_failures *f, const char *pf, uint32_t n, const char *why);
const struct plan_refusal *plan_failures_find_vfs(const struct plan_failures *f, const char *pf,
						  uint32_t n);
void plan_failures_clear(struct plan_failures *f);
/*
 * Kept for the next agent process of this boot in a record file (state_file.h) of the kind
 * "attempts", with lines "dpdk WORKER CORE ASKED WHY" and "vfs PF N WHY". load: 0, also where there
 * is none of this boot; negative errno (enum state_error) with nothing loaded. save: 0, negative
 * errno; it removes the file if there is nothing to keep.
 */
int plan_failures_load(struct plan_failures *f, const char *path);
int plan_failures_save(const struct plan_failures *f, const char *path);

struct transport_choice;
struct plan_owned;
struct plan_worker_ids;
struct plan_conflicts;

/* Inputs of a plan besides spec and inventory. Everything is borrowed and may be NULL. */
struct plan_context {
	/* The plan in force: hugepages of its DPDK workers count as free for their successors;
	 * otherwise a second plan would differ from the first only because of the first. */
	const struct plan *running;
	/* If unknown, as after an agent restart: the 2 MiB hugepages of workers that the previous
	 * agent started. */
	uint64_t held_hugepages;
	const struct plan_failures *failures; /* these workers and VF counts are not tried again */
	/* Values that earlier applies changed (plan_owned.h); NULL: the plan restores and records
	 * nothing. */
	const struct plan_owned *owned;
	const struct plan_worker_ids *places; /* worker ids per core; NULL: none */
	/* Accepted transports of workers with auto, and the VF of each worker
	 * (transport_choice.h). */
	const struct transport_choice *agreed;
	/* An operator asked for this apply and can undo it, so workers with auto move to the best
	 * available transport. Otherwise they keep the accepted one. */
	bool may_move;
	/* No operator confirms the apply: only workers on the cores below may move, because a
	 * reachable peer can verify that each still works. */
	bool by_witness;
	const unsigned *witnessed; /* cores whose worker has a reachable peer */
	size_t n_witnessed;
	/* PFs whose VFs the apply in progress created; the record does not list them yet. */
	const char (*made)[16];
	size_t n_made;
	/* Data IPs that other hosts use; no worker gets them (plan_conflict.h). */
	const struct plan_conflicts *conflicts;
	/* PCI addresses of functions that running workers have open. The plan takes nothing from
	 * them; a later plan does (plan.n_deferred). */
	const char (*held)[16];
	size_t n_held;
	/* Names given to --force: an interface whose dependents may lose connectivity, or one such
	 * dependency (plan_guard.h). */
	const char (*forced)[PLENUM_NAME_MAX];
	size_t n_forced;
};
#define PLAN_FORCED_MAX 8
#define PLAN_FORCE_PROBES "probes" /* --force: skips the check of reachability after an apply */

/* Reports into d what this build cannot plan on any host, for checking a file without a host. 0,
 * -EINVAL. */
int plan_check(const struct spec *spec, struct diag *d);
/* 0 and *ret (borrows from spec: spec outlives it); -EINVAL with every contradiction between spec
 * and host in d; -ENOMEM. ctx NULL: a host where nothing runs. */
int plan_build(const struct spec *spec, const struct inventory *inv, const struct plan_context *ctx,
	       struct diag *d, struct plan **ret);
/* Fills in values that exist only after the steps (link indexes, VF addresses) from an inventory
 * taken after them. */
void plan_resolve(struct plan *p, const struct inventory *inv);
struct plan *plan_free(struct plan *p); /* accepts NULL, returns NULL */
/* A zeroed action at the end of the plan; NULL: no memory. */
struct plan_action *plan_action_add(struct plan *p);
/* Adds a need unless the plan has one with this code and text. NULL: no memory; only the advice is
 * lost. */
struct plan_need *plan_need_add(struct plan *p, const char *code, const char *fmt, ...)
	PLENUM_PRINTF(3, 4);
/* An action with its reason. 0, -ENOMEM. */
int plan_action_say(struct plan *p, bool disruptive, const char *reason, const char *fmt, ...)
	PLENUM_PRINTF(4, 5);
/* Adds the actions for a host on which no workers, mounts or exports exist yet. 0, -ENOMEM. */
int plan_actions_start(struct plan *p, const char *reason);
/* {"host", "inventory", "legs": [...], "steps": [...], "actions": [...], "workers": [...]}: a new
 * reference with all that `plenum plan` shows; NULL: no memory. */
json_t *plan_to_object(const struct plan *p);
/* The same as text; heap, caller frees; NULL: no memory. */
char *plan_to_json(const struct plan *p);
/* Numbered steps and actions with their reasons, then the workers, from any JSON; wraps lines at
 * `width` characters. Heap, caller frees; NULL: no memory. */
char *plan_object_to_text(const json_t *plan, size_t width);
char *plan_to_text(const struct plan *p); /* without wrapping */
/* Whether a new plan is needed: a value of p->unannounced changed, or p waits for the kernel.
 * Reads only these values: a few files each. */
bool plan_has_drifted(struct kernel *k, const struct plan *p);
/* "set leg-a (veth0) mtu 9000 (was 1500)", into buf; returns buf. */
const char *plan_step_describe(const struct plan_step *s, char *buf, size_t size);
/* Describes the foreign change that the step repairs: "the mtu of leg-a (veth0) was set to 1400
 * (9000 is wanted)". */
const char *plan_step_describe_undone(const struct plan_step *s, char *buf, size_t size);

#endif
