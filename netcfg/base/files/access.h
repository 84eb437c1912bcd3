/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rights to use the API over the network: the roles, and the file with the names, roles and token
 * hashes. A line is "NAME ROLE HASH": HASH is the token's SHA-256 in 64 hexadecimal digits in lower
 * case. Comments begin with '#'. A token is never stored, so a reader of the file cannot log in
 * with it. The agent reads the file and compares hashes; the command line makes tokens and writes
 * the file. These functions hold no state.
 */
#ifndef PLENUM_NETCFG_ACCESS_H
#define PLENUM_NETCFG_ACCESS_H

#include "netcfg/base/reason.h"

#define ACCESS_NAME_MAX 32 /* maximum length of a name, including the NUL */
#define ACCESS_HASH_BYTES 32
#define ACCESS_HASH_CHARS (2 * ACCESS_HASH_BYTES)
#define ACCESS_ENTRIES_MAX 1000
#define ACCESS_FILE_BYTES_MAX (256U << 10)

/* Each role has all rights of the roles before it. */
enum access_role {
	ACCESS_NONE, /* the role of a request without a valid token */
	ACCESS_VIEW, /* the role may only read */
	/* the role may also make the requests that agent/api/rest/resource.c lists for it, for
	 * example: restart workers, confirm an apply, capture packets */
	ACCESS_OPERATE,
	ACCESS_ADMIN, /* the role may do everything */
	ACCESS_ROLE_MAX
};
/* Returns the role as it stands in the file, such as "view"; "none" for ACCESS_NONE. */
const char *access_role_to_string(enum access_role r);
/* Returns false for an unknown role, and for "none", which an entry cannot have. */
bool access_role_from_string(const char *text, enum access_role *ret);

struct access_entry {
	char name[ACCESS_NAME_MAX]; /* letters, digits and -_.@ */
	enum access_role role;
	uint8_t hash[ACCESS_HASH_BYTES];
};

struct access_table {
	struct access_entry *entries; /* owned */
	size_t n;
};

void access_done(struct access_table *t);
/* Returns 0, or -EINVAL with the line number and the remedy in `why`. Two entries with the same
 * name or the same hash are an error. */
int access_parse(const char *text, struct access_table *ret, struct reason *why);
/* Reads and parses the file. The function refuses a file that users other than root may access. */
int access_read(const char *path, struct access_table *ret, struct reason *why);
/* Formats the entry as a line of the file. */
#define ACCESS_LINE_MAX (ACCESS_NAME_MAX + 10 + ACCESS_HASH_CHARS + 4)
void access_format(const struct access_entry *e, char buf[static ACCESS_LINE_MAX]);
/* Removes the line of the entry `name` from a text that access_parse() accepts. Returns whether
 * there was such a line. */
bool access_cut(char *text, const char *name);
/* Returns the entry with that hash, or NULL. How long the search takes does not reveal anything
 * about the hashes in the table. */
const struct access_entry *access_find(const struct access_table *t,
				       const uint8_t hash[ACCESS_HASH_BYTES]);
const struct access_entry *access_find_name(const struct access_table *t, const char *name);
bool access_name_is_valid(const char *name);
/* Returns 0, -EEXIST if the name is used, or -ENOSPC if the table is full. */
int access_add(struct access_table *t, const struct access_entry *e);

#endif
