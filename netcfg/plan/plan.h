/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan: the difference between the desired and the actual host as ordered steps, each with its
 * reason, and the workers that run once the steps are done. Planning is pure: the same spec,
 * inventory and context give the same plan, and planning neither reads nor changes the host.
 * `plenum plan` prints it.
 *
 * The planner of each mode of `ha` (planner.h) defines what the mode means. A program registers the
 * planners once, before its first plan, with plugins_register() of plugins/plugins.h.
 */
#ifndef PLENUM_NETCFG_PLAN_H
#define PLENUM_NETCFG_PLAN_H

#include "netcfg/base/reason.h"
#include "netcfg/host/inventory.h"
#include "netcfg/host/kernel.h"
#include "netcfg/object/plan_step.h"
#include "netcfg/spec/spec.h"
#include <jansson.h>

/* Leg i has its routes in table 7000 + i. If another program uses that table, the plan adds a
 * multiple of 64. */
#define PLAN_TABLE_FIRST 7000
#define PLAN_TABLE_STRIDE 64
#define PLAN_RULE_PRIORITY 7000
/* metric of the unreachable route, the last route of the table */
#define PLAN_UNREACHABLE_METRIC 7000

/* Minimum number of 2 MiB hugepages for a DPDK worker; ports with large MTUs need more. */
#define PLAN_HUGEPAGES_PER_WORKER 32
#define PLAN_HUGEPAGE_KIB 2048

enum plan_kernel_port {
	PLAN_AF_PACKET,
	PLAN_AF_XDP,
};

struct plan_port { /* a port: the packet I/O of one worker on one leg */
	char leg[PLENUM_NAME_MAX], label[PLENUM_NAME_MAX];
	char ifname[IFNAMSIZ], pci[16];
	/* The worker's own VF on this leg, such as "PF/vfN": `pci` is the VF's address ("" until
	 * the VF exists) and `mac` its MAC address. "": the worker has no VF here. */
	char vf[KERNEL_LINK_REF_MAX];
	uint32_t ifindex, mtu;
	struct ip_prefix ip;
	struct ip_addr gateway;
	struct mac_addr mac;
	bool shared;	   /* the IP is the host's own; the UDP port distinguishes the worker */
	bool kernel_owned; /* the worker uses DPDK on an interface that the kernel keeps */
	enum plan_kernel_port kernel_port; /* how DPDK accesses the interface that the kernel
					      keeps */
	/* RDMA may carry bulk data if an RDMA device has the port's IP */
	bool rdma;
	bool rdma_asked;     /* the configuration asks for RDMA */
	bool rdma_only;	     /* bulk data of mounts wait until RDMA works */
	uint8_t udp_sources; /* count of UDP source ports */
	/* active-backup: the IP belongs to the worker's first port, and this port carries data
	 * while the first port cannot */
	bool stands_by;
};

#define PLAN_PORTS_MAX PLENUM_LEGS_MAX
#define PLAN_DEVICE_MAX 18 /* a MAC or PCI address and the NUL */

struct plan_worker {
	/* ID of the worker, from 1. The ID stays with the core (plan_worker_ids.h), and a new
	 * worker gets the lowest free ID */
	uint32_t id;
	enum spec_role role;
	unsigned core;
	/* core from which this plan moves the worker; equal to `core` if the plan does not move the
	 * worker */
	unsigned was_core;
	enum spec_transport asked, effective; /* effective is never auto */
	/* The transport for which the worker reserves VFs: the transport that the spec names or,
	 * with transport: auto, the accepted transport (transport_choice.h) or the transport to
	 * which this plan moves the worker. With SPEC_TRANSPORT_UDP, the worker reserves no VFs. */
	enum spec_transport claim;
	/* auto: this plan moves the worker to a transport that no apply has accepted yet */
	bool moves;
	bool lost; /* auto: a VF or transport that an apply has accepted is unavailable */
	/* The number of the worker's VF on plan.legs[i], plus one, even if the worker cannot use
	 * that VF now. 0: the worker has no VF on the leg. */
	uint16_t vf[PLAN_PORTS_MAX + 1];
	/* Why `effective` is worse than `asked` or than the best that the host allows, which legs
	 * are missing, or why the worker cannot start. plenumd(8) lists the codes. */
	struct reason reason;
	/* the reason is about legs, not about the transport. With transport: auto, a reason about
	 * legs needs action, but a reason about the transport does not (plan_worker_is_content) */
	bool is_of_legs;
	/* Count of 2 MiB hugepages that the requested transport needs; 0 if it uses no DPDK memory,
	 * because it uses sockets or has AF_XDP ports on all legs. */
	unsigned hugepages;
	/* the host does not have the worker's core, so the worker has no ports and does not run */
	bool no_core;
	char note[64]; /* information that needs no action, such as "idle"; "": none */
	uint16_t udp_port;
	struct plan_port ports[PLAN_PORTS_MAX]; /* the worker's ports on configured legs */
	size_t n_ports;
	/* the worker's data IPs on all legs, whether the legs are available or not */
	struct ip_addr ips[PLAN_PORTS_MAX];
	size_t n_ips;
	/* The mounts of this worker, borrowed from the spec. An entry's mounts are assigned to its
	 * cores in turn. A core without a mount becomes a mount worker, which serves requests for a
	 * mount of another core. Each core serves all exports. */
	const struct spec_mount **mounts;
	size_t n_mounts;
	/* the mount whose data this mount worker carries; NULL: the worker is not a mount worker */
	const struct spec_mount *shared_mount;
	unsigned mount_worker;	/* index of the mount worker, from 1 */
	bool has_mount_workers; /* other cores of the entry are mount workers of this worker's
				   mount */
	const struct spec_export *exports;
	size_t n_exports;
	uint32_t sessions; /* maximum number of sessions; 0: not configured */
};

/* Returns whether the reason is a property of this host and build that needs no action, such as a
 * device without VFs. Users see it as a note. */
bool plan_reason_is_note(const struct reason *r);
/* Returns whether the worker needs no action. With transport: auto, any reason for not having a
 * better transport than the accepted one is only a note. */
bool plan_worker_is_content(const struct plan_worker *w);

/* What an apply does besides the steps: it starts, stops or restarts workers, makes or removes
 * mounts, and changes exports. The agent adds the actions; plan_build adds none. */
struct plan_action {
	char text[200];	  /* the action, such as "restart worker 2 (frontend on core 3)" */
	char reason[160]; /* one sentence */
	bool disruptive;
};

/* A change that the configuration needs and only the operator can make, often with a reboot.
 * `command` is a shell command. kernel_args belong on the kernel command line; where that is set
 * depends on the distribution. */
struct plan_need {
	/* iommu, sriov-firmware, vf-resources, hugepages, devlink-reload and others */
	char code[24];
	char why[200];
	char kernel_args[64], command[256], firmware[160]; /* what the operator sets on the
							      kernel command line, runs, and
							      changes in the firmware; "": not
							      needed */
	bool reboot;
};

/* Texts of actions, for the agent and plan_actions_start. Their arguments are: id, role, core;
 * peer, export, path; name, path, " read-only" or "". */
#define PLAN_ACTION_START "start worker %u (%s on core %u)"
#define PLAN_ACTION_MOUNT "mount %.50s:%.50s on %.80s"
#define PLAN_ACTION_EXPORT "export %.60s (%.100s)%s"

enum plan_leg_state {
	PLAN_LEG_USABLE,
	PLAN_LEG_DEGRADED, /* carries data, but lacks something that the configuration asks for */
	PLAN_LEG_ABSENT,   /* the leg's device is missing or not ready yet */
	PLAN_LEG_REFUSED,  /* Plenum must not change the leg's device */
	PLAN_LEG_DISABLED, /* the configuration disables the leg, which is not a fault */
	PLAN_LEG_STATE_MAX
};
const char *plan_leg_state_to_string(enum plan_leg_state s);

/* A data device of the spec and its state. The plan configures usable and degraded legs, and
 * ignores all other legs. A missing device is not an error of the plan. */
struct plan_leg_info {
	char name[PLENUM_NAME_MAX], device[PLENUM_NAME_MAX]; /* name and device, as written in
								the spec */
	/* how the device was selected, such as "driver mlx5_core"; "": the spec names it. Then
	 * `device` is the name of the selected interface, or "". */
	char match[SPEC_MATCH_TEXT_MAX];
	/* identity of the device that match selected, for the record (transport_choice.h); "": none
	 */
	char selected[PLAN_DEVICE_MAX];
	char network[PLENUM_NAME_MAX], label[PLENUM_NAME_MAX];
	/* the bond whose port this device is; such a leg has no addresses. "": the device is not a
	 * port of a bond */
	char bond[IFNAMSIZ];
	char ifname[IFNAMSIZ]; /* the interface of the device; "": the device is missing */
	uint32_t ifindex;      /* ifindex of the device; 0: the device is missing */
	/* Identifies the device in later plans: the device's permanent MAC address. If the device
	 * has no such address, the device's PCI address. Set only for configured legs. */
	char identity[PLAN_DEVICE_MAX];
	enum plan_leg_state state;
	struct reason reason; /* why the leg is not usable */
	/* A rule of another program that precedes the agent's rules and applies to packets of the
	 * leg with this firewall mark. The inventory does not show whether any packets have the
	 * mark. mark 0: no such rule exists. */
	uint32_t mark, mark_rule;
};

static inline bool plan_leg_is_configured(const struct plan_leg_info *leg)
{
	return leg->state == PLAN_LEG_USABLE || leg->state == PLAN_LEG_DEGRADED;
}

struct plan {
	char host[PLENUM_NAME_MAX];
	uint64_t inventory_number;
	/* One entry for each data device, in the order of the spec. If the devices form a bond, its
	 * entry comes first. */
	struct plan_leg_info legs[PLAN_PORTS_MAX + 1];
	size_t n_legs;
	/* active-backup without a bond: each worker has one address for all legs, and the first leg
	 * with a carrier carries it. A leg that has recovered is used again after hold_s seconds. 0
	 * if each leg has its own addresses. */
	uint32_t hold_s;
	struct plan_step *steps;
	size_t n_steps;
	/* Entries to remove from the record of owned values without a step, because the value has
	 * disappeared or another program changed it. */
	struct plan_step *disowned;
	size_t n_disowned;
	/* Count of values that cannot be restored before running workers release their devices
	 * (plan_context.held). */
	size_t n_deferred;
	/* count of workers with transport: auto that this plan moves to a new transport */
	size_t n_moves;
	struct plan_need *needs; /* changes that only the operator can make, each listed once */
	size_t n_needs;
	/* Desired values whose changes the kernel does not announce, so that plan_has_drifted polls
	 * them. */
	struct plan_step *unannounced;
	size_t n_unannounced;
	/* The kernel is still removing an object that a later plan will create again. */
	bool waits;
	char *record;		     /* path of the record of owned values; NULL: none is kept */
	struct plan_action *actions; /* the actions in the order of execution; they follow the
					steps */
	size_t n_actions;
	struct plan_worker *workers;
	size_t n_workers;
};

/* A worker that failed to start with DPDK. Plans choose UDP for this worker and name the cause. */
struct plan_failure {
	/* id of the worker. The plan also compares core and asked, because another worker may have
	 * this id now. */
	uint32_t worker;
	unsigned core;
	enum spec_transport asked;
	char why[256]; /* text of the worker, which may name each leg */
};

/* The kernel failed to create n VFs of that PF. Plans use fewer VFs and name the cause. */
struct plan_refusal {
	char pf[16];
	uint32_t n;
	char why[64]; /* text of the kernel's error */
};

/* Attempts that failed since the last reboot. Plans do not repeat these attempts until the operator
 * asks for it. The agent owns the list. */
struct plan_failures {
	struct plan_failure *entries;
	size_t n;
	struct plan_refusal *refusals;
	size_t n_refusals;
};
/* Records that worker w failed to start with DPDK; a new cause replaces an earlier one. Returns 0
 * or -ENOMEM. */
int plan_failures_add(struct plan_failures *f, const struct plan_worker *w, const char *why);
/* Returns the borrowed entry, or NULL if this worker has not failed. f may be NULL. */
const struct plan_failure *plan_failures_find(const struct plan_failures *f,
					      const struct plan_worker *w);
/* Record and find the failure to create n VFs of that PF, in the same way. */
int plan_failures_add_vfs(struct plan_failures *f, const char *pf, uint32_t n, const char *why);
const struct plan_refusal *plan_failures_find_vfs(const struct plan_failures *f, const char *pf,
						  uint32_t n);
void plan_failures_clear(struct plan_failures *f);
/*
 * Store the failed attempts for the next agent process of this boot, in a record file
 * (state_file.h) of the kind "attempts". Its lines are "dpdk WORKER CORE ASKED WHY" and "vfs PF N
 * WHY". plan_failures_load returns 0, also if the file does not exist or is from an earlier boot,
 * or negative errno (enum state_error) with an empty list. plan_failures_save returns 0 or negative
 * errno; it removes the file if the list is empty.
 */
int plan_failures_load(struct plan_failures *f, const char *path);
int plan_failures_save(const struct plan_failures *f, const char *path);

struct transport_choice;
struct plan_owned;
struct plan_worker_ids;
struct plan_conflicts;
struct plan_pools;

/* Inputs of a plan besides spec and inventory. All pointers are borrowed and may be NULL. */
struct plan_context {
	/* The plan in force. The hugepages of its DPDK workers count as free, because the workers
	 * of the new plan will use them. Otherwise a new plan would find too few free hugepages
	 * just because the same workers already run. */
	const struct plan *running;
	/* If the plan in force is unknown, as after an agent restart: the number of 2 MiB hugepages
	 * of workers that the previous agent started, which count as free too. */
	uint64_t held_hugepages;
	/* workers and VF counts that the plan does not try again */
	const struct plan_failures *failures;
	/* Values that earlier applies changed (plan_owned.h). If NULL, the plan restores no values
	 * and records none. */
	const struct plan_owned *owned;
	const struct plan_worker_ids *worker_ids; /* worker id of each core; NULL: none */
	/* Accepted transports of workers with transport: auto, and the VF of each worker
	 * (transport_choice.h). */
	const struct transport_choice *accepted;
	/* true: an operator requested this apply and can undo it, so workers with transport: auto
	 * move to the best available transport, and a leg whose device does not match any more
	 * moves to the device that does. false: they keep the accepted transport and device. */
	bool may_move;
	/* No operator will confirm the apply. So only the workers on the cores in `answered_cores`
	 * may move, because an answer of their peer can verify that they still work. */
	bool needs_verified_peer;
	const unsigned *answered_cores; /* cores whose workers have a reachable peer */
	size_t n_answered_cores;
	/* PFs whose VFs the apply in progress created. The record of owned values does not list
	 * them yet. */
	const char (*made)[16];
	size_t n_made;
	/* Data IPs that other hosts use, which the plan assigns to no worker (plan_conflict.h). */
	const struct plan_conflicts *conflicts;
	/* The addresses of the cluster's pools that this host owns (plan_pools.h). */
	const struct plan_pools *pools;
	/* The spec is not in force yet. The plan refuses it if this host owns too few addresses of
	 * a leg's pool for the workers that have addresses on the leg now. */
	bool needs_pools;
	/* PCI addresses of functions that running workers have opened. The plan leaves these
	 * functions as they are; a later plan changes them (plan.n_deferred). */
	const char (*held)[16];
	size_t n_held;
	/* Names given to --force: an interface that the plan may disturb although the host depends
	 * on it, or the code of one such dependency (plan_guard.h). */
	const char (*forced)[PLENUM_NAME_MAX];
	size_t n_forced;
};
#define PLAN_FORCED_MAX 8
/* a name for --force that skips the check of reachability after an apply */
#define PLAN_FORCE_PROBES "probes"
/* a name for --force that applies although programs use a mount that ends */
#define PLAN_FORCE_MOUNTS "mounts"

/* Adds errors to d for everything in the spec that this build cannot plan on any host. Used to
 * check a file without a host. Returns 0 or -EINVAL. */
int plan_check(const struct spec *spec, struct diag *d);
/* Makes the plan. Returns 0 and *ret, -EINVAL with every contradiction between spec and host in d,
 * or -ENOMEM. *ret borrows from spec, which must outlive the plan. ctx NULL: nothing runs on the
 * host yet. */
int plan_build(const struct spec *spec, const struct inventory *inv, const struct plan_context *ctx,
	       struct diag *d, struct plan **ret);
/* Sets the ifindex of legs and ports, and the PCI address of ports on VFs, which exist only after
 * the steps, from an inventory that was collected after them. */
void plan_resolve(struct plan *p, const struct inventory *inv);
/* Returns a worker's port on the leg, if possible one whose address the kernel has, or NULL if
 * there is none. *ret_owned: the kernel has the address; otherwise the worker answers for it, and
 * no socket of the kernel must take packets for it. */
const struct plan_port *plan_port_on(const struct plan *p, const struct inventory *inv,
				     const char *leg, bool *ret_owned);
struct plan *plan_free(struct plan *p); /* accepts NULL, returns NULL */
/* Appends a zeroed action to the plan and returns it, or returns NULL if out of memory. */
struct plan_action *plan_action_add(struct plan *p);
/* Adds an operator action, unless the plan already has one with this code and text, and returns it.
 * Returns NULL if out of memory; the plan is then valid but lacks that advice. */
struct plan_need *plan_need_add(struct plan *p, const char *code, const char *fmt, ...)
	PLENUM_PRINTF(3, 4);
/* Appends an action with its reason. Returns 0 or -ENOMEM. */
int plan_action_say(struct plan *p, bool disruptive, const char *reason, const char *fmt, ...)
	PLENUM_PRINTF(4, 5);
/* Adds the actions of an apply on a host on which no workers, mounts and exports exist yet. Returns
 * 0 or -ENOMEM. */
int plan_actions_start(struct plan *p, const char *reason);
/* Returns the plan as JSON with all that `plenum plan` shows, as a new reference: {"host",
 * "inventory", "legs": [...], "steps": [...], "actions": [...], "workers": [...]}. Returns NULL if
 * out of memory. */
json_t *plan_to_object(const struct plan *p);
/* Returns the same JSON as text on the heap, which the caller frees, or NULL if out of memory. */
char *plan_to_json(const struct plan *p);
/* Formats a plan in JSON as text for operators: numbered steps and actions with their reasons, then
 * the workers. Lines are wrapped at `width` characters. The JSON may be invalid in any way. Returns
 * a heap string, which the caller frees, or NULL if out of memory. */
char *plan_object_to_text(const json_t *plan, size_t width);
char *plan_to_text(const struct plan *p); /* formats p in the same way, without wrapping */
/* Returns whether a new plan is needed: a value in p->unannounced has changed, or p waits for the
 * kernel. The function reads only these values, each from few files. */
bool plan_has_drifted(struct kernel *k, const struct plan *p);
/* Writes a text such as "set leg-a (veth0) mtu 9000 (was 1500)" into buf; returns buf. */
const char *plan_step_describe(const struct plan_step *s, char *buf, size_t size);
/* Describes the change by another program that the step repairs, such as "the mtu of leg-a (veth0)
 * was set to 1400 (9000 is wanted)". */
const char *plan_step_describe_undone(const struct plan_step *s, char *buf, size_t size);

#endif
