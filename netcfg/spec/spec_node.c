/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts libyaml's events to a tree. Only this file includes yaml.h, so it also rejects the YAML
 * features that a configuration must not use (anchors, tags, aliases that expand exponentially).
 */
#include "netcfg/spec/spec_node.h"
#include "netcfg/spec/spec.h"

#include <string.h>
#include <yaml.h>

/* State of the conversion. The open containers are linked by their parent pointers. */
struct node_builder {
	const char *file;
	struct diag *d;
	struct spec_node *root, *open; /* open: the innermost container that is not closed yet */
	unsigned depth;
	size_t n_nodes, n_documents;
	/* The open map has a key without a value so far. Its text is NULL if the key was
	 * invalid. */
	bool have_key;
	char *key;
	struct diag_pos key_pos;
};

struct spec_node *spec_node_free(struct spec_node *n)
{
	while (n) {
		struct spec_node *next = n->next;

		spec_node_free(n->child); /* recursion is at most SPEC_DEPTH_MAX deep */
		free(n->text);
		free(n->key);
		free(n);
		n = next;
	}
	return NULL;
}

struct spec_node *spec_node_member(const struct spec_node *n, const char *key)
{
	if (!n || n->kind != SPEC_NODE_MAP)
		return NULL;
	for (struct spec_node *c = n->child; c; c = c->next)
		if (c->key && strcmp(c->key, key) == 0)
			return c;
	return NULL;
}

struct spec_node *spec_node_item(const struct spec_node *n, size_t index)
{
	if (!n || n->kind != SPEC_NODE_LIST)
		return NULL;
	for (struct spec_node *c = n->child; c; c = c->next)
		if (c->index == index)
			return c;
	return NULL;
}

struct spec_node *spec_node_map_at(struct spec_node *root, const struct diag_pos *pos)
{
	for (struct spec_node *n = root; n; n = n->next) {
		struct spec_node *found;

		if (n->kind == SPEC_NODE_MAP && n->pos.file == pos->file &&
		    n->pos.line == pos->line && n->pos.column == pos->column)
			return n;
		found = spec_node_map_at(n->child, pos);
		if (found)
			return found;
	}
	return NULL;
}

/* Returns the name of an item, or NULL if the item has no name. Messages refer to the item by this
 * name, which does not depend on the item's position. */
static const char *item_name(const struct spec_node *n)
{
	const struct spec_node *name =
		n->kind == SPEC_NODE_MAP ? spec_node_member(n, "name") : NULL;

	if (!name || name->kind != SPEC_NODE_SCALAR || !spec_name_is_valid(name->text))
		return NULL;
	return name->text;
}

const char *spec_node_path(const struct spec_node *n, char *buf, size_t size)
{
	const char *name;
	size_t len;

	if (!n->parent) {
		buf[0] = '\0';
		return buf;
	}
	spec_node_path(n->parent, buf, size);
	len = strlen(buf);
	name = n->parent->kind == SPEC_NODE_LIST ? item_name(n) : NULL;
	if (name)
		snprintf(buf + len, size - len, "[%s]", name);
	else if (n->parent->kind == SPEC_NODE_LIST)
		snprintf(buf + len, size - len, "[%zu]", n->index);
	else
		snprintf(buf + len, size - len, "%s%.60s", len ? "." : "", n->key ? n->key : "?");
	return buf;
}

bool spec_node_is_null(const struct spec_node *n)
{
	static const char *const words[] = {"", "~", "null", "Null", "NULL"};

	if (n->kind != SPEC_NODE_SCALAR || !n->plain)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(n->text, words[i]) == 0)
			return true;
	return false;
}

static struct diag_pos builder_pos(const struct node_builder *b, const yaml_mark_t *m)
{
	return (struct diag_pos){b->file, (unsigned)m->line + 1, (unsigned)m->column + 1};
}

static const char *builder_path(const struct node_builder *b, char *buf, size_t size)
{
	buf[0] = '\0';
	if (!b->open)
		return buf;
	spec_node_path(b->open, buf, size);
	if (b->open->kind == SPEC_NODE_LIST) {
		size_t len = strlen(buf);

		snprintf(buf + len, size - len, "[%zu]", b->open->n_children);
	} else if (b->have_key && b->key) {
		size_t len = strlen(buf);

		snprintf(buf + len, size - len, "%s%.60s", len ? "." : "", b->key);
	}
	return buf;
}

#define builder_error(b, pos, ...)                                                       \
	do {                                                                             \
		char path_[SPEC_PATH_MAX];                                               \
		diag_add((b)->d, DIAG_ERROR, pos, builder_path(b, path_, sizeof(path_)), \
			 __VA_ARGS__);                                                   \
	} while (0)

static int builder_no_memory(struct node_builder *b)
{
	b->d->out_of_memory = true;
	return -ENOMEM;
}

/* Anchors and tags are rejected because they change a value without a visible sign, aliases because
 * they can expand exponentially. */
static bool builder_refuse_decoration(struct node_builder *b, const yaml_char_t *anchor,
				      const yaml_char_t *tag, const struct diag_pos *pos)
{
	if (anchor)
		builder_error(
			b, pos,
			"an anchor (&%.40s) is not allowed; write the value out where it is used",
			(const char *)anchor);
	if (tag)
		builder_error(b, pos, "a tag (%.40s) is not allowed; write the value without it",
			      (const char *)tag);
	return anchor || tag;
}

/* Adds a new node to the open container, with the key that was read before it. */
static int builder_add(struct node_builder *b, enum spec_node_kind kind, const struct diag_pos *pos,
		       bool bad, struct spec_node **ret)
{
	struct spec_node *n;

	if (++b->n_nodes > SPEC_NODES_MAX) {
		builder_error(b, pos, "more than %d values; the file is too large", SPEC_NODES_MAX);
		return -EINVAL;
	}
	n = calloc(1, sizeof(*n));
	if (!n)
		return builder_no_memory(b);
	n->kind = kind;
	n->pos = *pos;
	n->bad = bad;
	n->parent = b->open;
	if (!b->open) {
		b->root = n;
		*ret = n;
		return 0;
	}
	if (b->open->kind == SPEC_NODE_MAP) {
		n->bad = bad || !b->key;
		n->key = ptr_take(b->key);
		n->key_pos = b->key_pos;
		b->have_key = false;
	}
	n->index = b->open->n_children++;
	if (b->open->last_child)
		b->open->last_child->next = n;
	else
		b->open->child = n;
	b->open->last_child = n;
	*ret = n;
	return 0;
}

static bool builder_wants_key(const struct node_builder *b)
{
	return b->open && b->open->kind == SPEC_NODE_MAP && !b->have_key;
}

static int builder_key(struct node_builder *b, const char *text, const struct diag_pos *pos)
{
	const struct spec_node *twin = spec_node_member(b->open, text);

	if (b->open->n_children >= SPEC_MAP_KEYS_MAX) {
		builder_error(b, pos, "more than %d keys in one map", SPEC_MAP_KEYS_MAX);
		return -EINVAL;
	}
	b->key = strdup(text);
	if (!b->key)
		return builder_no_memory(b);
	b->key_pos = *pos;
	b->have_key = true;
	if (twin) {
		builder_error(b, pos,
			      "the key is given twice, first on line %u; remove one of the two",
			      twin->key_pos.line);
		free(b->key);
		b->key = NULL;
	}
	return 0;
}

static int builder_scalar(struct node_builder *b, const yaml_event_t *e)
{
	const char *text = (const char *)e->data.scalar.value;
	struct diag_pos pos = builder_pos(b, &e->start_mark);
	bool bad, key = builder_wants_key(b);
	struct spec_node *n;
	int r;

	bad = builder_refuse_decoration(b, e->data.scalar.anchor, e->data.scalar.tag, &pos);
	/* the lengths differ if a text in double quotes contains "\0" */
	if (strlen(text) != e->data.scalar.length) {
		builder_error(b, &pos, "the text holds a NUL character; remove the character");
		bad = true;
	}
	if (key)
		return builder_key(b, text, &pos);
	r = builder_add(b, SPEC_NODE_SCALAR, &pos, bad, &n);
	if (r < 0)
		return r;
	n->plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	n->text = strdup(text);
	return n->text ? 0 : builder_no_memory(b);
}

static int builder_alias(struct node_builder *b, const yaml_event_t *e)
{
	struct diag_pos pos = builder_pos(b, &e->start_mark);
	bool key = builder_wants_key(b);
	struct spec_node *n;
	int r;

	builder_error(b, &pos, "an alias (*%.40s) is not allowed; write the value out",
		      (const char *)e->data.alias.anchor);
	if (key) {
		b->have_key = true;
		b->key_pos = pos;
		return 0;
	}
	r = builder_add(b, SPEC_NODE_SCALAR, &pos, true, &n);
	if (r < 0)
		return r;
	n->text = strdup("");
	return n->text ? 0 : builder_no_memory(b);
}

static int builder_open(struct node_builder *b, enum spec_node_kind kind, const yaml_event_t *e)
{
	bool map = kind == SPEC_NODE_MAP;
	struct diag_pos pos = builder_pos(b, &e->start_mark);
	struct spec_node *n;
	bool bad;
	int r;

	if (builder_wants_key(b)) {
		builder_error(b, &pos, "a key must be text, found a %s", map ? "map" : "list");
		return -EINVAL;
	}
	if (b->depth >= SPEC_DEPTH_MAX) {
		builder_error(b, &pos, "nested deeper than %d levels; no key is that deep",
			      SPEC_DEPTH_MAX);
		return -EINVAL;
	}
	bad = builder_refuse_decoration(
		b, map ? e->data.mapping_start.anchor : e->data.sequence_start.anchor,
		map ? e->data.mapping_start.tag : e->data.sequence_start.tag, &pos);
	r = builder_add(b, kind, &pos, bad, &n);
	if (r < 0)
		return r;
	b->open = n;
	b->depth++;
	return 0;
}

/* Returns 0 at the first document, 1 at a second one: reading then stops, and the first document is
 * still checked. */
static int builder_document(struct node_builder *b, const yaml_event_t *e)
{
	struct diag_pos pos = builder_pos(b, &e->start_mark);

	if (b->n_documents++ == 0)
		return 0;
	builder_error(b, &pos, "a second YAML document begins; write one document per file");
	return 1;
}

static int builder_event(struct node_builder *b, const yaml_event_t *e)
{
	switch (e->type) {
	case YAML_DOCUMENT_START_EVENT:
		return builder_document(b, e);
	case YAML_SCALAR_EVENT:
		return builder_scalar(b, e);
	case YAML_ALIAS_EVENT:
		return builder_alias(b, e);
	case YAML_SEQUENCE_START_EVENT:
		return builder_open(b, SPEC_NODE_LIST, e);
	case YAML_MAPPING_START_EVENT:
		return builder_open(b, SPEC_NODE_MAP, e);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		b->open = b->open->parent;
		b->depth--;
		return 0;
	default:
		return 0;
	}
}

/* Explains the most frequent errors of the parser in terms of the file. */
static const char *syntax_hint(const char *problem)
{
	static const struct {
		const char *problem, *hint;
	} hints[] = {
		{"mapping values are not allowed in this context",
		 "a second ': ' on one line, or wrong indentation; put text with ': ' in quotes"},
		{"could not find expected ':'", "write 'key: value'"},
		{"did not find expected key", "the indentation does not fit the lines above"},
		{"did not find expected '-' indicator",
		 "the indentation does not fit the list above"},
		{"did not find expected ',' or ']'", "a '[' is not closed by ']'"},
		{"did not find expected ',' or '}'", "a '{' is not closed by '}'"},
		{"did not find expected node content",
		 "a value is missing, or the file was cut off"},
		{"found unexpected end of stream", "a quote is not closed"},
		{"found character that cannot start any token",
		 "put the text in quotes, or write spaces for tabs"},
		{"block sequence entries are not allowed in this context",
		 "begin the list on a line of its own"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(hints); i++)
		if (strcmp(problem, hints[i].problem) == 0)
			return hints[i].hint;
	return NULL;
}

static int builder_syntax_error(struct node_builder *b, const yaml_parser_t *p)
{
	struct diag_pos pos = builder_pos(b, &p->problem_mark);
	const char *problem = p->problem ? p->problem : "cannot be read";
	const char *hint = syntax_hint(problem);
	char begun[48] = "";

	if (p->context && p->context_mark.line != p->problem_mark.line)
		snprintf(begun, sizeof(begun), " (begun on line %zu)", p->context_mark.line + 1);
	if (p->error == YAML_MEMORY_ERROR)
		return builder_no_memory(b);
	if (p->error == YAML_READER_ERROR)
		pos = (struct diag_pos){b->file, 0, 0};
	builder_error(b, &pos, "not valid YAML: %s%s%s%s", problem, begun, hint ? "; " : "",
		      hint ? hint : "");
	return -EINVAL;
}

static int builder_run(struct node_builder *b, yaml_parser_t *p)
{
	for (;;) {
		yaml_event_t e;
		bool end;
		int r;

		if (!yaml_parser_parse(p, &e))
			return builder_syntax_error(b, p);
		end = e.type == YAML_STREAM_END_EVENT;
		r = builder_event(b, &e);
		yaml_event_delete(&e);
		if (r < 0)
			return r;
		if (r > 0 || end)
			return 0;
	}
}

int spec_node_parse(const char *file, const char *text, size_t len, struct diag *d,
		    struct spec_node **ret)
{
	struct node_builder b = {.file = file, .d = d};
	yaml_parser_t parser;
	int r;

	r = spec_text_check(file, text, len, d);
	if (r < 0)
		return r;
	if (!yaml_parser_initialize(&parser))
		return builder_no_memory(&b);
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	r = builder_run(&b, &parser);
	yaml_parser_delete(&parser);
	free(b.key);
	if (r < 0) {
		spec_node_free(b.root);
		return r;
	}
	/* A text that has only comments contains no document; "---" alone begins an empty
	 * document. */
	if (b.root && !b.root->bad && spec_node_is_null(b.root))
		b.root = spec_node_free(b.root);
	*ret = b.root;
	return 0;
}
