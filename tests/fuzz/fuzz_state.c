/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Record files that a new agent finds: any bytes as a whole file, and as the lines of a file with a
 * valid first line, are given to the reader of each kind. The words and texts that the common
 * reader finds are written and read again as the same.
 */
#include "agent/apply/apply_records.h"
#include "agent/apply/history.h"
#include "agent/apply/store.h"
#include "agent/cluster/rollout/rollout_note.h"
#include "agent/command_mounts.h"
#include "agent/lldp/neighbours.h"
#include "agent/supervise/handover/export_record.h"
#include "agent/supervise/handover/rundir.h"
#include "netcfg/base/log.h"
#include "netcfg/plan/plan_owned.h"
#include "netcfg/plan/transport_choice.h"
#include "netcfg/plan/worker/plan_worker_ids.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static const struct state_kind kinds[] = {
	{.name = "agreed", .version = 3, .scope = STATE_OF_NETNS, .bytes_max = 1U << 20},
	{.name = "attempts", .version = 2, .scope = STATE_OF_NETNS, .bytes_max = 1U << 20},
	{.name = "base", .version = 2, .bytes_max = 1U << 20},
	{.name = "epoch", .version = 2, .bytes_max = 1U << 20},
	{.name = "exports", .version = 2, .scope = STATE_OF_BOOT, .bytes_max = 1U << 20},
	{.name = "history", .version = 2, .bytes_max = 1U << 20},
	{.name = "mounts", .version = 1, .scope = STATE_OF_BOOT, .bytes_max = 1U << 20},
	{.name = "neighbours", .version = 2, .scope = STATE_OF_NETNS, .bytes_max = 1U << 20},
	{.name = "outcome", .version = 2, .bytes_max = 1U << 20},
	{.name = "owned", .version = 2, .scope = STATE_OF_NETNS, .bytes_max = 1U << 20},
	{.name = "pending", .version = 2, .bytes_max = 1U << 20},
	{.name = "record", .version = 2, .scope = STATE_OF_BOOT, .bytes_max = 1U << 20},
	{.name = "rolled-back", .version = 2, .bytes_max = 1U << 20},
	{.name = "rollout", .version = 1, .bytes_max = 1U << 14},
	{.name = "workers", .version = 2, .bytes_max = 1U << 20},
};

/* Of fixed names in the state directory. */
static const char *const names[] = {"base",    "command-mounts", "epoch",
				    "exports", "history",	 "record"};

static char dir[64], path[80]; /* path: the input, in memory */
static int fd = -1;
static bool taken;

bool fuzz_input_taken(void)
{
	return taken;
}

static void at_exit(void)
{
	static const char *const others[] = {"plenumd.lock", "plenumd.pid"};

	for (size_t i = 0; i < ARRAY_SIZE(names) + ARRAY_SIZE(others); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir,
			 i < ARRAY_SIZE(names) ? names[i] : others[i - ARRAY_SIZE(names)]);
		unlink(path);
	}
	rmdir(dir);
}

static void make_link(const char *name)
{
	char link[80];

	snprintf(link, sizeof(link), "%s/%s", dir, name);
	if (symlink(path, link) < 0 && errno != EEXIST)
		abort();
}

/* A folder as run and state directory, in which the files with fixed names are the input. */
static void make_folder(void)
{
	if (dir[0])
		return;
	log_set_level(LOG_LEVEL_ERR);
	strcpy(dir, "/dev/shm/plenum-fuzz-state-XXXXXX");
	fd = memfd_create("state", MFD_CLOEXEC);
	if (!mkdtemp(dir) || fd < 0)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		make_link(names[i]);
	atexit(at_exit);
}

static void read_plan_records(const char *text)
{
	struct transport_choice choice = {.n = 0};
	struct plan_worker_ids ids = {.n = 0};
	struct plan_failures failures = {.n = 0};
	struct plan_owned owned = {.path = NULL};
	struct diag d = DIAG_INIT;

	taken |= transport_choice_parse(&choice, text) == 0;
	taken |= plan_failures_load(&failures, path) == 0;
	if (plan_owned_load(&owned, path, &d) < 0 || plan_worker_ids_load(&ids, path, &d) < 0)
		abort();
	taken |= owned.n + ids.n > 0;
	transport_choice_done(&choice);
	plan_failures_clear(&failures);
	plan_owned_done(&owned);
	plan_worker_ids_done(&ids);
	diag_done(&d);
}

/* The next agent takes a larger number, and writes it. */
static void read_epoch(struct rundir *rd)
{
	const uint32_t now = (uint32_t)time(NULL);
	char link[80];

	rd->epoch = 0;
	taken |= rundir_next_epoch(rd) > now + 1;
	snprintf(link, sizeof(link), "%s/epoch", dir);
	unlink(link);
	make_link("epoch");
}

static void read_export_records(void)
{
	struct export_records x = {.file = NULL};

	if (export_records_load(&x, dir) < 0 && x.n > 0)
		abort();
	for (size_t i = 0; i < x.n; i++)
		if (!export_records_find(&x, x.all[i].name, x.all[i].path) && i == 0)
			abort();
	taken |= x.n > 0;
	export_records_done(&x);
}

static void read_command_mounts(void)
{
	struct command_mounts cm = {.n = 0};
	struct reason why = {.code = ""};

	if (command_mounts_open(&cm, dir, &why) < 0 || (reason_is_set(&why) && cm.n > 0))
		abort();
	for (size_t i = 0; i < cm.n; i++)
		if (command_mounts_find(&cm, cm.list[i].what.path) != &cm.list[i])
			abort();
	taken |= cm.n > 0;
	command_mounts_done(&cm);
}

static void read_base(void)
{
	struct diag d = DIAG_INIT;
	struct store st;

	if (store_init(&st, "/nonexistent/plenum.yaml", dir) < 0)
		abort();
	/* The files that it names are not these. */
	taken |= store_check_base(&st, &d) == -ESTALE;
	store_done(&st);
	diag_done(&d);
}

static void read_agent_records(void)
{
	PLENUM_CLEANUP(state_file_done) struct state_file ticket;
	struct neighbours table = {.n = 0};
	autofree char *yaml = NULL;
	struct reason why;
	struct rundir rd;
	struct rollout_note note;
	struct history h;
	uint64_t number;
	pid_t owner;
	int error;

	taken |= neighbours_load(&table, path) == 0;
	neighbours_done(&table);
	taken |= rollout_note_load(&note, path) == 0 && note.number;
	if (!rollout_hash_is_valid(note.has.hash))
		abort();
	taken |= apply_outcome_load(path, &number, &error, &why) == 0;
	taken |= apply_refused_load(path, &why, &yaml) == 0;
	taken |= state_file_read(&ticket, &apply_ticket_kind, path) == 0;
	free(state_file_block(&ticket, "config"));
	if (history_open(&h, dir) < 0 || rundir_open(dir, dir, &rd, &owner, &why) < 0)
		abort();
	taken |= h.n > 0 || rd.n_processes > 0 || rd.n_mounts > 0;
	history_done(&h);
	read_epoch(&rd);
	rundir_done(&rd);
	read_export_records();
	read_command_mounts();
	read_base();
}

static void read_all(const char *text)
{
	const size_t len = strlen(text);

	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, len, 0) != (ssize_t)len)
		abort();
	read_plan_records(text);
	read_agent_records();
}

/* The word and text of each line, as a new file. */
static char *copy_lines(struct state_file *f)
{
	struct state_draft d;
	char *text;

	state_draft_init(&d, f->kind);
	state_file_rewind(f);
	while (state_file_line(f)) {
		state_draft_word(&d, state_file_word(f));
		state_draft_text(&d, state_file_text(f));
	}
	text = state_draft_format(&d);
	state_draft_done(&d);
	if (!text)
		abort();
	return text;
}

static void check_copy(const struct state_kind *kind, const char *text)
{
	PLENUM_CLEANUP(state_file_done) struct state_file f;
	PLENUM_CLEANUP(state_file_done) struct state_file again;
	autofree char *first = NULL, *second = NULL;

	if (state_file_parse(&f, kind, text) < 0)
		abort();
	first = copy_lines(&f);
	if (state_file_parse(&again, kind, first) < 0)
		abort();
	second = copy_lines(&again);
	if (strcmp(first, second) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	autofree char *text = strndup((const char *)data, size);

	make_folder();
	taken = false;
	read_all(text);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct state_draft d;
		autofree char *whole = NULL;

		state_draft_init(&d, &kinds[i]);
		fprintf(d.out, "%s\n", text);
		whole = state_draft_format(&d);
		state_draft_done(&d);
		if (!whole)
			abort();
		read_all(whole);
		check_copy(&kinds[i], whole);
	}
	return 0;
}
