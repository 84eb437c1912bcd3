/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads, searches and edits the table of names, roles and token hashes, for the agent and the
 * command line. */
#include "netcfg/base/files/access.h"
#include "netcfg/base/file.h"
#include "netcfg/base/files/secret.h"

#include <stdio.h>
#include <string.h>

#define LINE_FORM                                                                              \
	"write 'NAME ROLE HASH' with the role view, operate or admin, or remove the line and " \
	"use 'plenum token add'"

static const char *const role_names[ACCESS_ROLE_MAX] = {"none", "view", "operate", "admin"};

const char *access_role_to_string(enum access_role r)
{
	return r < ACCESS_ROLE_MAX ? role_names[r] : "?";
}

bool access_role_from_string(const char *text, enum access_role *ret)
{
	for (enum access_role r = ACCESS_VIEW; r < ACCESS_ROLE_MAX; r++)
		if (strcmp(text, role_names[r]) == 0) {
			*ret = r;
			return true;
		}
	return false;
}

void access_done(struct access_table *t)
{
	free(t->entries);
	*t = (struct access_table){NULL, 0};
}

bool access_name_is_valid(const char *name)
{
	const size_t len = strlen(name);

	return len > 0 && len < ACCESS_NAME_MAX &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.@") ==
		       len;
}

/* ---- the table ---- */

const struct access_entry *access_find(const struct access_table *t,
				       const uint8_t hash[ACCESS_HASH_BYTES])
{
	const struct access_entry *found = NULL;

	/* Compares with every entry, even after a match, so that the duration does not show which
	 * entry matched. */
	for (size_t i = 0; i < t->n; i++) {
		volatile uint8_t differs = 0;

		for (size_t j = 0; j < ACCESS_HASH_BYTES; j++)
			differs |= t->entries[i].hash[j] ^ hash[j];
		if (!differs)
			found = &t->entries[i];
	}
	return found;
}

const struct access_entry *access_find_name(const struct access_table *t, const char *name)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->entries[i].name, name) == 0)
			return &t->entries[i];
	return NULL;
}

int access_add(struct access_table *t, const struct access_entry *e)
{
	struct access_entry *more;

	if (access_find_name(t, e->name) || access_find(t, e->hash))
		return -EEXIST;
	if (t->n >= ACCESS_ENTRIES_MAX)
		return -ENOSPC;
	more = reallocarray(t->entries, t->n + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	more[t->n++] = *e;
	t->entries = more;
	return 0;
}

/* ---- the file ---- */

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_hash(const char *hex, uint8_t ret[ACCESS_HASH_BYTES])
{
	if (strlen(hex) != ACCESS_HASH_CHARS)
		return false;
	for (size_t i = 0; i < ACCESS_HASH_BYTES; i++) {
		const int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		ret[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

/* Parses one line of the file. The function cuts `line` into words in place. */
static int parse_line(char *line, unsigned number, struct access_table *t, struct reason *why)
{
	static const char blanks[] = " \t\r";
	struct access_entry e = {.role = ACCESS_NONE};
	char *rest = NULL, *name = strtok_r(line, blanks, &rest),
	     *role = strtok_r(NULL, blanks, &rest), *hash = strtok_r(NULL, blanks, &rest);
	int r;

	if (!name || *name == '#')
		return 0;
	if (!role || !hash || strtok_r(NULL, blanks, &rest)) {
		reason_set_text(why, "line %u does not have three words; " LINE_FORM, number);
		return -EINVAL;
	}
	if (!access_name_is_valid(name)) {
		reason_set_text(why,
				"line %u: the name is longer than %d characters or has characters "
				"other than letters, digits and -_.@",
				number, ACCESS_NAME_MAX - 1);
		return -EINVAL;
	}
	if (!access_role_from_string(role, &e.role)) {
		reason_set_text(why, "line %u: the role is '%.20s'; " LINE_FORM, number, role);
		return -EINVAL;
	}
	if (!parse_hash(hash, e.hash)) {
		reason_set_text(why,
				"line %u: the hash is not %d hexadecimal digits in lower case; "
				"remove the line, and use 'plenum token add'",
				number, ACCESS_HASH_CHARS);
		return -EINVAL;
	}
	snprintf(e.name, sizeof(e.name), "%s", name);
	r = access_add(t, &e);
	if (r == -EEXIST)
		reason_set_text(why,
				"line %u: an earlier line has this name or this hash; remove one "
				"of the two lines",
				number);
	else if (r < 0)
		reason_set_text(why, "line %u: %s", number,
				r == -ENOSPC ? "the file has too many entries; remove unused ones"
					     : strerror(-r));
	return r == -ENOMEM ? r : r < 0 ? -EINVAL : 0;
}

int access_parse(const char *text, struct access_table *ret, struct reason *why)
{
	struct access_table t = {NULL, 0};
	autofree char *copy = strdup(text);
	char *rest = copy, *line;
	unsigned number = 0;
	int r = 0;

	if (!copy) {
		reason_set_text(why, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	while (r >= 0 && (line = strsep(&rest, "\n")))
		r = parse_line(line, ++number, &t, why);
	if (r < 0)
		access_done(&t);
	else
		*ret = t;
	return r;
}

int access_read(const char *path, struct access_table *ret, struct reason *why)
{
	autofree char *text = NULL;
	size_t len;
	int r = secret_read_file(path, ACCESS_FILE_BYTES_MAX, &text, &len, why);

	if (r == -ENOENT)
		reason_append(why, "'plenum token add' makes the file");
	if (r < 0)
		return r;
	if (strlen(text) != len) {
		reason_set_text(why,
				"the file has a zero byte; remove the byte, or restore the file");
		return -EINVAL;
	}
	return access_parse(text, ret, why);
}

void access_format(const struct access_entry *e, char buf[static ACCESS_LINE_MAX])
{
	int at = snprintf(buf, ACCESS_LINE_MAX, "%s %s ", e->name, access_role_to_string(e->role));

	for (size_t i = 0; i < ACCESS_HASH_BYTES; i++)
		at += snprintf(buf + at, ACCESS_LINE_MAX - (size_t)at, "%02x", e->hash[i]);
	snprintf(buf + at, ACCESS_LINE_MAX - (size_t)at, "\n");
}

bool access_cut(char *text, const char *name)
{
	const size_t len = strlen(name);

	for (char *line = text; *line;) {
		char *end = line + strcspn(line, "\n"), *word = line + strspn(line, " \t\r");

		end += *end == '\n';
		if (strncmp(word, name, len) == 0 && strchr(" \t\r", word[len])) {
			memmove(line, end, strlen(end) + 1);
			return true;
		}
		line = end;
	}
	return false;
}
