/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets the members of struct spec from the trees of the files with the schema table: there is a
 * function for each shape (scalar, list, map), and none for single keys. It reports values that are
 * wrong by themselves; spec_check.c checks values against each other.
 */
#include "netcfg/base/vec.h"
#include "netcfg/spec/spec_schema.h"

#include <string.h>

#define DESCRIBE_MAX 128
#define FOUND_MAX 48

static void read_map(struct spec_reader *r, const struct spec_table *t, struct spec_node *n,
		     char *base);

/* Describes the value that was found; the text is short enough for a message and safe for a
 * terminal. */
static const char *describe_found(const struct spec_node *n, char *buf, size_t size)
{
	size_t len = 0;

	if (n->kind != SPEC_NODE_SCALAR) {
		snprintf(buf, size, "a %s", n->kind == SPEC_NODE_MAP ? "map" : "list");
	} else if (spec_node_is_null(n)) {
		snprintf(buf, size, "nothing");
	} else {
		buf[len++] = '\'';
		for (const char *c = n->text; *c && len + 6 < size; c++)
			buf[len++] = (char)((unsigned char)*c < ' ' ? ' ' : *c);
		/* Removes a multi-byte character that was cut. */
		if (strlen(n->text) + 6 >= size) {
			while (len > 1 && ((unsigned char)buf[len - 1] & 0xc0) == 0x80)
				len--;
			if ((unsigned char)buf[len - 1] >= 0xc0)
				len--;
			memcpy(buf + len, "...", 3);
			len += 3;
		}
		buf[len++] = '\'';
		buf[len] = '\0';
	}
	return buf;
}

/* Returns the most similar of the words that this version accepts, or NULL if none is similar. */
static const char *near_name(const struct spec_key *k, const struct spec_node *n)
{
	const char *names[16];
	size_t n_names = 0;

	for (size_t i = 0; i < k->n_names && n_names < ARRAY_SIZE(names); i++)
		if (spec_key_is_built(k, k->names[i]))
			names[n_names++] = k->names[i];
	return n->kind == SPEC_NODE_SCALAR ? diag_suggest(n->text, names, n_names) : NULL;
}

/* Reports "expected X, found Y", with an example. */
static void read_expected(struct spec_reader *r, const struct spec_key *k,
			  const struct spec_node *n)
{
	char want[DESCRIBE_MAX], found[FOUND_MAX];
	const char *near;

	if (spec_types[k->type].item && !k->of && n->parent->kind == SPEC_NODE_LIST)
		snprintf(want, sizeof(want), "%s", spec_types[k->type].item);
	else
		spec_types[k->type].describe(k, want, sizeof(want));
	describe_found(n, found, sizeof(found));
	near = near_name(k, n);
	if (near)
		spec_read_error(r, n, "expected %s, found %s; did you mean '%s'?", want, found,
				near);
	else
		spec_read_error(r, n, "expected %s, found %s; write for example '%s: %s'", want,
				found, k->name, k->example);
}

/* Numbers must be without quotes, and text that looks like a number must have quotes, so that all
 * YAML programs read the file in the same way. */
static bool read_quotes_fit(struct spec_reader *r, const struct spec_key *k,
			    const struct spec_node *n)
{
	const struct spec_type_ops *ops = &spec_types[k->type];
	bool number = spec_text_is_number(n->text), truth = spec_text_is_bool(n->text);

	if (!n->plain && ((ops->is_number && number) || (ops->is_bool && truth))) {
		spec_read_error(r, n, "found '%.20s' in quotes; write it without quotes", n->text);
		return false;
	}
	if (n->plain && ((number && !ops->is_number) || (truth && !ops->is_bool)) &&
	    (k->type == SPEC_TYPE_NAME || k->type == SPEC_TYPE_INTERFACE ||
	     k->type == SPEC_TYPE_DEVICE || k->type == SPEC_TYPE_NAMES ||
	     k->type == SPEC_TYPE_PATTERN)) {
		spec_read_error(r, n,
				"expected text, found the %s %.20s; write \"%.20s\" in quotes",
				number ? "number" : "boolean", n->text, n->text);
		return false;
	}
	return true;
}

static void read_scalar(struct spec_reader *r, const struct spec_key *k, struct spec_node *n,
			void *field)
{
	int e;

	if (n->bad)
		return;
	if (n->kind != SPEC_NODE_SCALAR || spec_node_is_null(n)) {
		read_expected(r, k, n);
		return;
	}
	if (!read_quotes_fit(r, k, n))
		return;
	e = spec_types[k->type].parse(n->text, k, field);
	if (e == -ENOMEM)
		r->d->out_of_memory = true;
	else if (e < 0)
		read_expected(r, k, n);
	n->bad = e < 0;
}

/* Appends a zeroed entry to a list member; returns NULL if out of memory. */
static void *list_append(struct spec_reader *r, const struct spec_key *k, char *base)
{
	char **list = (char **)(base + k->offset);
	size_t *n = (size_t *)(base + k->n_offset);
	void *entry = vec_add(list, n, k->size);

	r->d->out_of_memory |= !entry;
	return entry;
}

static bool list_fits(struct spec_reader *r, const struct spec_key *k, const struct spec_node *n,
		      const char *base)
{
	size_t have = *(const size_t *)(base + k->n_offset);
	size_t max = k->max ? k->max : SPEC_LIST_MAX;

	if (have + n->n_children <= max)
		return true;
	spec_read_error(r, n, "the list has %zu entries, at most %zu are allowed",
			have + n->n_children, max);
	return false;
}

static void read_maps(struct spec_reader *r, const struct spec_key *k, struct spec_node *n,
		      char *base)
{
	if (!list_fits(r, k, n, base))
		return;
	for (struct spec_node *item = n->child; item; item = item->next) {
		char *entry;

		if (item->bad)
			continue;
		if (item->kind != SPEC_NODE_MAP) {
			char found[FOUND_MAX];

			spec_read_error(r, item, "expected a map of keys, found %s",
					describe_found(item, found, sizeof(found)));
			continue;
		}
		entry = list_append(r, k, base);
		if (!entry)
			return;
		*(struct diag_pos *)(entry + k->table->pos_offset) = item->pos;
		read_map(r, k->table, item, entry);
	}
}

/* Reads a list of scalars. An empty list is an error, because its meaning would be unclear. */
static void read_scalars(struct spec_reader *r, const struct spec_key *k, struct spec_node *n,
			 char *base)
{
	if (!list_fits(r, k, n, base))
		return;
	if (!n->child)
		spec_read_error(r, n, "the list is empty; write for example '%s: %s'", k->name,
				k->example);
	for (struct spec_node *item = n->child; item; item = item->next) {
		void *entry = list_append(r, k, base);

		if (!entry)
			return;
		read_scalar(r, k, item, entry);
	}
}

static void core_take(struct spec_reader *r, const struct spec_key *k, struct spec_node *n,
		      unsigned core, char *base)
{
	struct spec_node *owner = r->core_owner[core];
	unsigned *entry;

	if (owner) {
		char path[SPEC_PATH_MAX];

		spec_read_error(r, n,
				"core %u is used already by %s on line %u%s%s; use each core once",
				core, spec_node_path(owner, path, sizeof(path)), owner->pos.line,
				owner->pos.file == n->pos.file ? "" : " of ",
				owner->pos.file == n->pos.file ? "" : owner->pos.file);
		return;
	}
	r->core_owner[core] = n;
	entry = list_append(r, k, base);
	if (entry)
		*entry = core;
}

bool spec_cores_parse(const char *text, unsigned *ret_first, unsigned *ret_last)
{
	unsigned v[2] = {0, 0}, part = 0;
	size_t n_digits = 0;

	for (;; text++) {
		if (*text >= '0' && *text <= '9') {
			if (n_digits > 0 && v[part] == 0)
				return false;
			v[part] = 10 * v[part] + (unsigned)(*text - '0');
			n_digits++;
			if (v[part] >= SPEC_CORES_MAX)
				return false;
			continue;
		}
		if (n_digits == 0)
			return false;
		if (*text == '\0')
			break;
		if (*text != '-' || part == 1)
			return false;
		part = 1;
		n_digits = 0;
	}
	*ret_first = v[0];
	*ret_last = v[part];
	return v[0] <= v[part];
}

static void read_core_item(struct spec_reader *r, const struct spec_key *k, struct spec_node *n,
			   char *base)
{
	unsigned first, last;

	if (n->bad)
		return;
	if (n->kind != SPEC_NODE_SCALAR || !spec_cores_parse(n->text, &first, &last)) {
		read_expected(r, k, n);
		return;
	}
	if (first == 0 && last > 0) {
		spec_read_error(
			r, n,
			"the range %s includes core 0, which must be listed by itself; write "
			"'%s: [0, %s%u]' or begin at 1",
			n->text, k->name, last > 1 ? "1-" : "", last);
		return;
	}
	for (unsigned core = first; core <= last; core++)
		core_take(r, k, n, core, base);
}

static void read_cores(struct spec_reader *r, const struct spec_key *k, struct spec_node *n,
		       char *base)
{
	if (n->kind != SPEC_NODE_LIST) {
		read_core_item(r, k, n, base);
		return;
	}
	if (!list_fits(r, k, n, base))
		return;
	if (!n->child)
		spec_read_error(r, n, "the list is empty; write for example '%s: %s'", k->name,
				k->example);
	for (struct spec_node *item = n->child; item; item = item->next)
		read_core_item(r, k, item, base);
}

static void read_value(struct spec_reader *r, const struct spec_key *k, struct spec_node *n,
		       char *base)
{
	if (n->bad)
		return;
	/* Report only one error for a key that this version does not implement, and do not read its
	 * value. */
	if (!spec_key_is_built(k, n->text)) {
		spec_read_error(r, n, "%s", k->not_built);
		n->bad = true;
		return;
	}
	if (k->type == SPEC_TYPE_CORES) {
		read_cores(r, k, n, base);
	} else if (k->type == SPEC_TYPE_MAP) {
		if (n->kind != SPEC_NODE_MAP) {
			read_expected(r, k, n);
			return;
		}
		if (k->table->has_pos)
			*(struct diag_pos *)(base + k->offset + k->table->pos_offset) = n->pos;
		read_map(r, k->table, n, base + k->offset);
	} else if (spec_type_is_list(k->type)) {
		if (n->kind != SPEC_NODE_LIST)
			read_expected(r, k, n);
		else if (k->type == SPEC_TYPE_MAPS)
			read_maps(r, k, n, base);
		else
			read_scalars(r, k, n, base);
	} else {
		read_scalar(r, k, n, base + k->offset);
	}
}

static void read_unknown_key(struct spec_reader *r, const struct spec_table *t,
			     const struct spec_node *n)
{
	const char *names[32];
	char path[SPEC_PATH_MAX], known[SPEC_PATH_MAX] = "";
	const char *near;
	size_t len = 0;

	for (size_t i = 0; i < t->n_keys && i < ARRAY_SIZE(names); i++) {
		names[i] = t->keys[i].name;
		if (len < sizeof(known))
			len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s",
						i ? ", " : "", names[i]);
	}
	near = diag_suggest(n->key, names, MIN_OF(t->n_keys, ARRAY_SIZE(names)));
	spec_node_path(n, path, sizeof(path));
	if (near)
		diag_add(r->d, DIAG_ERROR, &n->key_pos, path, "unknown key; did you mean '%s'?",
			 near);
	else
		diag_add(r->d, DIAG_ERROR, &n->key_pos, path, "unknown key; known here: %s", known);
}

/* Parses the default like a value in the file. */
static void read_fallback(struct spec_reader *r, const struct spec_key *k, char *base)
{
	if (!k->fallback)
		return;
	if (spec_types[k->type].parse(k->fallback, k, base + k->offset) == -ENOMEM)
		r->d->out_of_memory = true;
}

static void read_map(struct spec_reader *r, const struct spec_table *t, struct spec_node *n,
		     char *base)
{
	for (struct spec_node *c = n->child; c; c = c->next) {
		const struct spec_key *k;

		if (!c->key)
			continue;
		k = spec_key_find(t, c->key);
		if (k)
			read_value(r, k, c, base);
		else
			read_unknown_key(r, t, c);
	}
	for (size_t i = 0; i < t->n_keys; i++) {
		const struct spec_key *k = &t->keys[i];

		if (spec_node_member(n, k->name))
			continue;
		if (k->required && !r->is_part)
			spec_read_error(r, n, "the key '%s' is missing; write for example '%s: %s'",
					k->name, k->name, k->example);
		read_fallback(r, k, base);
	}
}

/* Returns the node by which an earlier file set a key of the root. */
static const struct spec_node *root_member(const struct spec_reader *r, const char *key)
{
	for (size_t i = 0; i < r->n_trees; i++) {
		const struct spec_node *n = spec_node_member(r->trees[i], key);

		if (n)
			return n;
	}
	return NULL;
}

void spec_read_tree(struct spec_reader *r, struct spec_node *root)
{
	if (root->bad)
		return;
	if (root->kind != SPEC_NODE_MAP) {
		char found[FOUND_MAX];

		spec_read_error(r, root, "expected 'key: value' lines, found %s",
				describe_found(root, found, sizeof(found)));
		return;
	}
	for (struct spec_node *c = root->child; c; c = c->next) {
		const struct spec_key *k;
		const struct spec_node *earlier;

		if (!c->key)
			continue;
		k = spec_key_find(&spec_schema, c->key);
		if (!k) {
			read_unknown_key(r, &spec_schema, c);
			continue;
		}
		/* entries of this list are merged into the entries that they change */
		if (k->changes)
			continue;
		earlier = root_member(r, c->key);
		if (earlier && earlier != c && !spec_type_is_list(k->type))
			spec_read_error(r, c, "given already on line %u of %s; leave one out",
					earlier->pos.line, earlier->pos.file);
		else
			read_value(r, k, c, (char *)r->spec);
	}
}

/* Sets the defaults of a map that the file does not have. */
static void read_absent(struct spec_reader *r, const struct spec_table *t, char *base)
{
	for (size_t i = 0; i < t->n_keys; i++)
		read_fallback(r, &t->keys[i], base);
}

void spec_read_finish(struct spec_reader *r)
{
	for (size_t i = 0; i < spec_schema.n_keys; i++) {
		const struct spec_key *k = &spec_schema.keys[i];

		if (root_member(r, k->name))
			continue;
		if (k->type == SPEC_TYPE_MAP)
			read_absent(r, k->table, (char *)r->spec + k->offset);
		else
			read_fallback(r, k, (char *)r->spec);
	}
}
