/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A doubly linked list whose nodes are members of its elements. A node that is in no list points to
 * itself, so list_del may be called at any time.
 */
#ifndef PLENUM_DATAPLANE_RUDP_LIST_H
#define PLENUM_DATAPLANE_RUDP_LIST_H

#include "netcfg/base/base.h"

struct list {
	struct list *next, *prev;
};
static inline void list_init(struct list *l)
{
	l->next = l->prev = l;
}
static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}
static inline void list_add_tail(struct list *head, struct list *l)
{
	l->prev = head->prev;
	l->next = head;
	head->prev->next = l;
	head->prev = l;
}
static inline void list_del(struct list *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
	list_init(l);
}
#define list_entry(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#endif
