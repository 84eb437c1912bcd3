/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cluster's configuration document: a list of sections, each with the hosts that it is for and
 * keys of plenum.yaml. Sections that match this host are merged below the trees of the host's own
 * files: a value of an own file counts before one of a section, and a later section before an
 * earlier one. The merge takes place before the trees are read, so that one reader and one set of
 * checks apply to the result, and an error names the line of the document.
 */
#include "netcfg/base/vec.h"
#include "netcfg/spec/spec_edit.h"
#include "netcfg/spec/spec_schema.h"

#include <fnmatch.h>
#include <string.h>

#define SECTIONS_MAX 64
#define PATTERNS_MAX 64
#define STARS_MAX 4 /* patterns with more stars take long to compare */

/* Keys that a document may have. It cannot make a host export, mount or run anything, and cannot
 * change its name, its management network, its administrators, its API or its cluster. */
static const char *const allowed[] = {"networks", "net", "ha", "peers", "policy", "rdma", "port"};

static bool is_allowed(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++)
		if (strcmp(allowed[i], key) == 0)
			return true;
	return false;
}

/* ---- the form of a document ---- */

static bool pattern_is_valid(const struct spec_node *n)
{
	size_t stars = 0, len;

	if (n->kind != SPEC_NODE_SCALAR || !n->text)
		return false;
	len = strspn(n->text,
		     "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-*?");
	for (const char *c = n->text; *c; c++)
		stars += *c == '*';
	return len > 0 && len < PLENUM_NAME_MAX && !n->text[len] && stars <= STARS_MAX;
}

static void check_match(struct spec_reader *r, const struct spec_node *section)
{
	const struct spec_node *m = spec_node_member(section, "match");

	if (!m) {
		spec_read_error(r, section,
				"the key 'match' is missing; write for which hosts the section is, "
				"for example 'match: [\"storage-*\"]'");
		return;
	}
	if (m->kind != SPEC_NODE_LIST || !m->child || m->n_children > PATTERNS_MAX) {
		spec_read_error(r, m,
				"expected a list of 1 to %d patterns of host names; write for "
				"example 'match: [\"storage-*\"]'",
				PATTERNS_MAX);
		return;
	}
	for (const struct spec_node *p = m->child; p; p = p->next)
		if (!pattern_is_valid(p))
			spec_read_error(r, p,
					"'%.64s' is not a pattern of host names; write letters, "
					"digits, '.', '_', '-', '?' for one character and at most "
					"%d '*' for any characters",
					p->text ? p->text : "", STARS_MAX);
}

/* Injected faults cut traffic for a test; a document must not enable them on all hosts. */
static void check_policy(struct spec_reader *r, const struct spec_node *policy)
{
	const struct spec_node *n = spec_node_member(policy, "fault-injection");

	if (n)
		spec_read_error(r, n,
				"a document of the cluster cannot have this key; write it into the "
				"files of the host");
}

static void check_section(struct spec_reader *r, const struct spec_node *section)
{
	if (section->bad)
		return;
	if (section->kind != SPEC_NODE_MAP) {
		spec_read_error(r, section,
				"expected a section; write for example '- match: [\"storage-*\"]' "
				"and keys of plenum.yaml below it");
		return;
	}
	check_match(r, section);
	for (const struct spec_node *c = section->child; c; c = c->next)
		if (c->key && strcmp(c->key, "match") != 0 && spec_key_find(&spec_schema, c->key) &&
		    !is_allowed(c->key))
			spec_read_error(r, c,
					"a document of the cluster cannot have this key; write it "
					"into the files of the host (allowed here: networks, net, "
					"ha, peers, policy, rdma, port)");
	if (spec_node_member(section, "policy"))
		check_policy(r, spec_node_member(section, "policy"));
}

static void check_sections(struct spec_reader *r, const struct spec_node *root)
{
	if (root->bad)
		return;
	if (root->kind != SPEC_NODE_LIST)
		spec_read_error(r, root,
				"expected a list of sections; write for example '- match: "
				"[\"storage-*\"]' and keys of plenum.yaml below it");
	else if (root->n_children > SECTIONS_MAX)
		spec_read_error(r, root, "the document has %zu sections, at most %d are allowed",
				root->n_children, SECTIONS_MAX);
	else
		for (const struct spec_node *s = root->child; s; s = s->next)
			check_section(r, s);
}

/* ---- the merge ---- */

static bool matches(const struct spec_node *section, const char *host)
{
	const struct spec_node *m = spec_node_member(section, "match");

	for (const struct spec_node *p = m ? m->child : NULL; p; p = p->next)
		if (p->kind == SPEC_NODE_SCALAR && p->text && fnmatch(p->text, host, 0) == 0)
			return true;
	return false;
}

static struct spec_node *find_root(const struct spec_reader *r, const char *key)
{
	for (size_t i = 0; i < r->n_trees; i++) {
		struct spec_node *n = spec_node_member(r->trees[i], key);

		if (n)
			return n;
	}
	return NULL;
}

static struct spec_node *find_entry(const struct spec_reader *r, const char *list,
				    const struct spec_node *item)
{
	const struct spec_node *name = spec_node_member(item, "name");

	for (size_t i = 0; name && name->text && i < r->n_trees; i++) {
		struct spec_node *n = spec_edit_find(r->trees[i], list, name->text);

		if (n)
			return n;
	}
	return NULL;
}

static void note_override(struct spec_reader *r, const struct spec_key *k,
			  const struct spec_node *own, const struct spec_node *below)
{
	if (spec_override_below(r->spec, k, own, below) < 0)
		r->d->out_of_memory = true;
}

/* Adds to `own`, a map of the host's files, the members that only `below`, a map of the document,
 * has. */
static void merge_map(struct spec_reader *r, const struct spec_key *k, struct spec_node *own,
		      struct spec_node *below)
{
	if (own->kind != SPEC_NODE_MAP || below->kind != SPEC_NODE_MAP)
		return; /* one of the two is not a map, which another check reports as an error */
	for (struct spec_node *c = below->child, *next; c; c = next) {
		const struct spec_node *had = c->key ? spec_node_member(own, c->key) : NULL;

		next = c->next;
		if (!had)
			spec_edit_hang(own, spec_edit_take(c));
		else if (strcmp(c->key, "name") != 0)
			note_override(r, k, had, c);
	}
}

/* Merges those entries of the document's list that the host's files have too, and removes them from
 * the list. Returns whether entries are left. */
static bool merge_entries(struct spec_reader *r, const struct spec_key *k, struct spec_node *list)
{
	for (struct spec_node *item = list->child, *next; item; item = next) {
		struct spec_node *own = find_entry(r, k->name, item);

		next = item->next;
		if (!own)
			continue;
		merge_map(r, k, own, item);
		/* keep the last entry: spec_edit_take() would free the list together with it */
		if (list->n_children == 1)
			return false;
		spec_node_free(spec_edit_take(item));
	}
	return list->child;
}

/* Moves a member of a section to `base`, the tree for values that the host's files do not have. */
static void put_base(struct spec_node *base, struct spec_node *member)
{
	struct spec_node *had = spec_node_member(base, member->key);

	if (!had) {
		spec_edit_hang(base, spec_edit_take(member));
		return;
	}
	for (struct spec_node *item = member->child, *next; item; item = next) {
		const bool last = member->n_children == 1;

		next = item->next;
		spec_edit_append(had, spec_edit_take(item));
		if (last) /* spec_edit_take() has freed the empty list */
			return;
	}
}

static void merge_member(struct spec_reader *r, struct spec_node *base, struct spec_node *c)
{
	const struct spec_key *k = spec_key_find(&spec_schema, c->key);
	struct spec_node *own = find_root(r, c->key);

	if (!k || !is_allowed(c->key) || !own) {
		put_base(base, c); /* the reader reports an unknown key */
		return;
	}
	if (k->type == SPEC_TYPE_MAP)
		merge_map(r, k, own, c);
	else if (k->type == SPEC_TYPE_MAPS && c->kind == SPEC_NODE_LIST &&
		 own->kind == SPEC_NODE_LIST) {
		if (merge_entries(r, k, c))
			put_base(base, c);
	} else
		note_override(r, k, own, c);
}

static void merge_section(struct spec_reader *r, struct spec_node *base, struct spec_node *section)
{
	for (struct spec_node *c = section->child, *next; c; c = next) {
		next = c->next;
		if (c->key && strcmp(c->key, "match") != 0)
			merge_member(r, base, c);
	}
}

static bool follows(const struct spec_reader *r)
{
	const struct spec_node *n = spec_node_member(find_root(r, "cluster"), "config");

	return n && n->text && strcmp(n->text, "follow") == 0;
}

/* Adds an empty tree for the values that no own file has. */
static struct spec_node *add_base(struct spec_reader *r)
{
	struct spec_node *base = spec_edit_new();
	struct spec_node **tree = base ? vec_add(&r->trees, &r->n_trees, sizeof(base)) : NULL;

	if (!tree) {
		spec_node_free(base);
		r->d->out_of_memory = true;
		return NULL;
	}
	base->pos = r->document->pos;
	*tree = base;
	return base;
}

void spec_document_merge(struct spec_reader *r)
{
	struct spec_node *base, *sections[SECTIONS_MAX];
	const struct spec_node *name = find_root(r, "host");
	char host[256] = "";
	size_t n = 0;

	if (!r->document)
		return;
	if (!follows(r)) {
		diag_add(r->d, DIAG_NOTE, &r->document->pos, NULL,
			 "this document of the cluster has no effect without 'cluster.config: "
			 "follow'; remove the file, or write that key");
		return;
	}
	check_sections(r, r->document);
	if (diag_has_errors(r->d))
		return;
	if (name && name->text)
		snprintf(host, sizeof(host), "%s", name->text);
	else if (gethostname(host, sizeof(host) - 1) < 0)
		return; /* reported later */
	base = add_base(r);
	if (!base)
		return;
	for (struct spec_node *s = r->document->child; s; s = s->next)
		if (matches(s, host))
			sections[n++] = s;
	while (n-- > 0) {
		struct spec_node *s = spec_edit_take(sections[n]);

		merge_section(r, base, s);
		spec_node_free(s);
	}
}

/* ---- a document before hosts have it ---- */

void spec_document_read(struct spec_reader *r)
{
	r->is_part = true;
	check_sections(r, r->document);
	if (diag_has_errors(r->d))
		return;
	for (struct spec_node *s = r->document->child, *next; s; s = next) {
		next = s->next;
		s = spec_edit_take(s);
		spec_node_free(spec_edit_take(spec_node_member(s, "match")));
		spec_read_tree(r, s);
		spec_node_free(s);
	}
}
