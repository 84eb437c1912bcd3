/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kinds of objects that Plenum plans and changes on a host: one const table per kind, each in
 * its file object_<kind>.c. Everything that is specific to a kind is in its table: the code that
 * plans, prints, journals, applies and rolls back steps does not mention any kind. A new kind is a
 * new file and a line in OBJECT_KINDS below, and a line in kernel.h if it needs a new request to
 * the kernel.
 *
 * A step names its link by a stable reference (KERNEL_LINK_REF_MAX) that becomes an ifindex when
 * the step runs, so a step can refer to a link that an earlier step creates.
 */
#ifndef PLENUM_NETCFG_OBJECT_H
#define PLENUM_NETCFG_OBJECT_H

#include "netcfg/base/reason.h"
#include "netcfg/object/plan_step.h"

/*
 * The order of a plan's steps. Links are created and configured before objects on them. Stale rules
 * are removed before stale routes. The apply adds new addresses before it removes stale ones,
 * because the kernel flushes an interface's IPv4 routes with its last address. It removes a stale
 * address first only if the kernel rejects a new address while the stale one exists. Routes precede
 * the rules that point to them. Values are restored after all objects that Plenum removes. Bonds
 * are created and configured without ports. Links become ports after Plenum's addresses on them are
 * removed; ports leave bonds before all other steps. A rollback uses the reverse order, which is
 * equally safe.
 */
enum object_phase {
	OBJECT_PHASE_OF_KIND, /* use the phase of the kind; allowed only in desired steps */
	/* ports leave bonds: removing a bond also removes Plenum's addresses on it */
	OBJECT_PHASE_RELEASE,
	OBJECT_PHASE_BOND,   /* bonds are created before objects on them */
	OBJECT_PHASE_PARENT, /* parent links: a PF is up before its VFs are created */
	OBJECT_PHASE_MAKE,   /* links: VFs, drivers, VLANs */
	OBJECT_PHASE_SETTING,
	OBJECT_PHASE_LINK,
	OBJECT_PHASE_RULE_DEL,
	OBJECT_PHASE_ROUTE_DEL,
	OBJECT_PHASE_MAKE_WAY,
	OBJECT_PHASE_ADDR,
	OBJECT_PHASE_ADDR_DEL,
	OBJECT_PHASE_ENSLAVE, /* links become ports, after Plenum's addresses on them are removed */
	OBJECT_PHASE_ROUTE,
	OBJECT_PHASE_RULE,
	OBJECT_PHASE_LINK_RESTORE,
	OBJECT_PHASE_SETTING_RESTORE,
	OBJECT_PHASE_UNMAKE,
	OBJECT_PHASE_MAX
};

enum object_presence {
	OBJECT_ABSENT,
	OBJECT_PRESENT, /* the object is exactly as desired, but another program created it */
	OBJECT_OURS,
};

/* The planned host as the kinds may see it: the inventory, and functions for questions that only
 * the plan can answer. The plan implements these functions, so that the kinds do not depend on the
 * plan. */
struct object_view {
	const struct inventory *inv;
	/* Returns whether Plenum added the address. */
	bool (*addr_is_ours)(const struct object_view *v, const struct inv_addr *a);
	/* Returns true and sets why if a worker itself, not the kernel, answers for the address. */
	bool (*addr_is_workers)(const struct object_view *v, const struct ip_addr *ip,
				struct reason *why);
	/* Returns whether other programs use a link that Plenum created, so that its removal would
	 * cut them off. */
	bool (*link_serves_others)(const struct object_view *v, const struct inv_link *link);
	/* Returns whether the link belongs to a leg that cannot be configured now. `link` may be
	 * NULL. */
	bool (*link_waits)(const struct object_view *v, const struct inv_link *link);
	/* Returns whether the configuration has a bond with that name. */
	bool (*bond_is_planned)(const struct object_view *v, const char *name);
	/* Returns whether a running worker has opened the function or one of its VFs. `fn` may be
	 * NULL. */
	bool (*function_is_held)(const struct object_view *v, const struct inv_function *fn);
};

struct object_kind {
	const char *name; /* one word, for the journal, the record and JSON */
	/* the verb of desired steps: PLAN_ADD for objects, PLAN_SET for values */
	enum plan_verb verb;
	/* The record of owned values (plan_owned.h) lists the objects that Plenum changed, because
	 * the kernel does not show that Plenum changed them. */
	bool recorded;
	bool disruptive;  /* setting a value of this kind may stop traffic */
	bool on_function; /* the steps change a PCI function, not a link */
	enum object_phase phase[PLAN_VERB_MAX];

	/* Describes the step for operators. `where` is "leg-a (veth0)" or "host". */
	void (*describe)(const struct plan_step *s, const char *where, char *buf, size_t size);
	/* Describes the change by another program that the step repairs. If NULL, the description
	 * of the step is used. */
	void (*undone)(const struct plan_step *s, const char *where, char *buf, size_t size);
	/* Writes the data that the inverse step needs as words without blanks, and returns the
	 * length as snprintf(3) does. `parse` reads these words and returns 0 or -EBADMSG. */
	int (*format)(const struct plan_step *s, char *buf, size_t size);
	int (*parse)(const char *text, struct plan_step *s);
	/* Returns whether the host has the object or value of the step. */
	enum object_presence (*present)(const struct inventory *inv, const struct plan_step *s);
	/* Returns whether two steps change the same object, whatever their verbs and values are. */
	bool (*same)(const struct plan_step *a, const struct plan_step *b);

	/* Exchanges the new and the old value; only kinds that are values have it. */
	void (*inverse)(struct plan_step *s);
	/* Returns whether the new and the old value are equal. For objects that can be
	 * `unannounced`, returns whether the object exists. */
	bool (*settled)(const struct plan_step *s);
	/* Replaces the step's new value by the new value of a later step; the old value stays. */
	void (*follow)(struct plan_step *s, const struct plan_step *later);
	/* Adapts a step after its link was renamed, for values that are found by the link's name.
	 * NULL if the value is found by the link itself. */
	void (*rename)(struct plan_step *s, const char *old_name, const char *name);
	/* Returns whether the kernel sends no notification when the object changes. The agent then
	 * polls the object, so reading it must be cheap. NULL means false. */
	bool (*unannounced)(const struct plan_step *s);
	/* Returns whether restoring the value must wait, because a running worker or another
	 * program uses the device or link. NULL means false. */
	bool (*held)(const struct object_view *v, const struct plan_step *s);

	/* Only kinds that are objects have it. Sets *ret to the step that removes the i-th object
	 * of the kind in the inventory. Returns 1 if Plenum created the object and may remove it, 0
	 * if not, or -ENOENT if the inventory has fewer objects. */
	int (*ours)(const struct object_view *v, size_t i, struct plan_step *ret);
	/* Returns whether the kernel rejects `want` while `have` exists. NULL means false. */
	bool (*in_the_way)(const struct plan_step *have, const struct plan_step *want);
};

/* All kinds; each has a file. The table is in a separate file, object_table.c, so that a test can
 * link another table. */
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

/* Writes the kind and the verb, such as "addr-add", into buf; returns buf. */
const char *object_op(const struct plan_step *s, char *buf, size_t size);
/* Writes the step as "addr-add veth0 10.10.1.10/16 112", without a newline. Returns the length, or
 * -EINVAL if the text does not fit. */
int object_format(const struct plan_step *s, char *buf, size_t size);
/* Parses a line of object_format(). Returns 0 or -EBADMSG. */
int object_parse(const char *text, struct plan_step *s);
/* Exchanges two text values of `size` bytes; for implementations of `inverse`. */
static inline void object_texts_swap(char *was, char *value, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		char c = was[i];

		was[i] = value[i];
		value[i] = c;
	}
}
/* Changes s to its inverse. */
void object_invert(struct plan_step *s);
/* Looks up the link or function of the step on the host. Returns 0, or -ENODEV if it does not
 * exist. */
int object_find(struct kernel *k, struct plan_step *s);

#endif
