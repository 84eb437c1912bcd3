/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Doubly linked lists without allocation: the nodes are members of the elements. A node outside a
 * list points to itself, so list_del may be called for it too.
 */
#ifndef PLENUM_NETCFG_LIST_H
#define PLENUM_NETCFG_LIST_H

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
/* Inserts l after `at`, which is a node or the head. */
static inline void list_add_after(struct list *at, struct list *l)
{
	l->prev = at;
	l->next = at->next;
	at->next->prev = l;
	at->next = l;
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
/* Removes and returns the first node, or returns NULL if the list is empty. */
static inline struct list *list_take_first(struct list *head)
{
	struct list *l = head->next;

	if (l == head)
		return NULL;
	list_del(l);
	return l;
}
/* Returns the element that contains the node. */
#define list_entry(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#endif
