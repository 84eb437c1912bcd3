/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The JSON form of an inventory: a table of members for each kind of entry, shared by writer and
 * reader. Private to inventory_json.c and inventory_read.c.
 */
#ifndef PLENUM_NETCFG_INVENTORY_JSON_H
#define PLENUM_NETCFG_INVENTORY_JSON_H

#include "netcfg/host/inventory_build.h"

enum inv_json_type {
	INV_JSON_NUMBER, /* unsigned, of the member's size */
	INV_JSON_NODE,	 /* int; null if INV_NUMA_NONE */
	INV_JSON_BOOL,
	INV_JSON_TEXT,
	INV_JSON_KIND,	 /* the name of an enum inv_link_kind */
	INV_JSON_MAC,	 /* null if all bytes are zero */
	INV_JSON_IP,	 /* struct ip_addr; null if family is 0 */
	INV_JSON_PREFIX, /* struct ip_prefix; null if family is 0 */
	INV_JSON_FAMILY, /* uint8_t, 4 or 6 */
};

struct inv_json_member {
	const char *key;
	enum inv_json_type type;
	size_t offset, size;
	bool required;
};

/* Describes one array of the inventory. */
struct inv_json_list {
	const char *key;
	const struct inv_json_member *members;
	size_t n_members;
	size_t array_offset, n_offset, entry_bytes;
	void *(*add)(struct inventory *inv);
};

extern const struct inv_json_list inv_json_lists[];
extern const size_t inv_json_n_lists;

#endif
