/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Carries out `plenum net add`, `set` and so on, and `plenum worker move`: adds, changes and
 * removes entries of `net`, `net-set`, `networks` and `workers-set` in the tree of 50-cli.yaml. Of
 * the keys inside an entry, this file knows only "name", "network", "core" and "cores"; the schema
 * validates the result as a whole.
 */
#include "agent/apply/store_internal.h"
#include "netcfg/base/file.h"
#include "netcfg/spec/spec_edit.h"
#include "netcfg/spec/spec_schema.h"
#include <stdio.h>
#include <string.h>

struct edit {
	struct spec_node *root;
	char *whole; /* the staged whole configuration; NULL: none is staged */
	size_t len;
};

static void edit_done(struct edit *e)
{
	spec_node_free(e->root);
	free(e->whole);
}

/* Loads the staged 50-cli.yaml or, if none is staged, the file on disk. */
static int edit_init(struct store *st, struct edit *e, struct diag *d)
{
	autofree char *text = NULL;
	size_t len = 0;
	int r = st->prepared ? -EINPROGRESS : store_finish_commit(st, d);

	if (r >= 0)
		r = store_read_staged(st, STORE_WHOLE, &e->whole, &e->len);
	if (r >= 0)
		r = store_read_staged(st, STORE_CLI, &text, &len);
	if (r >= 0 && !text && !e->whole) {
		r = file_read(st->cli_file, SPEC_FILE_BYTES_MAX, &text, &len);
		r = r == -ENOENT ? 0 : r;
	}
	if (r >= 0 && text)
		r = spec_node_parse(st->cli_file, text, len, d, &e->root);
	if (r >= 0 && diag_has_errors(d))
		r = -EINVAL;
	if (r >= 0 && !e->root)
		e->root = spec_edit_new();
	return r >= 0 && !e->root ? -ENOMEM : r;
}

static char *edit_text(const struct edit *e)
{
	return e->root->child ? spec_edit_print(e->root) : strdup(STORE_CLI_NONE);
}

static int edit_stage(struct store *st, const struct edit *e, struct diag *d)
{
	autofree char *text = edit_text(e);

	return text ? store_stage(st, e->whole, e->len, text, d) : -ENOMEM;
}

/* Loads the configuration that the edited 50-cli.yaml results in. */
static int edit_try(struct store *st, const struct edit *e, struct diag *d, struct spec **ret)
{
	autofree char *text = edit_text(e);

	return text ? store_try(st, e->whole, e->len, text, d, ret) : -ENOMEM;
}

static int complain(struct diag *d, const char *path, const char *text)
{
	diag_add(d, DIAG_ERROR, NULL, path, "%s", text);
	return -EINVAL;
}

static int parse_json(const char *json, size_t len, struct diag *d, struct spec_node **ret)
{
	struct spec_node *n = NULL;
	int r = spec_node_parse("the request", json, len, d, &n);

	if (r >= 0 && diag_has_errors(d))
		r = -EINVAL;
	if (r >= 0 && (!n || n->kind != SPEC_NODE_MAP))
		r = complain(d, NULL, "expected a JSON object with keys of an entry of 'net'");
	if (r < 0) {
		spec_node_free(n);
		return r;
	}
	*ret = n;
	return 0;
}

/* Moves a network that is given as an object to `networks:`, and refers to it by name. */
static int add_network(struct edit *e, struct spec_node *entry, struct diag *d)
{
	struct spec_node *network = spec_node_member(entry, "network");
	const struct spec_node *name = spec_node_member(network, "name");
	autofree char *text = NULL;
	int r;

	if (!network || network->kind != SPEC_NODE_MAP)
		return 0;
	if (!name || name->kind != SPEC_NODE_SCALAR)
		return complain(d, "network.name",
				"the key 'name' is missing; give the network a name");
	text = strdup(name->text);
	if (!text)
		return -ENOMEM;
	spec_edit_take(network);
	spec_edit_drop_nulls(network);
	free(ptr_take(network->key));
	r = spec_edit_add(e->root, "networks", network);
	return r < 0 ? r : spec_edit_put(entry, "network", text);
}

int store_net_add(struct store *st, const char *json, size_t len, struct diag *d)
{
	PLENUM_CLEANUP(edit_done) struct edit e = {0};
	struct spec_node *entry = NULL;
	int r = edit_init(st, &e, d);

	if (r >= 0)
		r = parse_json(json, len, d, &entry);
	if (r < 0)
		return r;
	spec_edit_drop_nulls(entry);
	r = add_network(&e, entry, d);
	if (r < 0) {
		spec_node_free(entry);
		return r;
	}
	r = spec_edit_add(e.root, "net", entry);
	return r < 0 ? r : edit_stage(st, &e, d);
}

/* ---- changes ---- */

int store_load_next(struct store *st, struct diag *d, struct spec **ret)
{
	struct store_source next;
	int r = store_next(st, &next);

	return r < 0 ? r : spec_load(next.file, next.dropin_dir, d, ret);
}

static const struct spec_net *find_net(const struct spec *spec, const char *name)
{
	for (size_t i = 0; spec && i < spec->n_nets; i++)
		if (strcmp(spec->nets[i].name, name) == 0)
			return &spec->nets[i];
	return NULL;
}

/* Finds the leg's entry in `net:` or `net-set:`, or adds an entry to `net-set:`. */
static int find_entry(struct store *st, struct edit *e, const char *name, struct diag *d,
		      struct spec_node **ret)
{
	struct spec_node *n = spec_edit_find(e->root, "net", name);
	struct spec *spec = NULL;
	int r = 0;

	n = n ? n : spec_edit_find(e->root, "net-set", name);
	if (!n) {
		r = store_load_next(st, d, &spec);
		if (r >= 0 && !find_net(spec, name))
			r = -ENOENT;
		spec_free(spec);
		n = r >= 0 ? spec_edit_new() : NULL;
		if (r >= 0 && (!n || spec_edit_put(n, "name", name) < 0))
			r = -ENOMEM;
		if (r < 0) {
			spec_node_free(n);
			return r;
		}
		r = spec_edit_add(e->root, "net-set", n);
	}
	if (r >= 0)
		*ret = n;
	return r;
}

/* Returns whether a member is superfluous. Removes the member from its entry, and compares the
 * resulting configuration with `yaml`, the configuration with the member. */
static bool is_superfluous(struct store *st, const struct edit *e, struct spec_node *member,
			   const char *yaml)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	autofree char *without = NULL;
	struct spec *spec = NULL;

	spec_edit_take(member);
	if (edit_try(st, e, &d, &spec) >= 0)
		without = spec_to_yaml(spec);
	spec_free(spec);
	return without && strcmp(without, yaml) == 0;
}

/* Removes superfluous members, so that a change that was reverted leaves no entry. by: the key that
 * says which entry is changed. */
static int prune(struct store *st, struct edit *e, struct spec_node *entry, const char *by,
		 struct diag *d)
{
	autofree char *yaml = NULL;
	struct spec *spec = NULL;
	size_t n = entry->n_children;
	int r = edit_try(st, e, d, &spec);

	yaml = r >= 0 ? spec_to_yaml(spec) : NULL;
	spec_free(spec);
	if (r >= 0 && !yaml)
		r = -ENOMEM;
	for (struct spec_node *m = entry->child, *next; r >= 0 && n > 0; n--, m = next) {
		next = m->next;
		if (m->key && strcmp(m->key, by) == 0)
			continue;
		if (is_superfluous(st, e, m, yaml))
			spec_node_free(m);
		else
			spec_edit_hang(entry, m);
	}
	if (r >= 0 && entry->n_children <= 1)
		spec_node_free(spec_edit_take(entry));
	return r;
}

int store_net_set(struct store *st, const char *name, const char *json, size_t len, struct diag *d)
{
	PLENUM_CLEANUP(edit_done) struct edit e = {0};
	struct spec_node *changes = NULL, *entry = NULL;
	bool ours;
	int r = edit_init(st, &e, d);

	if (r >= 0)
		r = parse_json(json, len, d, &changes);
	if (r >= 0 && spec_node_member(changes, "name"))
		r = complain(
			d, "name",
			"a leg cannot be renamed; remove the leg, and add it under the new name");
	if (r >= 0)
		r = add_network(&e, changes, d);
	if (r >= 0)
		r = find_entry(st, &e, name, d, &entry);
	if (r >= 0) {
		ours = strcmp(entry->parent->key, "net") == 0;
		spec_edit_move(entry, changes, "name");
		spec_edit_drop_nulls(entry);
		if (!ours)
			r = prune(st, &e, entry, "name", d);
	}
	spec_node_free(changes);
	return r < 0 ? r : edit_stage(st, &e, d);
}

/* ---- workers ---- */

static const struct spec_worker *find_worker(const struct spec *spec, unsigned core)
{
	for (size_t i = 0; i < spec->n_workers; i++)
		for (size_t j = 0; j < spec->workers[i].n_cores; j++)
			if (spec->workers[i].cores[j] == core)
				return &spec->workers[i];
	return NULL;
}

/* Makes the member `cores` of a change: the cores of the entry, with one core replaced. */
static int make_cores(const struct spec_worker *w, unsigned from, unsigned to, struct diag *d,
		      struct spec_node **ret)
{
	autofree char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return -ENOMEM;
	for (size_t i = 0; i < w->n_cores; i++)
		fprintf(f, "%s%u", i ? ", " : "{cores: [", w->cores[i] == from ? to : w->cores[i]);
	fputs("]}", f);
	if (fclose(f) != 0)
		return -ENOMEM;
	return spec_node_parse("the request", text, strlen(text), d, ret);
}

/* Finds the entry of `workers-set:` that names one of these cores, which the configuration file
 * lists for a worker. */
static struct spec_node *find_worker_set(const struct edit *e, const unsigned *cores, size_t n)
{
	const struct spec_node *list = spec_node_member(e->root, "workers-set");

	for (struct spec_node *item = list ? list->child : NULL; item; item = item->next) {
		const struct spec_node *by = spec_node_member(item, "core");
		char text[16];

		for (size_t i = 0; by && by->text && i < n; i++) {
			snprintf(text, sizeof(text), "%u", cores[i]);
			if (strcmp(by->text, text) == 0)
				return item;
		}
	}
	return NULL;
}

/* Refuses the move if `workers-set:` in an operator's file already changes the worker's entry. */
static int refuse_set(const struct store *st, const struct spec *spec, const struct spec_worker *w,
		      struct diag *d)
{
	for (size_t i = 0; i < spec->n_overrides; i++) {
		const struct spec_override *o = &spec->overrides[i];
		autofree char *file = NULL;

		if (strcmp(o->list, "workers") != 0 || o->entry_pos.file != w->pos.file ||
		    o->entry_pos.line != w->pos.line || o->entry_pos.column != w->pos.column)
			continue;
		file = store_shown_file(st, o->pos.file);
		if (!file)
			return -ENOMEM;
		if (strcmp(file, st->cli_file) == 0)
			continue;
		diag_add(d, DIAG_ERROR, &o->pos, NULL,
			 "%s changes the entry of this worker here; write its cores here, because "
			 "'plenum worker move' does not change this file",
			 o->by_list);
		return -EINVAL;
	}
	return 0;
}

/* Finds or adds the entry of `workers-set:` that changes the entry w. It refers to w by a core that
 * the file of w lists, because an earlier move may have replaced that core since. */
static int find_move(struct edit *e, const struct spec *spec, const struct spec_worker *w,
		     struct diag *d, struct spec_node **ret)
{
	unsigned cores[SPEC_CORES_MAX];
	size_t n =
		MIN_OF(spec_override_cores(spec, w, cores, ARRAY_SIZE(cores)), ARRAY_SIZE(cores));
	char text[32];
	int r;

	if (n == 0) {
		n = MIN_OF(w->n_cores, ARRAY_SIZE(cores));
		memcpy(cores, w->cores, n * sizeof(*cores));
	}
	*ret = find_worker_set(e, cores, n);
	if (*ret)
		return 0;
	snprintf(text, sizeof(text), "{core: %u}", cores[0]);
	r = spec_node_parse("the request", text, strlen(text), d, ret);
	return r < 0 ? r : spec_edit_add(e->root, "workers-set", *ret);
}

/* Changes the worker's core in the tree of 50-cli.yaml. */
static int edit_move(struct store *st, struct edit *e, unsigned from, unsigned to, struct diag *d)
{
	struct spec_node *cores = NULL, *entry = NULL;
	const struct spec_worker *w = NULL;
	struct spec *spec = NULL;
	int r = edit_try(st, e, d, &spec);

	if (r >= 0) {
		w = find_worker(spec, from);
		r = w ? refuse_set(st, spec, w, d) : -ENOENT;
	}
	if (r >= 0)
		r = make_cores(w, from, to, d, &cores);
	if (r >= 0)
		r = find_move(e, spec, w, d, &entry);
	spec_free(spec);
	if (r >= 0) {
		spec_edit_move(entry, cores, "");
		r = prune(st, e, entry, "core", d);
	}
	spec_node_free(cores);
	return r;
}

int store_worker_move(struct store *st, unsigned from, unsigned to, store_check check, void *user,
		      struct diag *d)
{
	PLENUM_CLEANUP(edit_done) struct edit e = {0};
	struct spec *next = NULL;
	int r = edit_init(st, &e, d);

	if (r >= 0)
		r = edit_move(st, &e, from, to, d);
	if (r >= 0 && check) {
		r = edit_try(st, &e, d, &next);
		r = r < 0 ? r : check(next, user, d);
		spec_free(next);
	}
	return r < 0 ? r : edit_stage(st, &e, d);
}

/* ---- removal ---- */

/* Removes the network of a leg unless another leg uses it. */
static void drop_network(struct store *st, struct edit *e, const char *name)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct spec_node *network = spec_edit_find(e->root, "networks", name);
	struct spec *spec = NULL;
	bool used = false;

	if (!network || edit_try(st, e, &d, &spec) < 0)
		return; /* staging will report the error */
	for (size_t i = 0; i < spec->n_nets; i++)
		used = used || strcmp(spec->nets[i].network, name) == 0;
	spec_free(spec);
	if (!used)
		spec_node_free(spec_edit_take(network));
}

/* Refuses to remove a leg that another file defines. changed: the leg has an entry in `net-set:`.
 * If that leg no longer exists, the configuration is invalid; the function then returns 0, because
 * removing the entry may repair it. */
static int refuse_foreign(struct store *st, const char *name, bool changed, struct diag *d)
{
	PLENUM_CLEANUP(diag_done) struct diag ignored = DIAG_INIT;
	const struct spec_net *net;
	struct spec *spec = NULL;
	int r = store_load_next(st, changed ? &ignored : d, &spec);

	if (r < 0)
		return changed ? 0 : r;
	net = find_net(spec, name);
	if (net)
		diag_add(d, DIAG_ERROR, &net->pos, "net",
			 "'plenum net add' did not add '%s'; remove the leg from this file, or use "
			 "'plenum net disable %s'",
			 name, name);
	r = net ? -EPERM : -ENOENT;
	spec_free(spec);
	return r;
}

int store_net_del(struct store *st, const char *name, struct diag *d)
{
	PLENUM_CLEANUP(edit_done) struct edit e = {0};
	const struct spec_node *network = NULL;
	struct spec_node *entry;
	int r = edit_init(st, &e, d);

	if (r < 0)
		return r;
	entry = spec_edit_find(e.root, "net", name);
	if (!entry) {
		entry = spec_edit_find(e.root, "net-set", name);
		r = refuse_foreign(st, name, entry != NULL, d);
		if (r < 0)
			return r;
	}
	spec_edit_take(entry);
	network = spec_node_member(entry, "network");
	if (network && network->kind == SPEC_NODE_SCALAR)
		drop_network(st, &e, network->text);
	spec_node_free(entry);
	return edit_stage(st, &e, d);
}
