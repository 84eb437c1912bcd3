/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kinds of objects that Plenum plans and changes on a host: one const table per kind, each in
 * its file object_<kind>.c. Everything specific to a kind is in its table, so planning, printing,
 * the journal, applying and rolling back know no kind by name. A new kind is a new file and a line
 * in object_table.c, plus a line in kernel.h if it needs a new kernel request.
 *
 * A step names its link by a stable reference (KERNEL_LINK_REF_MAX) that becomes an ifindex when
 * the step runs, so a step can refer to a link that an earlier step creates.
 */
#ifndef PLENUM_NETCFG_OBJECT_H
#define PLENUM_NETCFG_OBJECT_H

#include "netcfg/base/reason.h"
#include "netcfg/object/plan_step.h"

/*
 * The order of a plan's steps. Links are created and configured before objects on them. Stale
 * rules are removed before stale routes. New addresses are added before stale ones are removed,
 * because the kernel flushes an interface's IPv4 routes with its last address; only addresses that
 * the kernel rejects beside the new ones are removed first. Routes precede the rules that point to
 * them. Values are restored once none of our objects depends on them. Bonds are created and
 * configured without ports; links become ports when they have no addresses of ours any more, and
 * are released before all other steps. The reverse order, used by a rollback, is equally safe.
 */
enum object_phase {
	OBJECT_PHASE_OF_KIND, /* of a desired step: the phase of its kind */
	OBJECT_PHASE_RELEASE, /* ports leave bonds: our addresses on a bond go with it */
	OBJECT_PHASE_BOND,    /* bonds are created before objects on them */
	OBJECT_PHASE_PARENT,  /* parent links: a PF is up before its VFs are created */
	OBJECT_PHASE_MAKE,    /* links: VFs, drivers, VLANs */
	OBJECT_PHASE_SETTING,
	OBJECT_PHASE_LINK,
	OBJECT_PHASE_RULE_DEL,
	OBJECT_PHASE_ROUTE_DEL,
	OBJECT_PHASE_MAKE_WAY,
	OBJECT_PHASE_ADDR,
	OBJECT_PHASE_ADDR_DEL,
	OBJECT_PHASE_ENSLAVE, /* links become ports after our addresses are removed */
	OBJECT_PHASE_ROUTE,
	OBJECT_PHASE_RULE,
	OBJECT_PHASE_LINK_RESTORE,
	OBJECT_PHASE_SETTING_RESTORE,
	OBJECT_PHASE_UNMAKE,
	OBJECT_PHASE_MAX
};

enum object_presence {
	OBJECT_ABSENT,
	OBJECT_PRESENT, /* exactly as desired, but another program made it */
	OBJECT_OURS,
};

/* The planned host as the kinds see it: the inventory, and questions that only the plan can answer.
 * The plan implements it, so that kinds depend on the host alone. */
struct object_view {
	const struct inventory *inv;
	/* Whether Plenum added the address. */
	bool (*addr_is_ours)(const struct object_view *v, const struct inv_addr *a);
	/* True and why if a worker answers for the address itself. */
	bool (*addr_is_workers)(const struct object_view *v, const struct ip_addr *ip,
				struct reason *why);
	/* Whether other programs use a link of ours, so that removing it would cut them off. */
	bool (*link_serves_others)(const struct object_view *v, const struct inv_link *link);
	/* Whether the link belongs to a leg that cannot be configured now; link may be NULL. */
	bool (*link_waits)(const struct object_view *v, const struct inv_link *link);
	/* Whether the configuration has a bond with that name. */
	bool (*bond_is_planned)(const struct object_view *v, const char *name);
	/* Whether a running worker has the function or one of its VFs open; fn may be NULL. */
	bool (*function_is_held)(const struct object_view *v, const struct inv_function *fn);
};

struct object_kind {
	const char *name;    /* one word, used in the journal, the record and JSON */
	enum plan_verb verb; /* of desired steps: PLAN_ADD for objects, PLAN_SET for values */
	/* The record of changes (plan_owned.h) keeps ours: the kernel shows no other trace. */
	bool recorded;
	bool disruptive;  /* changing its value may stop traffic */
	bool on_function; /* its steps change a PCI function, not a link */
	enum object_phase phase[PLAN_VERB_MAX];

	/* Describes the step; where: "leg-a (veth0)" or "host". */
	void (*describe)(const struct plan_step *s, const char *where, char *buf, size_t size);
	/* Describes the foreign change that the step repairs. NULL: the step itself is described.
	 */
	void (*undone)(const struct plan_step *s, const char *where, char *buf, size_t size);
	/* Writes the data that the inverse step needs as words without blanks; returns the length
	 * as snprintf does. parse reads it: 0, -EBADMSG. */
	int (*format)(const struct plan_step *s, char *buf, size_t size);
	int (*parse)(const char *text, struct plan_step *s);
	/* Whether the host has the object or value of the step. */
	enum object_presence (*present)(const struct inventory *inv, const struct plan_step *s);
	/* Whether two steps concern the same object, whatever they do with it. */
	bool (*same)(const struct plan_step *a, const struct plan_step *b);

	/* Only for values: swaps new and old. */
	void (*inverse)(struct plan_step *s);
	/* Whether new and old are equal; for unannounced objects, whether the object exists. */
	bool (*settled)(const struct plan_step *s);
	/* Takes the new value of a later step; the old value stays. */
	void (*follow)(struct plan_step *s, const struct plan_step *later);
	/* The link of s was renamed and the value is found by name. NULL: it is found by the link
	 * itself. */
	void (*rename)(struct plan_step *s, const char *old_name, const char *name);
	/* Whether the kernel does not announce changes of it, and reading it is cheap. NULL:
	 * never. */
	bool (*unannounced)(const struct plan_step *s);
	/* Whether restoring the value would take something from a running worker. NULL: never. */
	bool (*held)(const struct object_view *v, const struct plan_step *s);

	/* Only for objects: the i-th of the kind in the inventory, as the step that removes it. 1:
	 * ours; 0: not ours; -ENOENT: no more. */
	int (*ours)(const struct object_view *v, size_t i, struct plan_step *ret);
	/* Whether the kernel rejects `want` while `have` exists. NULL: never. */
	bool (*in_the_way)(const struct plan_step *have, const struct plan_step *want);
};

/* All kinds: a file and a line each. object_table.c is apart so that a test can link another table.
 */
#define OBJECT_KINDS(X)      \
	X(object_pci)        \
	X(object_vf)         \
	X(object_vlan)       \
	X(object_bond)       \
	X(object_sysctl)     \
	X(object_link)       \
	X(object_addr)       \
	X(object_route)      \
	X(object_rule)       \
	X(object_master)     \
	X(object_bond_value) \
	X(object_rxe)        \
	X(object_device)     \
	X(object_devlink)
#define OBJECT_KIND(name) extern const struct object_kind name;
OBJECT_KINDS(OBJECT_KIND)

extern const struct object_kind *const object_kinds[];
extern const size_t object_kinds_n;

/* "addr-add" */
const char *object_op(const struct plan_step *s, char *buf, size_t size);
/* "addr-add veth0 10.10.1.10/16 112", without a newline. Its length; -EINVAL: it does not fit. */
int object_format(const struct plan_step *s, char *buf, size_t size);
/* 0; -EBADMSG. */
int object_parse(const char *text, struct plan_step *s);
/* For `inverse` of text values with fields of `size` bytes. */
static inline void object_texts_swap(char *was, char *value, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		char c = was[i];

		was[i] = value[i];
		value[i] = c;
	}
}
/* Turns s into its inverse. */
void object_invert(struct plan_step *s);
/* Looks up the link or function of the step. 0; -ENODEV: it does not exist. */
int object_find(struct kernel *k, struct plan_step *s);

#endif
