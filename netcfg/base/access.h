/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who may use the API over the network: the roles, and the file with the names, roles and token
 * hashes. A line is "NAME ROLE HASH": HASH is the token's SHA-256 in 64 hexadecimal digits in lower
 * case. Comments begin with '#'. A token is never stored: who reads the file cannot log in with it.
 * The agent reads the file and compares hashes; the command line makes tokens and writes it. Holds
 * no state.
 */
#ifndef PLENUM_NETCFG_ACCESS_H
#define PLENUM_NETCFG_ACCESS_H

#include "netcfg/base/reason.h"

#define ACCESS_NAME_MAX 32 /* with the NUL */
#define ACCESS_HASH_BYTES 32
#define ACCESS_HASH_CHARS (2 * ACCESS_HASH_BYTES)
#define ACCESS_ENTRIES_MAX 1000
#define ACCESS_FILE_BYTES_MAX (256U << 10)

/* Each role may do what those before it may. */
enum access_role {
	ACCESS_NONE,	/* not logged in */
	ACCESS_VIEW,	/* reads */
	ACCESS_OPERATE, /* also restarts workers, confirms and rolls back, captures packets */
	ACCESS_ADMIN,	/* everything */
	ACCESS_ROLE_MAX
};
/* "view"; "none" for ACCESS_NONE. */
const char *access_role_to_string(enum access_role r);
/* false: an unknown role, or "none", which an entry cannot have. */
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
/* -EINVAL with the line and the remedy in `why`; names and hashes are unique. */
int access_parse(const char *text, struct access_table *ret, struct reason *why);
/* The same from a file that only root may access. */
int access_read(const char *path, struct access_table *ret, struct reason *why);
/* The entry as a line of the file. */
#define ACCESS_LINE_MAX (ACCESS_NAME_MAX + 10 + ACCESS_HASH_CHARS + 4)
void access_format(const struct access_entry *e, char buf[static ACCESS_LINE_MAX]);
/* Cuts the line of that name out of a text that access_parse() accepts. Whether there was one. */
bool access_cut(char *text, const char *name);
/* The entry with that hash. The time that it takes says nothing about the hashes of the table. */
const struct access_entry *access_find(const struct access_table *t,
				       const uint8_t hash[ACCESS_HASH_BYTES]);
const struct access_entry *access_find_name(const struct access_table *t, const char *name);
bool access_name_is_valid(const char *name);
/* -EEXIST: the name is used; -ENOSPC: the table is full. */
int access_add(struct access_table *t, const struct access_entry *e);

#endif
