/* SPDX-License-Identifier: BSD-3-Clause */
/* Defines the kinds of three record files (the ticket, the outcome and the rolled-back
 * configuration) and converts their older formats. */
#include "agent/apply/apply_records.h"
#include "netcfg/spec/spec.h"
#include <inttypes.h>
#include <limits.h>
#include <string.h>

/* A file may be larger than the configuration in it, because the file adds a word to each line. */
#define CONFIG_BYTES_MAX (4 * SPEC_FILE_BYTES_MAX)

static int convert_ticket(const char *text, struct state_draft *lines);
const struct state_kind apply_ticket_kind = {.name = "pending",
					     .version = 2,
					     .old_until = 1,
					     .bytes_max = CONFIG_BYTES_MAX,
					     .convert = convert_ticket};
static int convert_outcome(const char *text, struct state_draft *lines);
static const struct state_kind outcome_kind = {.name = "outcome",
					       .version = 2,
					       .old_until = 1,
					       .bytes_max = 65536,
					       .convert = convert_outcome};
static int convert_refused(const char *text, struct state_draft *lines);
static const struct state_kind refused_kind = {.name = "rolled-back",
					       .version = 2,
					       .old_until = 1,
					       .bytes_max = CONFIG_BYTES_MAX,
					       .convert = convert_refused};

/* ---- the ticket ---- */

/* Comments of the old format, and the words that replace them in the present format. The rest of
 * each line is the same. */
static const struct {
	const char *comment, *word;
	bool is_text;
} comments[] = {
	{"# agreed ", "agreed", true},
	{"# makes VFs of ", "vfs-of", false},
	{"# takes workers to VFs ", "moves", false},
	{"# answered ", "answered", false},
};

static void convert_comment(const char *line, struct state_draft *lines)
{
	for (size_t i = 0; i < ARRAY_SIZE(comments); i++) {
		const size_t len = strlen(comments[i].comment);

		if (strncmp(line, comments[i].comment, len) != 0)
			continue;
		state_draft_put(lines, "%s", comments[i].word);
		if (comments[i].is_text) {
			state_draft_text(lines, line + len);
		} else {
			state_draft_put(lines, "%s", line + len);
			state_draft_end(lines);
		}
	}
}

/* Converts the old format: a line "# plenum-pending 1 NUMBER SOURCE CONFIRM STEPS", a line "#
 * CLIENT", further comments, and the configuration. */
static int convert_ticket(const char *text, struct state_draft *lines)
{
	static const char head[] = "# plenum-pending 1 ";
	autofree char *copy = strdup(text);
	char *rest = copy, *line;

	if (!copy)
		return -ENOMEM;
	line = strsep(&rest, "\n");
	if (strncmp(line, head, strlen(head)) != 0 || !rest || strncmp(rest, "# ", 2) != 0)
		return STATE_TORN;
	state_draft_put(lines, "apply %s", line + strlen(head));
	state_draft_end(lines);
	line = strsep(&rest, "\n");
	state_draft_put(lines, "by");
	state_draft_text(lines, line + 2);
	while (rest && *rest == '#')
		convert_comment(strsep(&rest, "\n"), lines);
	if (!rest || !*rest || rest[strlen(rest) - 1] != '\n')
		return STATE_TORN;
	state_draft_block(lines, "config", rest);
	return 0;
}

/* ---- the outcome ---- */

int apply_outcome_save(const char *path, uint64_t number, int error, const char *why)
{
	PLENUM_CLEANUP(state_draft_done) struct state_draft d;

	state_draft_init(&d, &outcome_kind);
	state_draft_put(&d, "apply %" PRIu64 " %d", number, -error);
	state_draft_text(&d, why);
	return state_draft_save(&d, path);
}

/* Converts the old format "NUMBER ERROR REASON", where ERROR is 0 or a negative errno. */
static int convert_outcome(const char *text, struct state_draft *lines)
{
	autofree char *why = NULL;
	uint64_t number;
	int error, at = 0;

	if (sscanf(text, "%" SCNu64 " %d%n", &number, &error, &at) != 2 || error > 0 ||
	    error < -4095 || text[at] != ' ')
		return STATE_TORN;
	text += at + 1;
	if (!strchr(text, '\n'))
		return STATE_TORN;
	why = strndup(text, strcspn(text, "\n"));
	if (!why)
		return -ENOMEM;
	state_draft_put(lines, "apply %" PRIu64 " %d", number, -error);
	state_draft_text(lines, why);
	return 0;
}

int apply_outcome_load(const char *path, uint64_t *ret_number, int *ret_error, struct reason *why)
{
	PLENUM_CLEANUP(state_file_done) struct state_file f;
	int r = state_file_read(&f, &outcome_kind, path);
	uint64_t number;
	int error;

	if (r < 0 || !state_file_line(&f))
		return r < 0 ? r : STATE_TORN;
	state_file_expect(&f, "apply");
	number = state_file_number(&f, UINT64_MAX);
	error = -(int)state_file_number(&f, 4095);
	reason_set_text(why, "%s", state_file_text(&f));
	if (!state_file_line_ends(&f))
		return STATE_TORN;
	*ret_number = number;
	*ret_error = error;
	return 0;
}

int apply_outcome_remove(const char *path)
{
	return state_file_remove(&outcome_kind, path);
}

/* ---- the rolled-back configuration ---- */

int apply_refused_save(const char *path, const char *why, const char *yaml)
{
	PLENUM_CLEANUP(state_draft_done) struct state_draft d;

	state_draft_init(&d, &refused_kind);
	state_draft_put(&d, "why");
	state_draft_text(&d, why);
	state_draft_block(&d, "config", yaml);
	return state_draft_save(&d, path);
}

/* Converts the old format: a line "# REASON", then the configuration. */
static int convert_refused(const char *text, struct state_draft *lines)
{
	const size_t len = strcspn(text, "\n");
	autofree char *why = strndup(text, len);

	if (!why)
		return -ENOMEM;
	if (strncmp(text, "# ", 2) != 0 || !text[len] || text[strlen(text) - 1] != '\n')
		return STATE_TORN;
	state_draft_put(lines, "why");
	state_draft_text(lines, why + 2);
	state_draft_block(lines, "config", text + len + 1);
	return 0;
}

int apply_refused_load(const char *path, struct reason *why, char **ret_yaml)
{
	PLENUM_CLEANUP(state_file_done) struct state_file f;
	int r = state_file_read(&f, &refused_kind, path);

	if (r < 0)
		return r;
	reason_clear(why);
	while (!reason_is_set(why) && state_file_line(&f))
		if (strcmp(state_file_word(&f), "why") == 0)
			reason_set_text(why, "%s", state_file_text(&f));
	*ret_yaml = state_file_block(&f, "config");
	return *ret_yaml ? 0 : -ENOMEM;
}

int apply_refused_remove(const char *path)
{
	return state_file_remove(&refused_kind, path);
}
