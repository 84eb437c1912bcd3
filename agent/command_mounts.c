/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the list of mounts made by command, in memory and in a file of the run directory. */
#include "agent/command_mounts.h"
#include "agent/base/path.h"
#include "netcfg/base/files/state_file.h"
#include "netcfg/base/vec.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

static const struct state_kind kind = {
	.name = "mounts", .version = 1, .scope = STATE_OF_BOOT, .bytes_max = 1U << 20};

/* ---- the file ---- */

static const char *const locks_names[LAUNCH_LOCKS_MAX] = {"local", "none", "cluster"};

/* Writes the line "mount WORKER SOFT LOCKS rw,suid,dev,noexec,noatime,bytes=N,operations=N PEER
 * EXPORT /path". An agent of another version skips the options that it does not know. */
static void put(struct state_draft *d, const struct command_mount *e)
{
	const struct launch_mount *w = &e->what;
	char limits[80];

	state_draft_put(d, "mount %u %u %s", e->worker, w->soft_s, locks_names[w->locks]);
	snprintf(limits, sizeof(limits), ",bytes=%" PRIu64 ",operations=%" PRIu64,
		 w->limits.bytes_per_s, w->limits.operations_per_s);
	state_draft_put(d, "%s%s%s%s%s%s", w->read_only ? "ro" : "rw", w->suid ? ",suid" : "",
			w->dev ? ",dev" : "", e->no_exec ? ",noexec" : "",
			e->no_atime ? ",noatime" : "", limits);
	state_draft_word(d, w->peer);
	state_draft_word(d, w->export_name);
	state_draft_text(d, w->path);
}

int command_mounts_save(struct command_mounts *cm)
{
	PLENUM_CLEANUP(state_draft_done) struct state_draft d;
	size_t n = 0;
	int r;

	state_draft_init(&d, &kind);
	for (size_t i = 0; i < cm->n; i++) {
		if (cm->list[i].state != COMMAND_MOUNT_KEPT)
			continue;
		put(&d, &cm->list[i]);
		n++;
	}
	r = n > 0 ? state_draft_save(&d, cm->path) : state_file_remove(&kind, cm->path);
	cm->unsaved = r < 0;
	return r;
}

static uint32_t parse_locks(struct state_file *f)
{
	const char *word = state_file_word(f);

	for (uint32_t i = 0; i < LAUNCH_LOCKS_MAX; i++)
		if (strcmp(word, locks_names[i]) == 0)
			return i;
	f->bad = true;
	return LAUNCH_LOCKS_LOCAL;
}

static uint64_t parse_limit(const char *mode, const char *name)
{
	const char *at = strstr(mode, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

static bool parse(struct state_file *f, struct command_mount *e)
{
	struct launch_mount *w = &e->what;
	const char *mode, *path;

	state_file_expect(f, "mount");
	e->worker = (uint32_t)state_file_number(f, UINT32_MAX);
	w->soft_s = (uint32_t)state_file_number(f, 86400);
	w->locks = parse_locks(f);
	mode = state_file_word(f);
	w->read_only = strncmp(mode, "ro", 2) == 0;
	w->suid = strstr(mode, ",suid") != NULL;
	w->dev = strstr(mode, ",dev") != NULL;
	w->limits.bytes_per_s = parse_limit(mode, ",bytes=");
	w->limits.operations_per_s = parse_limit(mode, ",operations=");
	e->no_exec = strstr(mode, ",noexec") != NULL;
	e->no_atime = strstr(mode, ",noatime") != NULL;
	state_file_copy(f, w->peer, sizeof(w->peer));
	state_file_copy(f, w->export_name, sizeof(w->export_name));
	path = state_file_text(f);
	if (!command_mounts_path_is_valid(path) || !spec_name_is_valid(w->peer) ||
	    !spec_name_is_valid(w->export_name))
		return false;
	strcpy(w->path, path);
	e->state = COMMAND_MOUNT_KEPT;
	return state_file_line_ends(f);
}

static int load(struct command_mounts *cm, struct state_file *f)
{
	while (state_file_line(f)) {
		struct command_mount e = {.client = 0}, *added;

		if (!parse(f, &e) || cm->n == COMMAND_MOUNTS_MAX ||
		    command_mounts_find(cm, e.what.path))
			return STATE_TORN;
		added = command_mounts_add(cm);
		if (!added)
			return -ENOMEM;
		*added = e;
	}
	return 0;
}

int command_mounts_open(struct command_mounts *cm, const char *run_dir, struct reason *why)
{
	PLENUM_CLEANUP(state_file_done) struct state_file f = {.kind = &kind};
	int r;

	cm->path = path_join(run_dir, "command-mounts");
	if (!cm->path)
		return -ENOMEM;
	r = state_file_read(&f, &kind, cm->path);
	if (r >= 0)
		r = load(cm, &f);
	if (r < 0 && r != STATE_MISSING) {
		cm->n = 0;
		reason_set_text(why, "mounts made by command are lost: cannot read %.200s (%s)",
				cm->path, state_file_error(r));
	}
	return r == -ENOMEM ? r : 0;
}

void command_mounts_done(struct command_mounts *cm)
{
	cm->timer = loop_source_free(cm->timer);
	free(ptr_take(cm->list));
	free(ptr_take(cm->path));
	cm->n = 0;
}

void command_mounts_clear(struct command_mounts *cm)
{
	cm->n = 0;
	if (cm->path)
		(void)command_mounts_save(cm);
}

/* ---- the list ---- */

struct command_mount *command_mounts_find(const struct command_mounts *cm, const char *path)
{
	for (size_t i = 0; i < cm->n; i++)
		if (strcmp(cm->list[i].what.path, path) == 0)
			return &cm->list[i];
	return NULL;
}

struct command_mount *command_mounts_add(struct command_mounts *cm)
{
	struct command_mount *e = vec_add(&cm->list, &cm->n, sizeof(*e));

	if (e)
		/* Clears the padding too, because configurations are compared bytewise. */
		memset(e, 0, sizeof(*e));
	return e;
}

void command_mounts_remove(struct command_mounts *cm, struct command_mount *e)
{
	const size_t i = (size_t)(e - cm->list);

	memmove(e, e + 1, (--cm->n - i) * sizeof(*e));
}

void command_mounts_wake(struct command_mounts *cm)
{
	if (cm->timer)
		loop_timer_arm(cm->timer, 0);
}

void command_mounts_end(struct command_mounts *cm, struct command_mount *e)
{
	const bool was_kept = e->state == COMMAND_MOUNT_KEPT;

	if (e->state == COMMAND_MOUNT_ENDING)
		return;
	e->state = COMMAND_MOUNT_ENDING;
	cm->changed = true;
	if (was_kept)
		(void)command_mounts_save(cm);
	command_mounts_wake(cm);
}

void command_mounts_fail(struct command_mounts *cm, struct command_mount *e, unsigned status,
			 const char *code, const struct reason *why)
{
	if (!e->code) {
		e->status = status;
		e->code = code;
		e->why = *why;
	}
	command_mounts_end(cm, e);
}

bool command_mounts_is_configured(const struct spec *spec, const char *path)
{
	for (size_t i = 0; spec && i < spec->n_workers; i++)
		for (size_t j = 0; j < spec->workers[i].n_mounts; j++)
			if (strcmp(spec->workers[i].mounts[j].path, path) == 0)
				return true;
	return false;
}

bool command_mounts_made(const struct command_mounts *cm, const struct spec *spec, const char *path)
{
	return command_mounts_find(cm, path) && !command_mounts_is_configured(spec, path);
}

bool command_mounts_path_is_valid(const char *path)
{
	const size_t len = strlen(path);

	if (len < 2 || len >= sizeof(((struct launch_mount *)0)->path) || path[0] != '/' ||
	    path[len - 1] == '/')
		return false;
	for (const char *at = path; at; at = strchr(at + 1, '/')) {
		const size_t word = strcspn(at + 1, "/");

		if (word == 0 || (at[1] == '.' && (word == 1 || (word == 2 && at[2] == '.'))))
			return false;
	}
	return true;
}

struct mounts_rule command_mounts_rule(const struct command_mounts *cm, const char *path)
{
	const struct command_mount *e = command_mounts_find(cm, path);

	if (!e)
		return (struct mounts_rule){.attributes = 0};
	return (struct mounts_rule){.by_command = true,
				    .needs_server = e->state == COMMAND_MOUNT_NEW,
				    .by_agent = e->unmount != NULL,
				    .attributes = (e->no_exec ? MOUNT_ATTR_NOEXEC : 0) |
						  (e->no_atime ? MOUNT_ATTR_NOATIME : 0)};
}
