/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Configurations made by walking the schema: every key occurs, with values of its type, in every
 * combination. An accepted one prints in a normal form with the same meaning; a refused one has an
 * error with a position. PLENUM_SPEC_SEED replays a run.
 */
#include "netcfg/spec/spec_schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define VALID 1000 /* at least as many are accepted, and survive the round trip */

struct maker {
	uint64_t state;
	FILE *out;
	bool selects;	 /* the device of the leg is selected */
	unsigned core;	 /* the next free core */
	unsigned number; /* for all kinds of unique values */
	unsigned index;	 /* of the current list entry */
	enum spec_role role;
};

static uint32_t any(struct maker *m, uint32_t n)
{
	m->state ^= m->state << 13;
	m->state ^= m->state >> 7;
	m->state ^= m->state << 17;
	return (uint32_t)(m->state >> 33) % n;
}

/* ---- values ---- */

/* Names refer to each other: the n-th entry of a list is named by its number, and a reference
 * means one of the first three. */
static void make_name(struct maker *m, const struct spec_table *t, const struct spec_key *k)
{
	char list[8] = "x";

	for (size_t i = 0; i < spec_schema.n_keys; i++)
		if (spec_schema.keys[i].table == t)
			snprintf(list, sizeof(list), "%.5s", spec_schema.keys[i].name);
	if (strcmp(k->name, "network") == 0)
		fprintf(m->out, "netwo%u", m->index);
	else if (strcmp(k->name, "name") == 0)
		fprintf(m->out, "%s%u", list, m->index);
	else
		fprintf(m->out, "%s%u", k->name, any(m, 3));
}

static void make_number(struct maker *m, const struct spec_key *k)
{
	const uint32_t max = k->max ? k->max : 1000;
	const uint32_t span = max > k->min ? max - k->min : 0;

	if (strcmp(k->name, "dscp") == 0) {
		fprintf(m->out, "%u", m->index);
		return;
	}
	fprintf(m->out, "%u", k->min + (span ? any(m, span + 1) : 0));
}

static void make_seconds(struct maker *m, const struct spec_key *k)
{
	static const struct {
		char letter;
		unsigned seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
	const uint32_t s = k->min + any(m, k->max > k->min ? k->max - k->min + 1 : 1);
	const size_t u = any(m, ARRAY_SIZE(units));

	if (s % units[u].seconds == 0)
		fprintf(m->out, "%u%c", s / units[u].seconds, units[u].letter);
	else
		fprintf(m->out, "%us", s);
}

/* Words that this version refuses are for the golden cases. */
static void make_enum(struct maker *m, const struct spec_key *k)
{
	const char *word;

	do
		word = k->names[any(m, (uint32_t)k->n_names)];
	while (!*word || !spec_key_is_built(k, word));
	if (k->offset == offsetof(struct spec_worker, role) && strcmp(k->name, "role") == 0)
		m->role = strcmp(word, "compute") == 0 ? SPEC_ROLE_COMPUTE : SPEC_ROLE_FRONTEND;
	fputs(word, m->out);
}

static void make_cores(struct maker *m)
{
	const unsigned n = 1 + any(m, 4);

	m->core += any(m, 3);
	if (any(m, 2) || n == 1) {
		fprintf(m->out, "[%u]", m->core + 1);
		m->core += 1;
	} else {
		fprintf(m->out, "%u-%u", m->core + 1, m->core + n);
		m->core += n;
	}
}

static void make_scalar(struct maker *m, const struct spec_table *t, const struct spec_key *k)
{
	switch (k->type) {
	case SPEC_TYPE_NAME:
		make_name(m, t, k);
		break;
	case SPEC_TYPE_DEVICE:
		fprintf(m->out, "eth%u", m->index);
		break;
	case SPEC_TYPE_INTERFACE:
		fputs("mgmt0", m->out);
		break;
	case SPEC_TYPE_PATTERN:
		fprintf(m->out, any(m, 2) ? "\"p%u[!a]*\"" : "p%u", m->number++);
		break;
	case SPEC_TYPE_PATH:
		fprintf(m->out, "/p%u", m->number++);
		break;
	case SPEC_TYPE_BOOL:
		fputs(any(m, 2) ? "true" : "false", m->out);
		break;
	case SPEC_TYPE_VFS:
		if (any(m, 2))
			fputs("auto", m->out);
		else
			fprintf(m->out, "%u", any(m, 64));
		break;
	case SPEC_TYPE_ENUM:
		make_enum(m, k);
		break;
	case SPEC_TYPE_SECONDS:
		make_seconds(m, k);
		break;
	case SPEC_TYPE_RATE:
		fprintf(m->out, "%uMB/s", 1 + any(m, 1000));
		break;
	case SPEC_TYPE_IP:
		fprintf(m->out, "10.%u.255.254", m->index);
		break;
	case SPEC_TYPE_RANGE:
		fprintf(m->out, "10.%u.1.1-10.%u.1.%u/16", m->index, m->index, 2 + any(m, 250));
		break;
	case SPEC_TYPE_FROM:
		fprintf(m->out, "peers%u/e%u", any(m, 2), any(m, 3));
		break;
	default:
		make_number(m, k);
		break;
	}
}

static void make_entry(struct maker *m, const struct spec_key *k)
{
	const unsigned n = m->number++;

	switch (k->type) {
	case SPEC_TYPE_IPS:
		fprintf(m->out, "10.%u.9.%u", n % 4, 1 + n % 250);
		break;
	case SPEC_TYPE_RANGES:
		fprintf(m->out, "10.%u.1.%u", m->index, 1 + n % 250);
		break;
	case SPEC_TYPE_URLS:
		fprintf(m->out, "\"https://10.0.0.%u:2379\"", 1 + n % 250);
		break;
	case SPEC_TYPE_ACCOUNTS:
		fprintf(m->out, "\"%s%u\"", any(m, 2) ? "u" : "", n);
		break;
	case SPEC_TYPE_PRIOS:
		fprintf(m->out, "%u", n % 8);
		break;
	case SPEC_TYPE_NETWORKS:
		fprintf(m->out, "10.%u.0.0/16", n % 250);
		break;
	default:
		fprintf(m->out, "h%u", n);
		break;
	}
}

/* ---- structure ---- */

static void make_map(struct maker *m, const struct spec_table *t, unsigned depth);

static void make_list(struct maker *m, const struct spec_key *k, unsigned depth)
{
	/* Lists that are referred to by name have all their entries, whatever the references
	 * are. */
	const bool is_meant = strcmp(k->name, "networks") == 0 || strcmp(k->name, "peers") == 0;
	const unsigned max = k->max ? MIN_OF(k->max, 3U) : 3;
	const unsigned n = depth == 0 && is_meant ? max : 1 + any(m, max);
	const unsigned index = m->index;

	fputc('[', m->out);
	for (unsigned i = 0; i < n; i++) {
		fputs(i ? ", " : "", m->out);
		if (k->type == SPEC_TYPE_MAPS) {
			m->index = i;
			make_map(m, k->table, depth + 1);
			m->index = index;
		} else {
			make_entry(m, k);
		}
	}
	fputc(']', m->out);
}

/* Classes that fit together: of random combinations hardly one would be valid. */
static void make_ets(struct maker *m)
{
	const unsigned alone = any(m, 8), share = 1 + any(m, 99);
	const char *between = "";

	fputs("[{tc: 0, prios: [", m->out);
	for (unsigned p = 0; p < 8; p++) {
		if (p != alone)
			fprintf(m->out, "%s%u", between, p);
		between = p == alone ? between : ", ";
	}
	fprintf(m->out, "], bandwidth: %u}, {tc: 5, prios: [%u], bandwidth: %u}]", share, alone,
		100 - share);
}

static void make_value(struct maker *m, const struct spec_table *t, const struct spec_key *k,
		       unsigned depth)
{
	if (k->type == SPEC_TYPE_MAP)
		make_map(m, k->table, depth + 1);
	else if (k->type == SPEC_TYPE_CORES)
		make_cores(m);
	else if (strcmp(k->name, "ets") == 0)
		make_ets(m);
	else if (spec_type_is_list(k->type))
		make_list(m, k, depth);
	else
		make_scalar(m, t, k);
}

/* A leg has a device or a match. A role serves mounts or exports. Networks have a range here,
 * because a pool needs cluster.etcd.
 */
static bool fits(struct maker *m, const struct spec_key *k)
{
	if (strcmp(k->name, "pool") == 0)
		return false;
	if (strcmp(k->name, "device") == 0)
		m->selects = any(m, 4) == 0;
	if (strcmp(k->name, "device") == 0 || strcmp(k->name, "match") == 0)
		return m->selects == (k->name[0] == 'm');
	if (strcmp(k->name, "shared-ip") == 0 && m->selects)
		return false;
	if (strcmp(k->name, "mounts") == 0)
		return m->role == SPEC_ROLE_FRONTEND;
	if (strcmp(k->name, "exports") == 0)
		return m->role == SPEC_ROLE_COMPUTE;
	return true;
}

/* Keys that cannot be omitted without a replacement: mostly they are present. */
static bool is_needed(struct maker *m, const struct spec_key *k)
{
	return (strcmp(k->name, "network") == 0 || strcmp(k->name, "range") == 0 ||
		strcmp(k->name, "device") == 0 || strcmp(k->name, "match") == 0 ||
		strcmp(k->name, "driver") == 0 || strcmp(k->name, "management") == 0 ||
		strcmp(k->name, "interface") == 0 || strcmp(k->name, "secret-file") == 0) &&
	       any(m, 50) > 0;
}

static void make_map(struct maker *m, const struct spec_table *t, unsigned depth)
{
	/* Of many dependent keys only a few each time, otherwise hardly any result would be
	 * valid. */
	const uint32_t span = (uint32_t)MAX_OF(2 * t->n_keys, (size_t)8);
	const char *between = "";

	if (depth)
		fputc('{', m->out);
	for (size_t i = 0; i < t->n_keys; i++) {
		const struct spec_key *k = &t->keys[i];

		if (!spec_key_is_built(k, NULL) || !fits(m, k) || k->changes ||
		    (!k->required && !is_needed(m, k) &&
		     any(m, depth ? span : 8) >= (depth ? 2 : 7)))
			continue;
		fprintf(m->out, "%s%s: ", between, k->name);
		make_value(m, t, k, depth);
		between = depth ? ", " : "\n";
	}
	fputs(depth ? "}" : "\n", m->out);
}

/* ---- the test ---- */

static struct spec *parse(const char *text, bool must)
{
	struct diag d = DIAG_INIT;
	struct spec *s = NULL;
	int r = spec_parse("random.yaml", text, strlen(text), &d, &s);

	if (must && r < 0) {
		fprintf(stderr, "%s", text);
		diag_print(&d, stderr);
	}
	assert_true((r == 0) == (s != NULL));
	assert_true((r == 0) != diag_has_errors(&d));
	for (size_t i = 0; i < d.n; i++)
		assert_true(d.entries[i].text && d.entries[i].text[0]);
	diag_done(&d);
	return s;
}

static void note_keys(const struct spec_table *t, const char *text, bool *seen, size_t *n)
{
	for (size_t i = 0; i < t->n_keys; i++) {
		char key[64];

		snprintf(key, sizeof(key), "%s:", t->keys[i].name);
		seen[*n] = seen[*n] || !spec_key_is_built(&t->keys[i], NULL) ||
			   t->keys[i].changes || strstr(text, key);
		(*n)++;
		if (t->keys[i].table && !t->keys[i].changes)
			note_keys(t->keys[i].table, text, seen, n);
	}
}

static void fail_difference(void *user, const char *path, const char *was, const char *will)
{
	fail_msg("%s is %s as it was written, and %s in the normal form:\n%s", path, was, will,
		 (const char *)user);
}

/* Owns s. */
static void round_trip(struct spec *s, char *text)
{
	char *normal = spec_to_yaml(s), *again;
	struct spec *back = parse(normal, true);

	assert_non_null(back);
	spec_compare(s, back, fail_difference, text);
	again = spec_to_yaml(back);
	assert_string_equal(again, normal);
	spec_free(s);
	spec_free(back);
	free(normal);
	free(again);
}

static char *make_text(struct maker *m)
{
	char *text = NULL;
	size_t len;

	m->core = m->number = m->index = 0;
	m->role = SPEC_ROLE_FRONTEND;
	m->out = open_memstream(&text, &len);
	make_map(m, &spec_schema, 0);
	fclose(m->out);
	return text;
}

static void test_random_configurations_round_trip(void **state)
{
	const char *given = getenv("PLENUM_SPEC_SEED");
	const uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
	struct maker m = {.state = seed * 0x9e3779b97f4a7c15 + 1};
	unsigned taken = 0, made = 0;
	bool seen[512] = {false};
	size_t n_keys = 0, n_unseen = 0;

	print_message("PLENUM_SPEC_SEED=%llu\n", (unsigned long long)seed);
	for (; taken < VALID && made < 3 * VALID; made++) {
		char *text = make_text(&m);
		struct spec *s = parse(text, false);

		if (s) {
			taken++;
			n_keys = 0;
			note_keys(&spec_schema, text, seen, &n_keys);
			round_trip(s, text);
		}
		free(text);
	}
	print_message("%u of %u are valid\n", taken, made);
	assert_int_equal(taken, VALID);
	/* Random choices may miss some, not many. */
	for (size_t i = 0; i < n_keys; i++)
		n_unseen += !seen[i];
	print_message("%zu of %zu keys in none of them\n", n_unseen, n_keys);
	assert_in_range(n_unseen, 0, n_keys / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_configurations_round_trip)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
