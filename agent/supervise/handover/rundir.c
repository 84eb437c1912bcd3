/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes the record of processes and mounts, the epoch and the key for file handles.
 * Agents of other versions read the record. */
#include "agent/supervise/handover/rundir.h"
#include "agent/base/path.h"
#include "agent/base/process.h"
#include "netcfg/base/file.h"
#include "netcfg/base/files/state_file.h"
#include "netcfg/base/text.h"
#include "netcfg/base/vec.h"
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/random.h>
#include <sys/stat.h>

#define END_MS 3000 /* time for a killed process to exit */

/* From a newer record, an agent reads only the parts that rundir.h lists. */
static const struct state_kind record_kind = {.name = "record",
					      .version = RUNDIR_RECORD_VERSION,
					      .old_until = 2,
					      .scope = STATE_OF_BOOT,
					      .bytes_max = 16U << 20};
static int convert_epoch(const char *text, struct state_draft *lines);
static const struct state_kind epoch_kind = {
	.name = "epoch", .version = 2, .old_until = 1, .bytes_max = 4096, .convert = convert_epoch};

/* ---- the record ---- */

static void put_id(struct state_draft *d, const uint8_t id[16])
{
	char hex[33];

	for (size_t i = 0; i < 16; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	state_draft_put(d, "%s", hex);
}

static bool parse_id(const char *text, uint8_t id[16])
{
	if (strlen(text) != 32 || text[strspn(text, "0123456789abcdef")])
		return false;
	for (size_t i = 0; i < 16; i++)
		if (sscanf(text + 2 * i, "%2hhx", &id[i]) != 1)
			return false;
	return true;
}

/* Writes the lines "mount 0:52 ID PEER EXPORT rw,suid,dev,cluster /as/configured" and "at
 * /real/path". */
static void put_mount(struct state_draft *d, const struct rundir_mount *m)
{
	state_draft_put(d, "mount %u:%u", m->major, m->minor);
	put_id(d, m->what.id);
	state_draft_word(d, m->what.peer);
	state_draft_word(d, m->what.export_name);
	state_draft_put(d, "%s%s%s%s%s", m->what.read_only ? "ro" : "rw",
			m->what.suid ? ",suid" : "", m->what.dev ? ",dev" : "",
			m->what.locks == LAUNCH_LOCKS_CLUSTER ? ",cluster" : "",
			m->by_agent ? ",by-agent" : "");
	state_draft_text(d, m->what.path);
	state_draft_put(d, "at");
	state_draft_text(d, m->path);
}

/* Parses a mount. The device numbers are required: without them the entry could mean another
 * program's mount. The other fields may be in the format of another version. */
static bool parse_mount(struct state_file *f, struct rundir_mount *ret)
{
	const struct launch_mount none = {.fuse_fd = -1, .state_fd = -1};
	const char *mode;

	*ret = (struct rundir_mount){.what = none};
	if (sscanf(state_file_word(f), "%u:%u", &ret->major, &ret->minor) != 2)
		return false;
	f->bad |= !parse_id(state_file_word(f), ret->what.id);
	state_file_copy(f, ret->what.peer, sizeof(ret->what.peer));
	state_file_copy(f, ret->what.export_name, sizeof(ret->what.export_name));
	mode = state_file_word(f);
	ret->what.read_only = strncmp(mode, "ro", 2) == 0;
	ret->what.suid = strstr(mode, ",suid") != NULL;
	ret->what.dev = strstr(mode, ",dev") != NULL;
	ret->by_agent = strstr(mode, ",by-agent") != NULL;
	if (strstr(mode, ",cluster"))
		ret->what.locks = LAUNCH_LOCKS_CLUSTER;
	snprintf(ret->what.path, sizeof(ret->what.path), "%s", state_file_text(f));
	if (!state_file_line_ends(f))
		ret->what = none;
	return true;
}

static void put_fuse(struct state_draft *d, const char *word, const struct rundir_fuse *fuse)
{
	state_draft_put(d, "%s %d", word, fuse->fd);
	put_id(d, fuse->id);
	state_draft_put(d, "%d", fuse->state_fd);
	state_draft_end(d);
}

static void put_process(struct state_draft *d, const struct rundir_process *p)
{
	state_draft_put(d, "process %d %" PRIu64 " worker %u launch %u restarts %" PRIu64, p->pid,
			p->start_time, p->worker_id, p->launch_version, p->n_restarts);
	state_draft_end(d);
	for (uint32_t i = 0; i < p->n_fuse; i++)
		put_fuse(d, "fuse", &p->fuse[i]);
	for (uint32_t i = 0; i < p->n_shared; i++)
		put_fuse(d, "lane", &p->shared[i]);
	for (uint32_t i = 0; i < p->n_states; i++) {
		state_draft_put(d, "export %d", p->states[i].fd);
		state_draft_word(d, p->states[i].export);
		state_draft_end(d);
	}
	if (p->died_ms) { /* agents that do not know this line skip it */
		state_draft_put(d, "died %" PRIu64, p->died_ms);
		state_draft_text(d, p->died_of);
	}
}

static int write_record(const struct rundir *rd)
{
	PLENUM_CLEANUP(state_draft_done) struct state_draft d;
	autofree char *path = path_join(rd->run, "record");

	state_draft_init(&d, &record_kind);
	for (size_t i = 0; i < rd->n_processes; i++)
		put_process(&d, &rd->processes[i]);
	for (size_t i = 0; i < rd->n_mounts; i++)
		put_mount(&d, &rd->mounts[i]);
	return path ? state_draft_save(&d, path) : -ENOMEM;
}

static int save_record(struct rundir *rd)
{
	int r = write_record(rd);

	rd->unsaved = r < 0;
	return r;
}

int rundir_save_again(struct rundir *rd)
{
	return rd->unsaved ? save_record(rd) : 0;
}

static int push_process(struct rundir *rd, const struct rundir_process *new)
{
	struct rundir_process *p = vec_add(&rd->processes, &rd->n_processes, sizeof(*p));

	if (!p)
		return -ENOMEM;
	*p = *new;
	return 0;
}

static void mount_done(struct rundir_mount *m)
{
	cleanup_close(&m->what.state_fd);
	free(m->path);
}

static int push_mount(struct rundir *rd, const struct rundir_mount *new, const char *path)
{
	autofree char *copy = strdup(path);
	struct rundir_mount *m = copy ? vec_add(&rd->mounts, &rd->n_mounts, sizeof(*m)) : NULL;

	if (!m)
		return -ENOMEM;
	*m = *new;
	m->path = ptr_take(copy);
	return 0;
}

/* Parses a process. If the line is of another version, reads only its beginning. */
static bool parse_process(const struct rundir *rd, struct state_file *f, struct rundir_process *ret)
{
	uint32_t id, launch;
	uint64_t restarts;

	memset(ret, 0, sizeof(*ret));
	ret->pid = (pid_t)state_file_number(f, INT_MAX);
	ret->start_time = state_file_number(f, UINT64_MAX);
	if (f->bad || ret->pid <= 1)
		return false;
	if (rd->record_version != RUNDIR_RECORD_VERSION)
		return true;
	state_file_expect(f, "worker");
	id = (uint32_t)state_file_number(f, UINT32_MAX);
	state_file_expect(f, "launch");
	launch = (uint32_t)state_file_number(f, UINT32_MAX);
	state_file_expect(f, "restarts");
	restarts = state_file_number(f, UINT64_MAX);
	if (state_file_line_ends(f)) {
		ret->worker_id = id;
		ret->launch_version = launch;
		ret->n_restarts = restarts;
	}
	return true;
}

static void parse_fuse(struct rundir *rd, struct state_file *f, bool is_shared)
{
	struct rundir_process *p = rd->n_processes ? &rd->processes[rd->n_processes - 1] : NULL;
	struct rundir_fuse fuse = {.state_fd = -1};
	uint32_t *n;

	if (!p)
		return;
	n = is_shared ? &p->n_shared : &p->n_fuse;
	fuse.fd = (int)state_file_number(f, INT_MAX);
	f->bad |= !parse_id(state_file_word(f), fuse.id);
	(void)sscanf(state_file_text(f), "%d", &fuse.state_fd); /* -1: none */
	if (!f->bad && *n < (is_shared ? LAUNCH_SHARED_MOUNTS_MAX : LAUNCH_MOUNTS_MAX))
		(is_shared ? p->shared : p->fuse)[(*n)++] = fuse;
}

static void parse_export(struct rundir *rd, struct state_file *f)
{
	struct rundir_process *p = rd->n_processes ? &rd->processes[rd->n_processes - 1] : NULL;
	struct rundir_state state;

	state.fd = (int)state_file_number(f, INT_MAX);
	state_file_copy(f, state.export, sizeof(state.export));
	if (p && !f->bad && p->n_states < LAUNCH_EXPORTS_MAX)
		p->states[p->n_states++] = state;
}

static void parse_death(struct rundir *rd, struct state_file *f)
{
	struct rundir_process *p = rd->n_processes ? &rd->processes[rd->n_processes - 1] : NULL;
	const uint64_t ms = state_file_number(f, INT64_MAX);
	const char *why = state_file_text(f);

	if (!p || f->bad)
		return;
	p->died_ms = ms;
	snprintf(p->died_of, sizeof(p->died_of), "%s", why);
	text_clean(p->died_of);
}

/* An invalid line, such as a truncated one, is skipped. */
static int parse_line(struct rundir *rd, struct state_file *f, struct rundir_mount *mount,
		      bool *have_mount)
{
	const char *word = state_file_word(f);
	struct rundir_process process;

	if (strcmp(word, "mount") == 0)
		*have_mount = parse_mount(f, mount);
	else if (strcmp(word, "at") == 0 && *have_mount)
		return push_mount(rd, mount, state_file_text(f));
	else if (strcmp(word, "fuse") == 0 || strcmp(word, "lane") == 0)
		parse_fuse(rd, f, *word == 'l');
	else if (strcmp(word, "export") == 0)
		parse_export(rd, f);
	else if (strcmp(word, "died") == 0)
		parse_death(rd, f);
	else if (strcmp(word, "process") == 0 && parse_process(rd, f, &process))
		return push_process(rd, &process);
	return 0;
}

/* Reads each valid line, also of a damaged record or a newer version. */
static int load_record(struct rundir *rd)
{
	autofree char *path = path_join(rd->run, "record");
	PLENUM_CLEANUP(state_file_done) struct state_file f = {.kind = &record_kind};
	struct rundir_mount mount;
	bool have_mount = false;
	int r;

	rd->record_error = path ? state_file_read(&f, &record_kind, path) : -ENOMEM;
	if (rd->record_error == -ENOMEM)
		return -ENOMEM;
	if (rd->record_error == STATE_OTHER_BOOT)
		return 0;
	rd->record_version = f.version;
	do
		r = state_file_line(&f) ? parse_line(rd, &f, &mount, &have_mount) : 1;
	while (r == 0);
	return r < 0 ? r : 0;
}

int rundir_add_process(struct rundir *rd, const struct rundir_process *p)
{
	struct rundir_process own = *p;
	int r = process_start(p->pid, &own.start_time);

	own.adopted = true;
	for (size_t i = 0; i < rd->n_processes; i++)
		if (rd->processes[i].pid == p->pid) {
			rd->processes[i] = own;
			return r < 0 ? r : save_record(rd);
		}
	if (r >= 0)
		r = push_process(rd, &own);
	return r < 0 ? r : save_record(rd);
}

int rundir_del_process(struct rundir *rd, pid_t pid)
{
	for (size_t i = 0; i < rd->n_processes; i++)
		if (rd->processes[i].pid == pid) {
			rd->processes[i] = rd->processes[--rd->n_processes];
			return save_record(rd);
		}
	return 0;
}

int rundir_add_mount(struct rundir *rd, unsigned major, unsigned minor, const char *path,
		     const struct launch_mount *what, bool by_agent)
{
	struct rundir_mount m = {
		.major = major, .minor = minor, .what = *what, .by_agent = by_agent};
	int r;

	m.what.fuse_fd = m.what.state_fd = -1;
	r = push_mount(rd, &m, path);
	return r < 0 ? r : save_record(rd);
}

int rundir_mark_mount(struct rundir *rd, const char *path, bool by_agent)
{
	for (size_t i = 0; i < rd->n_mounts; i++)
		if (strcmp(rd->mounts[i].path, path) == 0) {
			rd->mounts[i].by_agent = by_agent;
			return save_record(rd);
		}
	return 0;
}

int rundir_del_mount(struct rundir *rd, const char *path)
{
	for (size_t i = 0; i < rd->n_mounts; i++)
		if (strcmp(rd->mounts[i].path, path) == 0) {
			mount_done(&rd->mounts[i]);
			rd->mounts[i] = rd->mounts[--rd->n_mounts];
			return save_record(rd);
		}
	return 0;
}

/* ---- opening, cleaning ---- */

static int make_dirs(const char *path, mode_t mode, struct reason *why)
{
	char part[4096];
	size_t len = strlen(path);

	if (len >= sizeof(part))
		return -ENAMETOOLONG;
	for (size_t i = 1; i <= len; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, path[i] ? 0755 : mode) < 0 && errno != EEXIST) {
			int r = -errno;

			reason_set_text(why, "%s: %s", part, strerror(-r));
			return r;
		}
	}
	return 0;
}

int rundir_open(const char *run, const char *state, struct rundir *ret, pid_t *ret_owner,
		struct reason *why)
{
	struct rundir rd = {.lock = RUN_LOCK_NONE};
	int r;

	reason_clear(why);
	r = make_dirs(run, 0755, why);
	if (r >= 0)
		r = make_dirs(state, 0700, why);
	if (r >= 0) {
		rd.run = realpath(run, NULL);
		rd.state = realpath(state, NULL);
		r = rd.run && rd.state ? 0 : -errno;
	}
	if (r >= 0)
		r = run_lock_take(rd.run, &rd.lock, ret_owner, why);
	if (r >= 0)
		r = load_record(&rd);
	if (r < 0) {
		rundir_done(&rd);
		return r;
	}
	*ret = rd;
	return 0;
}

void rundir_done(struct rundir *rd)
{
	for (size_t i = 0; i < rd->n_mounts; i++)
		mount_done(&rd->mounts[i]);
	free(rd->mounts);
	free(rd->processes);
	run_lock_done(&rd->lock);
	free(rd->run);
	free(rd->state);
	*rd = (struct rundir){.lock = RUN_LOCK_NONE};
}

int rundir_restore(struct rundir *rd)
{
	autofree char *record = path_join(rd->run, "record");
	int r = record ? make_dirs(rd->run, 0755, NULL) : -ENOMEM;

	if (r >= 0)
		r = run_lock_restore(&rd->lock, rd->run);
	if (r < 0 || access(record, F_OK) == 0)
		return r;
	r = save_record(rd);
	return r < 0 ? r : 1;
}

/* Opens the pidfd before it compares the start time. So the pidfd refers to the compared process,
 * even if the pid is reused later. */
int rundir_open_process(const struct rundir_process *p)
{
	autoclose int pidfd = pidfd_open(p->pid, 0);
	uint64_t start;

	if (pidfd < 0 || process_start(p->pid, &start) < 0 || start != p->start_time)
		return -ESRCH;
	return fd_take(pidfd);
}

static void end_process(const struct rundir_process *p, struct events *ev)
{
	autoclose int pidfd = rundir_open_process(p);
	struct pollfd pfd = {.fd = pidfd, .events = POLLIN};

	if (pidfd < 0)
		return;
	events_add(ev, LOG_LEVEL_NOTICE, "agent", "killing worker process %d of another agent",
		   p->pid);
	if (pidfd_send_signal(pidfd, SIGKILL, NULL, 0) < 0)
		return;
	if (poll(&pfd, 1, END_MS) <= 0)
		events_add(ev, LOG_LEVEL_WARNING, "agent",
			   "worker process %d does not exit after SIGKILL", p->pid);
}

void rundir_clean(struct rundir *rd, struct events *ev)
{
	size_t kept = 0;
	int r;

	for (size_t i = 0; i < rd->n_processes; i++)
		if (rd->processes[i].adopted)
			rd->processes[kept++] = rd->processes[i];
		else
			end_process(&rd->processes[i], ev);
	rd->n_processes = kept;
	r = save_record(rd);
	if (r < 0)
		events_add(ev, LOG_LEVEL_WARNING, "agent", "%s/record: %s", rd->run, strerror(-r));
}

/* Converts version 1, which has only the number. */
static int convert_epoch(const char *text, struct state_draft *lines)
{
	uint32_t epoch;
	int at = 0;

	if (sscanf(text, "%" SCNu32 "%n", &epoch, &at) != 1 || strcmp(text + at, "\n") != 0)
		return STATE_TORN;
	state_draft_put(lines, "epoch %" PRIu32, epoch);
	state_draft_end(lines);
	return 0;
}

/* Reads the epoch from the file. Returns 0 if the file has no epoch or cannot be read. */
static uint32_t stored_epoch(const char *path)
{
	PLENUM_CLEANUP(state_file_done) struct state_file f;
	int r = state_file_read(&f, &epoch_kind, path);
	uint32_t epoch = 0;

	if (r == 0 && state_file_line(&f)) {
		state_file_expect(&f, "epoch");
		epoch = (uint32_t)state_file_number(&f, UINT32_MAX);
	}
	if (r < 0 && r != STATE_MISSING)
		log_warning("cannot read %s (%s); using the clock as the epoch", path,
			    state_file_error(r));
	return epoch;
}

static void store_epoch(const char *path, uint32_t epoch)
{
	PLENUM_CLEANUP(state_draft_done) struct state_draft d;

	state_draft_init(&d, &epoch_kind);
	state_draft_put(&d, "epoch %" PRIu32, epoch);
	state_draft_end(&d);
	if (state_draft_save(&d, path) < 0)
		log_debug("cannot write %s; using the clock as the epoch", path);
}

uint32_t rundir_next_epoch(struct rundir *rd)
{
	autofree char *path = path_join(rd->state, "epoch");
	const uint32_t stored = path ? stored_epoch(path) : 0, now = (uint32_t)time(NULL);

	rd->epoch = MAX_OF(MAX_OF(rd->epoch, stored) + 1, now);
	if (path)
		store_epoch(path, rd->epoch);
	return rd->epoch;
}

/* If two processes create the key for file handles at the same moment, both use the same key,
 * because link(2) succeeds for only one of them. */
static int make_key(const char *path)
{
	autofree char *new = NULL;
	char key[LAUNCH_KEY_BYTES];
	int r;

	if (asprintf(&new, "%s.made", path) < 0)
		return -ENOMEM;
	if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key))
		return -EIO;
	r = file_write(new, key, sizeof(key), 0600);
	if (r < 0)
		return r;
	r = link(new, path) < 0 && errno != EEXIST ? -errno : 0;
	unlink(new);
	return r < 0 ? r : file_sync_folder(path);
}

int rundir_open_key(const struct rundir *rd)
{
	autofree char *path = path_join(rd->state, "handle-key");
	autoclose int fd = -1;
	struct stat st;
	int r = 0;

	if (!path)
		return -ENOMEM;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT) {
		r = make_key(path);
		if (r < 0)
			return r;
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	}
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) && st.st_size == LAUNCH_KEY_BYTES ? fd_take(fd) : -EUCLEAN;
}
