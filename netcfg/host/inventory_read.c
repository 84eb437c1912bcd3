/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a recorded inventory from JSON. The reader is strict: an unknown member, a wrong type or a
 * value out of range is an error that names its path. It reports all errors together.
 */
#include "netcfg/host/inventory_json.h"
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define JSON_BYTES_MAX (256U << 20)
#define KEYS_MAX 32

/* The current path, such as "links[3]", and the diag that collects errors. */
struct reader {
	struct diag *d;
	struct inventory *inv;
	char path[64];
};

static void complain(struct reader *r, const char *key, const json_t *value, const char *want)
{
	autofree char *found = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
	char path[128];

	snprintf(path, sizeof(path), "%s%s%.48s", r->path, r->path[0] && key[0] ? "." : "", key);
	if (found)
		diag_add(r->d, DIAG_ERROR, NULL, path, "found %.60s, write %s", found, want);
	else
		diag_add(r->d, DIAG_ERROR, NULL, path, "missing; write %s", want);
}

static const char *type_wanted(enum inv_json_type type)
{
	static const char *const texts[] = {
		[INV_JSON_NUMBER] = "a whole number in the member's range",
		[INV_JSON_NODE] = "a NUMA node's number or null",
		[INV_JSON_BOOL] = "true or false",
		[INV_JSON_TEXT] = "a string, at most as long as the member",
		[INV_JSON_KIND] = "a kind of link as the inventory prints it",
		[INV_JSON_MAC] = "a MAC address or null",
		[INV_JSON_IP] = "an IP address or null",
		[INV_JSON_PREFIX] = "ADDRESS/LENGTH or null",
		[INV_JSON_FAMILY] = "4 or 6",
	};

	return texts[type];
}

static bool number_set(void *field, size_t size, const json_t *value)
{
	json_int_t v = json_integer_value(value);

	if (!json_is_integer(value) || v < 0 ||
	    (size < 8 && (uint64_t)v >= UINT64_C(1) << (8 * size)))
		return false;
	switch (size) {
	case 1:
		*(uint8_t *)field = (uint8_t)v;
		break;
	case 2:
		*(uint16_t *)field = (uint16_t)v;
		break;
	case 4:
		*(uint32_t *)field = (uint32_t)v;
		break;
	default:
		*(uint64_t *)field = (uint64_t)v;
	}
	return true;
}

static bool node_set(int *field, const json_t *value)
{
	json_int_t v = json_integer_value(value);

	if (json_is_null(value)) {
		*field = INV_NUMA_NONE;
		return true;
	}
	if (!json_is_integer(value) || v < 0 || v > INT_MAX)
		return false;
	*field = (int)v;
	return true;
}

static bool text_set(char *field, size_t size, const json_t *value)
{
	if (!json_is_string(value) || json_string_length(value) >= size)
		return false;
	inv_text_set(field, size, json_string_value(value));
	return true;
}

static bool kind_set(enum inv_link_kind *field, const json_t *value)
{
	for (int k = 0; json_is_string(value) && k < INV_LINK_KIND_MAX; k++) {
		if (strcmp(json_string_value(value), inv_link_kind_to_string(k)) != 0)
			continue;
		*field = (enum inv_link_kind)k;
		return true;
	}
	return false;
}

static bool family_set(uint8_t *field, const json_t *value)
{
	json_int_t v = json_integer_value(value);

	if (v != 4 && v != 6)
		return false;
	*field = v == 4 ? AF_INET : AF_INET6;
	return true;
}

static bool member_set(const struct inv_json_member *m, void *field, const json_t *value)
{
	const char *text = json_string_value(value);

	switch (m->type) {
	case INV_JSON_NUMBER:
		return number_set(field, m->size, value);
	case INV_JSON_NODE:
		return node_set(field, value);
	case INV_JSON_BOOL:
		*(bool *)field = json_is_true(value);
		return json_is_boolean(value);
	case INV_JSON_TEXT:
		return text_set(field, m->size, value);
	case INV_JSON_KIND:
		return kind_set(field, value);
	case INV_JSON_FAMILY:
		return family_set(field, value);
	case INV_JSON_MAC:
		return json_is_null(value) || (text && mac_addr_parse(text, field) == 0);
	case INV_JSON_IP:
		return (json_is_null(value) && !m->required) ||
		       (text && ip_addr_parse(text, field) == 0);
	case INV_JSON_PREFIX:
		return (json_is_null(value) && !m->required) ||
		       (text && ip_prefix_parse(text, field) == 0);
	}
	return false;
}

static void unknown_members(struct reader *r, const json_t *object, const char *const *known,
			    size_t n_known)
{
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)object, key, value) {
		const char *near;
		size_t i = 0;
		char path[128];

		while (i < n_known && strcmp(known[i], key) != 0)
			i++;
		if (i < n_known)
			continue;
		near = diag_suggest(key, known, n_known);
		snprintf(path, sizeof(path), "%s%s%.48s", r->path, r->path[0] ? "." : "", key);
		if (near)
			diag_add(r->d, DIAG_ERROR, NULL, path,
				 "unknown member; did you mean \"%s\"?", near);
		else
			diag_add(r->d, DIAG_ERROR, NULL, path, "unknown member; leave it out");
	}
}

#define MEMBERS_MAX 40

static int entry_read(struct reader *r, const struct inv_json_list *list, const json_t *object)
{
	const char *known[MEMBERS_MAX];
	char *entry = list->add(r->inv);

	if (!entry)
		return -ENOMEM;
	if (!json_is_object(object)) {
		complain(r, "", object, "an object");
		return 0;
	}
	for (size_t i = 0; i < list->n_members; i++) {
		const struct inv_json_member *m = &list->members[i];
		const json_t *value = json_object_get(object, m->key);

		known[i] = m->key;
		if (value ? !member_set(m, entry + m->offset, value) : m->required)
			complain(r, m->key, value, type_wanted(m->type));
	}
	unknown_members(r, object, known, list->n_members);
	return 0;
}

static int list_read(struct reader *r, const struct inv_json_list *list, const json_t *array)
{
	int res = 0;

	if (!array)
		return 0;
	if (!json_is_array(array)) {
		complain(r, list->key, array, "a list");
		return 0;
	}
	for (size_t i = 0; i < json_array_size(array) && res == 0; i++) {
		snprintf(r->path, sizeof(r->path), "%s[%zu]", list->key, i);
		res = entry_read(r, list, json_array_get(array, i));
	}
	r->path[0] = '\0';
	return res;
}

static int sysctls_read(struct reader *r, const json_t *object)
{
	const char *key;
	json_t *value;
	int res = 0;

	if (!object)
		return 0;
	if (!json_is_object(object)) {
		complain(r, "sysctls", object, "an object");
		return 0;
	}
	json_object_foreach ((json_t *)object, key, value) {
		if (!json_is_string(value)) {
			snprintf(r->path, sizeof(r->path), "sysctls");
			complain(r, key, value, "a string");
			r->path[0] = '\0';
			continue;
		}
		res = inv_sysctl_add(r->inv, key, json_string_value(value));
		if (res < 0)
			break;
	}
	return res;
}

static void blame(struct reader *r, const char *list, size_t i, const char *key, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "%s[%zu].%s", list, i, key);
	diag_add(r->d, DIAG_ERROR, NULL, path, "%s", text);
}

static int name_cmp(const void *a, const void *b)
{
	return strcmp((*(const struct inv_link *const *)a)->name,
		      (*(const struct inv_link *const *)b)->name);
}

/* Rejects two links with the same interface name. */
static int names_check(struct reader *r)
{
	size_t n = r->inv->n_links;
	autofree const struct inv_link **links = calloc(n ? n : 1, sizeof(*links));

	if (!links)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		links[i] = &r->inv->links[i];
	qsort(links, n, sizeof(*links), name_cmp);
	for (size_t i = 1; i < n; i++)
		if (strcmp(links[i]->name, links[i - 1]->name) == 0)
			diag_add(r->d, DIAG_ERROR, NULL, "links",
				 "two links have the name \"%s\"; give each link its own name",
				 links[i]->name);
	return 0;
}

/* Checks the references between entries. The entries are already sorted, so messages name a link by
 * its ifindex. */
static void references_check(struct reader *r)
{
	const struct inventory *inv = r->inv;

	for (size_t i = 0; i < inv->n_links; i++) {
		const struct inv_link *l = &inv->links[i];
		char path[64];

		snprintf(path, sizeof(path), "links (ifindex %" PRIu32 ")", l->ifindex);
		if (l->ifindex == 0 || (i > 0 && l->ifindex == l[-1].ifindex))
			diag_add(r->d, DIAG_ERROR, NULL, path,
				 "ifindexes are above 0 and unique; correct this ifindex");
		if (l->name[0] == '\0')
			diag_add(r->d, DIAG_ERROR, NULL, path,
				 "the link's name is missing; write the name");
	}
	for (size_t i = 0; i < inv->n_addrs; i++)
		if (!inv_link_by_index(inv, inv->addrs[i].ifindex))
			blame(r, "addresses", i, "ifindex",
			      "no link has this ifindex; write the ifindex of a link");
	for (size_t i = 0; i < inv->n_rdma; i++)
		if (inv->rdma[i].ifindex && !inv_link_by_index(inv, inv->rdma[i].ifindex))
			blame(r, "rdma", i, "ifindex",
			      "no link has this ifindex; write the ifindex of a link, or 0");
	for (size_t i = 0; i < inv->n_routes; i++) {
		if (inv->routes[i].oif && !inv_link_by_index(inv, inv->routes[i].oif))
			blame(r, "routes", i, "ifindex",
			      "no link has this ifindex; write the ifindex of a link, or 0");
		if (inv->routes[i].dst.addr.family != inv->routes[i].family)
			blame(r, "routes", i, "dst",
			      "the address family differs from the route's; for all destinations "
			      "write 0.0.0.0/0 or ::/0");
	}
}

static void flag_read(struct reader *r, const json_t *root, const char *key, bool *ret)
{
	const json_t *v = json_object_get(root, key);

	if (v && !json_is_boolean(v))
		complain(r, key, v, type_wanted(INV_JSON_BOOL));
	else if (v)
		*ret = json_is_true(v);
}

static int root_read(struct reader *r, const json_t *root)
{
	const char *known[KEYS_MAX] = {"number",	   "host",	"kernel_release",
				       "addr_owner_known", "soft_roce", "sysctls"};
	size_t n_known = 6;
	const json_t *v;
	int res = 0;

	v = json_object_get(root, "number");
	if (v && !number_set(&r->inv->number, sizeof(r->inv->number), v))
		complain(r, "number", v, type_wanted(INV_JSON_NUMBER));
	v = json_object_get(root, "host");
	if (v && !text_set(r->inv->host, sizeof(r->inv->host), v))
		complain(r, "host", v, type_wanted(INV_JSON_TEXT));
	v = json_object_get(root, "kernel_release");
	if (v && !text_set(r->inv->kernel_release, sizeof(r->inv->kernel_release), v))
		complain(r, "kernel_release", v, type_wanted(INV_JSON_TEXT));
	flag_read(r, root, "addr_owner_known", &r->inv->addr_owner_known);
	flag_read(r, root, "soft_roce", &r->inv->soft_roce);
	for (size_t i = 0; i < inv_json_n_lists && res == 0; i++)
		res = list_read(r, &inv_json_lists[i],
				json_object_get(root, inv_json_lists[i].key));
	if (res == 0)
		res = sysctls_read(r, json_object_get(root, "sysctls"));
	for (size_t i = 0; i < inv_json_n_lists && n_known < KEYS_MAX; i++)
		known[n_known++] = inv_json_lists[i].key;
	unknown_members(r, root, known, n_known);
	if (res == 0) {
		inv_sort(r->inv);
		references_check(r);
		res = names_check(r);
	}
	return res;
}

int inv_from_json(const char *text, size_t len, struct diag *d, struct inventory **ret)
{
	struct reader r = {.d = d};
	size_t n_errors = d->n_errors;
	json_error_t error;
	json_t *root;
	int res;

	if (len > JSON_BYTES_MAX) {
		diag_add(d, DIAG_ERROR, NULL, NULL, "the inventory is larger than %u MiB",
			 JSON_BYTES_MAX >> 20);
		return -EFBIG;
	}
	root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
	if (!root || !json_is_object(root)) {
		if (root)
			diag_add(d, DIAG_ERROR, NULL, NULL,
				 "not an inventory: a JSON object is "
				 "expected");
		else
			diag_add(d, DIAG_ERROR, NULL, NULL, "not JSON: line %d, column %d: %s",
				 error.line, error.column, error.text);
		json_decref(root);
		return -EINVAL;
	}
	r.inv = inv_new();
	res = r.inv ? root_read(&r, root) : -ENOMEM;
	json_decref(root);
	if (res == 0 && (d->n_errors > n_errors || d->out_of_memory))
		res = -EINVAL;
	if (res < 0) {
		inv_free(r.inv);
		return res;
	}
	*ret = r.inv;
	return 0;
}
