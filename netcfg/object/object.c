/* SPDX-License-Identifier: BSD-3-Clause */
/* Formats and parses the journal line of a step, and makes the inverse of a step, for all kinds of
 * objects. */
#include "netcfg/object/object.h"
#include <stdio.h>
#include <string.h>

/* The word for "no link" in a journal line, which is not a possible name of a link. */
#define NO_LINK ":"

static const char *const verbs[PLAN_VERB_MAX] = {
	[PLAN_ADD] = "add",
	[PLAN_DEL] = "del",
	[PLAN_SET] = "set",
	[PLAN_RESTORE] = "restore",
};

const char *object_op(const struct plan_step *s, char *buf, size_t size)
{
	snprintf(buf, size, "%s-%s", s->kind->name, verbs[s->verb]);
	return buf;
}

int object_format(const struct plan_step *s, char *buf, size_t size)
{
	int len = snprintf(buf, size, "%s-%s %s ", s->kind->name, verbs[s->verb],
			   s->link[0] ? s->link : NO_LINK);
	int n = s->kind->format(s, buf + len, size - (size_t)len);

	return n < 0 || (size_t)(len + n) >= size ? -EINVAL : len + n;
}

/* Returns whether steps of the kind can have the verb: objects are added and deleted, values are
 * set and restored. */
static bool has_verb(const struct object_kind *kind, enum plan_verb verb)
{
	bool comes = verb == PLAN_ADD || verb == PLAN_DEL;

	return verb < PLAN_VERB_MAX && comes == (kind->verb == PLAN_ADD);
}

static int parse_op(char *op, struct plan_step *s)
{
	char *verb = strrchr(op, '-');

	if (!verb)
		return -EBADMSG;
	*verb++ = '\0';
	s->verb = PLAN_VERB_MAX;
	for (enum plan_verb v = 0; v < PLAN_VERB_MAX; v++)
		if (strcmp(verb, verbs[v]) == 0)
			s->verb = v;
	for (size_t i = 0; i < object_kinds_n; i++)
		if (strcmp(op, object_kinds[i]->name) == 0)
			s->kind = object_kinds[i];
	return s->kind && has_verb(s->kind, s->verb) ? 0 : -EBADMSG;
}

int object_parse(const char *text, struct plan_step *s)
{
	char op[32];
	int at = 0;

	*s = (struct plan_step){.kind = NULL};
	_Static_assert(KERNEL_LINK_REF_MAX == 24, "sscanf() below has the same field width");
	if (sscanf(text, "%31s %23s %n", op, s->link, &at) != 2 || parse_op(op, s) < 0)
		return -EBADMSG;
	if (strcmp(s->link, NO_LINK) == 0)
		s->link[0] = '\0';
	if (strlen(s->link) < sizeof(s->ifname) && !strchr(s->link, ':'))
		memcpy(s->ifname, s->link, strlen(s->link) + 1);
	return s->kind->parse(text + at, s);
}

void object_invert(struct plan_step *s)
{
	switch (s->verb) {
	case PLAN_ADD:
		s->verb = PLAN_DEL;
		break;
	case PLAN_DEL:
		s->verb = PLAN_ADD;
		break;
	default:
		s->kind->inverse(s);
		break;
	}
}

int object_find(struct kernel *k, struct plan_step *s)
{
	if (!s->link[0])
		return 0;
	return s->kind->on_function ? k->ops->function_find(k, s->link, s->change.pci)
				    : k->ops->link_find(k, s->link, &s->change.ifindex);
}
