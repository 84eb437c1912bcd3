/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What can be planned and done on a host: one const table per kind of kernel object, one file
 * object_<kind>.c each. Everything that differs by kind is in its table, so planning, printing, the
 * journal, applying and rolling back know no kind by name. A new kind is a new file and a line in
 * object_table.c; where the kernel is asked in a new way, a line in kernel.h too.
 *
 * A step names the link that it is done on by what lasts (KERNEL_LINK_REF_MAX); that becomes an
 * ifindex when the step runs, so a step can speak of a link that an earlier step makes.
 */
#ifndef PLENUM_NETCFG_OBJECT_H
#define PLENUM_NETCFG_OBJECT_H

#include "netcfg/host/kernel.h"
#include "netcfg/plan/plan.h"

/*
 * The order of a plan's steps. Links are made and set before what stands on them. Stale rules go
 * before stale routes. Addresses are added before stale ones go, since the kernel flushes an
 * interface's IPv4 routes with its last address; only those that the kernel would not have beside
 * the new ones go first. Routes come before the rules that lead to them. What is given back comes
 * when nothing of ours depends on it any more. Bonds are made and set up without ports; links
 * become their ports when they have no addresses of ours any more, and are let go before all else.
 * Backwards, as a rollback does it, this is as safe.
 */
enum object_phase {
	OBJECT_PHASE_OF_KIND, /* of a wanted step: the one that its kind says */
	OBJECT_PHASE_RELEASE, /* of ports from bonds: what is theirs on a bond goes with them */
	OBJECT_PHASE_BOND,    /* made before anything can stand on it */
	OBJECT_PHASE_PARENT,  /* of links that others are made on: a PF is up before its VFs come */
	OBJECT_PHASE_MAKE,    /* of links: VFs, drivers, VLANs */
	OBJECT_PHASE_SETTING,
	OBJECT_PHASE_LINK,
	OBJECT_PHASE_RULE_DEL,
	OBJECT_PHASE_ROUTE_DEL,
	OBJECT_PHASE_MAKE_WAY,
	OBJECT_PHASE_ADDR,
	OBJECT_PHASE_ADDR_DEL,
	OBJECT_PHASE_ENSLAVE, /* a port takes along no address: what was ours there is gone */
	OBJECT_PHASE_ROUTE,
	OBJECT_PHASE_RULE,
	OBJECT_PHASE_LINK_RESTORE,
	OBJECT_PHASE_SETTING_RESTORE,
	OBJECT_PHASE_UNMAKE,
	OBJECT_PHASE_MAX
};

enum object_presence {
	OBJECT_ABSENT,
	OBJECT_PRESENT, /* exactly so, but made by others */
	OBJECT_OURS,
};

struct plan_builder;

struct object_kind {
	const char *name;    /* one word: in the journal, in the record, in JSON */
	enum plan_verb verb; /* of what is wanted: PLAN_ADD what comes and goes, PLAN_SET a value */
	/* What we changed is kept in the record of plan_owned.h: there is no other trace of it. */
	bool recorded;
	bool disruptive;  /* changing its value may stop traffic */
	bool on_function; /* its steps are done on a PCI function, not on a link */
	enum object_phase phase[PLAN_VERB_MAX];

	/* A step in words; where: "leg-a (veth0)", or "host". */
	void (*describe)(const struct plan_step *s, const char *where, char *buf, size_t size);
	/* The same for a step that repairs: what somebody has done to what is ours. NULL: the step
	 * in words must do. */
	void (*undone)(const struct plan_step *s, const char *where, char *buf, size_t size);
	/* What a journal must know to do the step's inverse: words without spaces. Its length as
	 * snprintf's; and back: 0, -EBADMSG. */
	int (*format)(const struct plan_step *s, char *buf, size_t size);
	int (*parse)(const char *text, struct plan_step *s);
	/* Whether the host has the object, or the value, that the step makes. */
	enum object_presence (*present)(const struct inventory *inv, const struct plan_step *s);
	/* Whether two steps speak of the same object, whatever they do with it. */
	bool (*same)(const struct plan_step *a, const struct plan_step *b);

	/* Of values alone. Swaps the new and the old. */
	void (*inverse)(struct plan_step *s);
	/* New and old are equal; of what comes and goes unannounced: it is there. */
	bool (*settled)(const struct plan_step *s);
	/* The new value of s becomes that of the later step, the old one stays. */
	void (*follow)(struct plan_step *s, const struct plan_step *later);
	/* The link of s has another name by now, and the value is found under it. NULL: it is found
	 * by the link itself. */
	void (*rename)(struct plan_step *s, const char *old_name, const char *name);
	/* Whether the kernel notifies nobody of its changes, and reading it costs nothing. NULL: it
	 * never is so. */
	bool (*unannounced)(const struct plan_step *s);
	/* Whether a living worker has what giving the value back would take from it. NULL: never.
	 */
	bool (*held)(const struct plan_builder *b, const struct plan_step *s);

	/* Of what comes and goes alone. The i-th of its kind in the inventory as the step that
	 * removes it. 1: ours; 0: not ours; -ENOENT: there are no more. */
	int (*ours)(const struct plan_builder *b, size_t i, struct plan_step *ret);
	/* Whether the kernel would refuse `want` while `have` is there. NULL: never. */
	bool (*in_the_way)(const struct plan_step *have, const struct plan_step *want);
};

extern const struct object_kind object_link, object_addr, object_route, object_rule, object_sysctl,
	object_pci, object_vf, object_vlan, object_bond, object_bond_value, object_master,
	object_rxe, object_device, object_devlink;

/* All kinds (object_table.c). */
extern const struct object_kind *const object_kinds[];
extern const size_t object_kinds_n;

/* "addr-add" */
const char *object_op(const struct plan_step *s, char *buf, size_t size);
/* "addr-add veth0 10.10.1.10/16 112", without a newline. Its length; -EINVAL: it does not fit. */
int object_format(const struct plan_step *s, char *buf, size_t size);
/* 0; -EBADMSG. */
int object_parse(const char *text, struct plan_step *s);
/* For `inverse`, of values that are text, each in so many bytes. */
void object_texts_swap(char *was, char *value, size_t size);
/* Makes s the step that takes it back. */
void object_invert(struct plan_step *s);

#endif
