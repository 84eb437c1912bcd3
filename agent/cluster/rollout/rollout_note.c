/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of rollout_note.h (state_file.h), with the lines:
 *
 * has GENERATION HASH ROLLOUT LINEAGE
 * failed ROLLOUT ATTEMPT
 * result TURN WORD TEXT
 * turn ROLLOUT LINEAGE ATTEMPT TURN GENERATION HASH UNUSABLE CUT
 * problem HASH
 */
#include "agent/cluster/rollout/rollout_note.h"
#include "netcfg/base/files/state_file.h"
#include <inttypes.h>
#include <string.h>

static const struct state_kind kind = {.name = "rollout", .version = 1, .bytes_max = 1U << 14};

int rollout_note_save(const struct rollout_note *n, const char *path)
{
	PLENUM_CLEANUP(state_draft_done) struct state_draft d;
	const struct rollout_turn *t = &n->now;

	state_draft_init(&d, &kind);
	state_draft_put(&d, "has %" PRIu64 " %s %" PRIu64 " %" PRIu64, n->has.generation,
			n->has.hash, n->number, n->lineage);
	state_draft_end(&d);
	state_draft_put(&d, "failed %" PRIu64 " %" PRIu64, n->failed_number, n->failed_attempt);
	state_draft_end(&d);
	state_draft_put(&d, "result %" PRIu64 " %s", n->turn,
			n->result ? rollout_result_to_string(n->result) : "none");
	state_draft_text(&d, n->why);
	if (t->number) { /* this line is also written after the turn has ended, because n_cut counts
			    over all turns of an attempt */
		state_draft_put(&d,
				"turn %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
				" %s %" PRIu64 " %" PRIu64,
				t->number, t->lineage, t->attempt, t->turn, t->version.generation,
				t->version.hash, t->unusable, t->n_cut);
		state_draft_end(&d);
		for (uint64_t i = 0; i < t->n_problems; i++) {
			state_draft_put(&d, "problem %" PRIu64, t->problems[i]);
			state_draft_end(&d);
		}
	}
	return state_draft_save(&d, path);
}

static void parse_version(struct state_file *f, struct rollout_version *v)
{
	v->generation = state_file_number(f, INT64_MAX);
	state_file_copy(f, v->hash, sizeof(v->hash));
	if (!rollout_hash_is_valid(v->hash))
		f->bad = true;
}

static void parse_result(struct state_file *f, struct rollout_note *n)
{
	const char *word;

	n->turn = state_file_number(f, INT64_MAX);
	word = state_file_word(f);
	for (enum rollout_result r = ROLLOUT_DONE; r < ROLLOUT_RESULT_MAX; r++)
		if (strcmp(word, rollout_result_to_string(r)) == 0)
			n->result = r;
	word = state_file_has_more(f) ? state_file_text(f) : "";
	snprintf(n->why, sizeof(n->why), "%s", word);
}

static void parse_turn(struct state_file *f, struct rollout_turn *t)
{
	t->number = state_file_number(f, INT64_MAX);
	t->lineage = state_file_number(f, INT64_MAX);
	t->attempt = state_file_number(f, INT64_MAX);
	t->turn = state_file_number(f, INT64_MAX);
	parse_version(f, &t->version);
	t->unusable = state_file_number(f, UINT32_MAX);
	t->n_cut = state_file_number(f, UINT32_MAX);
}

static int parse(struct state_file *f, struct rollout_note *n)
{
	while (state_file_line(f)) {
		char word[16];

		state_file_copy(f, word, sizeof(word));
		if (strcmp(word, "has") == 0) {
			parse_version(f, &n->has);
			n->number = state_file_number(f, INT64_MAX);
			n->lineage = state_file_number(f, INT64_MAX);
		} else if (strcmp(word, "failed") == 0) {
			n->failed_number = state_file_number(f, INT64_MAX);
			n->failed_attempt = state_file_number(f, INT64_MAX);
		} else if (strcmp(word, "result") == 0) {
			parse_result(f, n);
		} else if (strcmp(word, "turn") == 0) {
			parse_turn(f, &n->now);
		} else if (strcmp(word, "problem") == 0 &&
			   n->now.n_problems < ROLLOUT_PROBLEMS_MAX) {
			n->now.problems[n->now.n_problems++] = state_file_number(f, INT64_MAX);
		} else {
			return STATE_TORN;
		}
		if (!state_file_line_ends(f))
			return STATE_TORN;
	}
	return 0;
}

static void set_none(struct rollout_note *n)
{
	*n = (struct rollout_note){.number = 0};
	rollout_hash("[]\n", 3, n->has.hash);
}

int rollout_note_load(struct rollout_note *ret, const char *path)
{
	PLENUM_CLEANUP(state_file_done) struct state_file f = {.kind = &kind};
	int r = state_file_read(&f, &kind, path);

	set_none(ret);
	if (r == STATE_MISSING)
		return 0;
	if (r == 0)
		r = parse(&f, ret);
	if (r < 0)
		set_none(ret);
	return r;
}
