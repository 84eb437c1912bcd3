/* SPDX-License-Identifier: BSD-3-Clause */
/* A routing rule from a source address to a table. Plenum recognizes its own rules by their
 * protocol number. */
#include "netcfg/object/object.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RULE_WORDS_MAX 128

/* Writes "rule N: from X lookup table N". */
static const char *rule_words(const struct inv_rule *r, char *buf, size_t size)
{
	char from[IP_ADDR_STR_MAX] = "all";

	if (r->from.addr.family && r->from.len == ip_addr_bits(&r->from.addr))
		ip_addr_format(&r->from.addr, from, sizeof(from));
	else if (r->from.addr.family)
		ip_prefix_format(&r->from, from, sizeof(from));
	snprintf(buf, size, "rule %u: from %s lookup table %u", r->priority, from, r->table);
	return buf;
}

static void rule_describe(const struct plan_step *s, const char *where, char *buf, size_t size)
{
	char words[RULE_WORDS_MAX];

	(void)where; /* the text needs no `where`, because rules have no link */
	snprintf(buf, size, "%s %s", s->verb == PLAN_DEL ? "remove" : "add",
		 rule_words(&s->change.rule, words, sizeof(words)));
}

static void rule_undone(const struct plan_step *s, const char *where, char *buf, size_t size)
{
	char words[RULE_WORDS_MAX];

	(void)where;
	snprintf(buf, size, "%s was %s", rule_words(&s->change.rule, words, sizeof(words)),
		 s->verb == PLAN_DEL ? "added with Plenum's protocol number" : "removed");
}

static int rule_format(const struct plan_step *s, char *buf, size_t size)
{
	const struct inv_rule *r = &s->change.rule;
	char from[IP_ADDR_STR_MAX] = "-";

	if (r->from.addr.family)
		ip_prefix_format(&r->from, from, sizeof(from));
	return snprintf(buf, size, "%u %u %u %u %s", r->family, r->priority, r->table, r->proto,
			from);
}

static int rule_parse(const char *text, struct plan_step *s)
{
	struct inv_rule *r = &s->change.rule;
	char from[IP_ADDR_STR_MAX];

	s->change.kind = KERNEL_RULE;
	if (sscanf(text, "%" SCNu8 " %" SCNu32 " %" SCNu32 " %" SCNu8 " %63s", &r->family,
		   &r->priority, &r->table, &r->proto, from) != 5)
		return -EBADMSG;
	if (strcmp(from, "-") != 0 &&
	    (ip_prefix_parse(from, &r->from) < 0 || r->from.addr.family != r->family))
		return -EBADMSG;
	return r->family == AF_INET || r->family == AF_INET6 ? 0 : -EBADMSG;
}

/* Compares two rules except for their protocol numbers. */
static bool rule_equal(const struct inv_rule *have, const struct inv_rule *want)
{
	struct inv_rule h = *have;

	h.proto = want->proto;
	return kernel_rule_equal(&h, want);
}

static enum object_presence rule_present(const struct inventory *inv, const struct plan_step *s)
{
	for (size_t i = 0; i < inv->n_rules; i++)
		if (rule_equal(&inv->rules[i], &s->change.rule))
			return inv->rules[i].proto == PLENUM_RTPROT ? OBJECT_OURS : OBJECT_PRESENT;
	return OBJECT_ABSENT;
}

static bool rule_same(const struct plan_step *a, const struct plan_step *b)
{
	return rule_equal(&a->change.rule, &b->change.rule);
}

static int rule_ours(const struct object_view *v, size_t i, struct plan_step *ret)
{
	const struct inv_rule *have;

	if (i >= v->inv->n_rules)
		return -ENOENT;
	have = &v->inv->rules[i];
	ret->change = (struct kernel_change){.kind = KERNEL_RULE, .rule = *have};
	return have->proto == PLENUM_RTPROT && !have->more;
}

const struct object_kind object_rule = {
	.name = "rule",
	.verb = PLAN_ADD,
	.phase = {[PLAN_ADD] = OBJECT_PHASE_RULE, [PLAN_DEL] = OBJECT_PHASE_RULE_DEL},
	.describe = rule_describe,
	.undone = rule_undone,
	.format = rule_format,
	.parse = rule_parse,
	.present = rule_present,
	.same = rule_same,
	.ours = rule_ours,
};
