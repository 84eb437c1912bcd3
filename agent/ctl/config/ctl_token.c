/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands for the file of tokens, with which network clients use the API. They need no agent.
 * A token is printed only once, when it is created; the file has its hash. */
#include "agent/ctl/ctl.h"

#include "netcfg/base/file.h"
#include "netcfg/base/files/access.h"
#include "netcfg/base/files/secret.h"
#include <openssl/evp.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#define TOKEN_BYTES 32
/* Programs that search files for secrets recognise a token by this prefix. */
#define TOKEN_PREFIX "plenum-"
#define TOKEN_SIZE (sizeof(TOKEN_PREFIX) + 2 * TOKEN_BYTES)
#define HEADER "# Clients of the API over the network: name, role, SHA-256 of the token.\n"

static const char *file_of(const struct ctl_args *a, int at)
{
	return a->n_operands > at ? a->operands[at] : CTL_TOKENS_FILE;
}

static int fail(const char *path, int e)
{
	ctl_complain("%s: %s", path, strerror(-e));
	return e == -EACCES || e == -EPERM ? CTL_NO_PERMISSION : CTL_IO;
}

/* Reads the file's text and its entries. With may_lack, a missing file counts as empty. */
static int load(const char *path, bool may_lack, char **ret_text, struct access_table *ret)
{
	struct reason why;
	size_t len;
	int r;

	if (may_lack && access(path, F_OK) < 0 && errno == ENOENT) {
		*ret = (struct access_table){NULL, 0};
		*ret_text = strdup(HEADER);
		return *ret_text ? CTL_OK : CTL_OS;
	}
	r = access_read(path, ret, &why);
	if (r >= 0) {
		r = secret_read_file(path, ACCESS_FILE_BYTES_MAX, ret_text, &len, &why);
		if (r < 0)
			access_done(ret);
	}
	if (r >= 0)
		return CTL_OK;
	ctl_complain("%s: %s", path, why.text);
	return r == -ENOENT		     ? CTL_NO_INPUT
	       : r == -EACCES || r == -EPERM ? CTL_NO_PERMISSION
					     : CTL_DATA;
}

/* Replaces the file atomically. If the file is new, only root can read it. */
static int put(const char *path, const char *text, const char *line)
{
	autofree char *all = NULL;
	const size_t len = strlen(text);
	const char *gap = len > 0 && text[len - 1] != '\n' ? "\n" : "";
	int r;

	if (asprintf(&all, "%s%s%s", text, gap, line) < 0)
		return fail(path, -ENOMEM);
	r = file_write(path, all, strlen(all), 0600);
	return r < 0 ? fail(path, r) : CTL_OK;
}

static int make_token(char token[static TOKEN_SIZE], struct access_entry *e)
{
	uint8_t bytes[TOKEN_BYTES];
	int at = snprintf(token, TOKEN_SIZE, "%s", TOKEN_PREFIX);

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		at += snprintf(token + at, TOKEN_SIZE - (size_t)at, "%02x", bytes[i]);
	explicit_bzero(bytes, sizeof(bytes));
	return EVP_Digest(token, strlen(token), e->hash, NULL, EVP_sha256(), NULL) == 1 ? 0 : -EIO;
}

static void say_reload(void)
{
	fputs("run 'systemctl reload plenumd': the agent then reads the file\n", stderr);
}

static int take_entry(const struct ctl_args *a, struct access_entry *ret)
{
	if (!a->role) {
		ctl_complain("the option --role is missing; write --role view, operate or admin");
		return CTL_USAGE;
	}
	if (!access_role_from_string(a->role, &ret->role)) {
		ctl_complain("--role needs view, operate or admin, found '%.40s'", a->role);
		return CTL_USAGE;
	}
	if (!access_name_is_valid(a->operands[0])) {
		ctl_complain("a name has 1 to %d letters, digits and -_.@, found '%.60s'",
			     ACCESS_NAME_MAX - 1, a->operands[0]);
		return CTL_USAGE;
	}
	strcpy(ret->name, a->operands[0]);
	return CTL_OK;
}

static void put_token(const struct ctl_args *a, const struct access_entry *e, const char *token)
{
	json_t *o;

	if (!a->json) {
		printf("%s\n", token);
		return;
	}
	o = json_pack("{s:s, s:s, s:s}", "name", e->name, "role", access_role_to_string(e->role),
		      "token", token);
	ctl_put_json(o);
	json_decref(o);
}

int ctl_cmd_token_add(const struct ctl_args *a)
{
	PLENUM_CLEANUP(access_done) struct access_table t = {NULL, 0};
	const char *path = file_of(a, 1);
	char line[ACCESS_LINE_MAX], token[TOKEN_SIZE];
	struct access_entry e = {.role = ACCESS_NONE};
	autofree char *text = NULL;
	int r = take_entry(a, &e), k;

	if (r == CTL_OK)
		r = load(path, true, &text, &t);
	if (r != CTL_OK)
		return r;
	if (make_token(token, &e) < 0)
		return fail(path, -EIO);
	k = access_add(&t, &e);
	if (k == -EEXIST) {
		ctl_complain("%s: the name %s is used already; 'plenum token remove %s' removes it",
			     path, e.name, e.name);
		return CTL_DATA;
	}
	if (k < 0)
		return fail(path, k);
	access_format(&e, line);
	r = put(path, text, line);
	if (r == CTL_OK)
		put_token(a, &e, token);
	explicit_bzero(token, sizeof(token));
	if (r == CTL_OK)
		say_reload();
	return r;
}

int ctl_cmd_token_remove(const struct ctl_args *a)
{
	PLENUM_CLEANUP(access_done) struct access_table t = {NULL, 0};
	const char *path = file_of(a, 1), *name = a->operands[0];
	autofree char *text = NULL;
	int r = load(path, false, &text, &t);

	if (r != CTL_OK)
		return r;
	if (!access_find_name(&t, name) || !access_cut(text, name)) {
		ctl_complain("%s: no token has the name %.60s; 'plenum token list' lists the names",
			     path, name);
		return CTL_NO_INPUT;
	}
	r = put(path, text, "");
	if (r == CTL_OK)
		say_reload();
	return r;
}

static int list_json(const struct access_table *t)
{
	json_t *list = json_array(), *o;

	for (size_t i = 0; i < t->n; i++)
		json_array_append_new(list,
				      json_pack("{s:s, s:s}", "name", t->entries[i].name, "role",
						access_role_to_string(t->entries[i].role)));
	o = json_pack("{s:o}", "tokens", list);
	ctl_put_json(o);
	json_decref(o);
	return CTL_OK;
}

int ctl_cmd_token_list(const struct ctl_args *a)
{
	static const char *const headings[] = {"NAME", "ROLE"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table table = CTL_TABLE(headings);
	PLENUM_CLEANUP(access_done) struct access_table t = {NULL, 0};
	autofree char *text = NULL;
	int r = load(file_of(a, 0), false, &text, &t);

	if (r != CTL_OK)
		return r;
	if (a->json)
		return list_json(&t);
	for (size_t i = 0; i < t.n; i++) {
		ctl_table_add(&table, "%s", t.entries[i].name);
		ctl_table_add(&table, "%s", access_role_to_string(t.entries[i].role));
	}
	return ctl_table_print(&table);
}
