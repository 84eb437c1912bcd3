/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of the agent that need no process: events, files of the run directory, carriers. */
#include "agent/agent.h"
#include "agent/base/child/child_task.h"
#include "agent/supervise/handover/exports.h"
#include "agent/supervise/mounts/mountinfo.h"
#include "netcfg/base/file.h"
#include "netcfg/base/files/state_file.h"
#include "netcfg/base/os/folder.h"
#include "netcfg/base/os/memfd.h"
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#define CHECKED_FD 40

static char dir[64], file[128], state_dir[128];

static int setup(void **state)
{
	strcpy(dir, "/tmp/plenum-test-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(file, sizeof(file), "%s/plenum.yaml", dir);
	snprintf(state_dir, sizeof(state_dir), "%s/state", dir);
	return mkdir(state_dir, 0700);
}

static int teardown(void **state)
{
	return folder_remove(dir);
}

static void write_text(const char *path, const char *text)
{
	assert_int_equal(file_write(path, text, strlen(text), 0600), 0);
}

/* ---- events ---- */

static uint64_t event_now = 1;

static uint64_t event_clock(void)
{
	return event_now;
}

static void test_the_newest_events_are_kept(void **state)
{
	struct events *ev = calloc(1, sizeof(*ev));
	json_t *o;

	events_init(ev);
	ev->now = event_clock;
	log_set_level(LOG_LEVEL_ERR);
	for (int i = 1; i <= EVENTS_KEPT + 10; i++, event_now += EVENTS_REFILL_NS)
		events_add(ev, LOG_LEVEL_NOTICE, i % 2 ? "a" : "b", "event %d", i);
	o = events_to_json(ev, &(struct events_filter){0});
	assert_int_equal(json_integer_value(json_object_get(o, "next")), EVENTS_KEPT + 11);
	json_t *list = json_object_get(o, "events");
	assert_int_equal(json_array_size(list), EVENTS_KEPT);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "seq")), 11);
	json_decref(o);
	o = events_to_json(ev, &(struct events_filter){.since = EVENTS_KEPT + 10, .instance = 0});
	assert_int_equal(json_array_size(json_object_get(o, "events")), 1);
	json_decref(o);
	o = events_to_json(
		ev, &(struct events_filter){.since = EVENTS_KEPT + 11, .instance = ev->instance});
	assert_int_equal(json_array_size(json_object_get(o, "events")), 0);
	json_decref(o);
	/* Numbers of an agent that is gone: the follower gets all there is of this one. */
	o = events_to_json(ev, &(struct events_filter){.since = EVENTS_KEPT + 11,
						       .instance = ev->instance ^ 1});
	assert_int_equal(json_array_size(json_object_get(o, "events")), EVENTS_KEPT);
	assert_int_equal(json_string_length(json_object_get(o, "instance")), 16);
	json_decref(o);
	o = events_to_json(ev, &(struct events_filter){.since = UINT64_MAX, .instance = 0});
	assert_int_equal(json_array_size(json_object_get(o, "events")), EVENTS_KEPT);
	json_decref(o);
	events_add(ev, LOG_LEVEL_INFO, "test", "bad \xff utf-8");
	o = events_to_json(ev, &(struct events_filter){.since = EVENTS_KEPT + 11, .instance = 0});
	assert_int_equal(json_array_size(json_object_get(o, "events")), 1);
	json_decref(o);
	free(ev);
}

static const char *event_text(const struct events *ev, uint64_t seq)
{
	return ev->ring[seq % EVENTS_KEPT].text;
}

/* A text that is cut in the middle of a character would be lost in JSON. */
static void test_long_events_end_after_a_whole_word(void **state)
{
	struct events *ev = calloc(1, sizeof(*ev));
	char text[2 * EVENTS_TEXT_MAX] = "";
	json_t *o;

	events_init(ev);
	ev->now = event_clock;
	log_set_level(LOG_LEVEL_ERR);
	while (strlen(text) < EVENTS_TEXT_MAX)
		strcat(text, "\xe2\x82\xac\xe2\x82\xac ");
	events_add(ev, LOG_LEVEL_INFO, "test", "%s", text);
	events_add_all(ev, LOG_LEVEL_INFO, "test", text);
	o = events_to_json(ev, &(struct events_filter){0});
	for (size_t i = 0; i < 2; i++) {
		const char *cut = json_string_value(
			json_object_get(json_array_get(json_object_get(o, "events"), i), "text"));

		assert_true(strlen(cut) > EVENTS_TEXT_MAX - 12);
		assert_string_equal(cut + strlen(cut) - 7, "\xe2\x82\xac ...");
	}
	json_decref(o);
	free(ev);
}

/* A flapping link does not displace errors and other events from the ring. */
static void test_events_flood_is_damped(void **state)
{
	struct events *ev = calloc(1, sizeof(*ev));

	events_init(ev);
	ev->now = event_clock;
	events_add(ev, LOG_LEVEL_NOTICE, "other", "the first");
	for (int i = 0; i < 100000; i++) {
		events_keep(ev, LOG_LEVEL_WARNING, "eth1", i % 2 ? "up" : "down");
		event_now += NSEC_PER_USEC;
	}
	assert_string_equal(event_text(ev, 1), "the first");
	assert_int_equal(ev->next, 2 + EVENTS_BURST);
	events_keep(ev, LOG_LEVEL_ERR, "eth1", "an error");
	events_keep(ev, LOG_LEVEL_NOTICE, "other", "the second");
	assert_string_equal(event_text(ev, 2 + EVENTS_BURST), "an error");
	assert_string_equal(event_text(ev, 3 + EVENTS_BURST), "the second");
	/* The burst is used up: a read reports the suppressed rest. */
	json_decref(events_to_json(ev, &(struct events_filter){0}));
	assert_int_equal(ev->next, 4 + EVENTS_BURST);
	event_now += EVENTS_REFILL_NS;
	json_decref(events_to_json(ev, &(struct events_filter){0}));
	assert_string_equal(event_text(ev, 4 + EVENTS_BURST),
			    "99976 events were left out: too many in a row");
	/* A calm source says all. */
	for (int i = 0; i < 100; i++) {
		event_now += EVENTS_REFILL_NS;
		events_keep(ev, LOG_LEVEL_NOTICE, "eth1", "calm");
	}
	assert_int_equal(ev->next, 5 + EVENTS_BURST + 100);
	/* One that is forgotten for others has its count said. */
	for (int i = 0; i < EVENTS_BURST + 7; i++)
		events_keep(ev, LOG_LEVEL_NOTICE, "lost", "x");
	event_now++;
	for (int i = 0; i < EVENTS_SOURCES; i++) {
		char name[32];

		snprintf(name, sizeof(name), "source %d", i);
		events_keep(ev, LOG_LEVEL_NOTICE, name, "x");
	}
	for (uint64_t n = ev->next - EVENTS_SOURCES - 1; n < ev->next; n++)
		if (strstr(event_text(ev, n), "7 events were left out"))
			event_now = 0;
	assert_int_equal(event_now, 0);
	free(ev);
}

/* ---- the run directory ---- */

static void test_second_agent_is_refused(void **state)
{
	struct rundir first, second;
	pid_t owner = 0;
	struct reason why;

	assert_int_equal(rundir_open(dir, state_dir, &first, &owner, &why), 0);
	assert_int_equal(rundir_open(dir, state_dir, &second, &owner, &why), -EBUSY);
	assert_int_equal(owner, getpid());
	rundir_done(&first);
	assert_int_equal(rundir_open(dir, state_dir, &second, &owner, &why), 0);
	rundir_done(&second);
}

/* A child that a killed agent forked still holds the lock for a moment. */
static void test_lock_of_killed_agent_is_awaited(void **state)
{
	struct rundir rd;
	pid_t owner = 0, agent, heir = 0;
	int told[2], status;
	struct reason why;

	assert_int_equal(pipe2(told, O_CLOEXEC), 0);
	agent = fork();
	if (agent == 0) {
		if (rundir_open(dir, state_dir, &rd, &owner, &why) < 0)
			_exit(1);
		heir = fork();
		if (heir == 0) {
			pause();
			_exit(0);
		}
		_exit(write(told[1], &heir, sizeof(heir)) == sizeof(heir) ? 0 : 1);
	}
	assert_int_equal(waitpid(agent, &status, 0), agent);
	assert_int_equal(status, 0);
	assert_int_equal(read(told[0], &heir, sizeof(heir)), sizeof(heir));
	if (fork() == 0) {
		poll(NULL, 0, 200);
		_exit(kill(heir, SIGKILL) < 0);
	}
	assert_int_equal(rundir_open(dir, state_dir, &rd, &owner, &why), 0);
	rundir_done(&rd);
	assert_true(wait(&status) > 0);
	assert_int_equal(status, 0);
	close(told[0]);
	close(told[1]);
}

static pid_t child_that_waits(void)
{
	pid_t child = fork();

	if (child == 0) {
		pause();
		_exit(0);
	}
	assert_true(child > 0);
	return child;
}

static void test_record_survives(void **state)
{
	struct launch_mount what = {.path = "/no where",
				    .peer = "b",
				    .export_name = "x",
				    .id = {7},
				    .suid = true,
				    .fuse_fd = -1,
				    .state_fd = -1};
	struct rundir_process recorded = {
		.worker_id = 3,
		.launch_version = LAUNCH_VERSION,
		.n_restarts = 5,
		.n_fuse = 1,
		.n_shared = 1,
		.shared = {{.fd = 20, .state_fd = 21, .id = "fedcba9876543210"}},
		.fuse = {{.fd = 9, .state_fd = 10, .id = {7}}},
		.n_states = 1,
		.states = {{.fd = 12, .export = "scratch"}}};
	struct rundir rd;
	pid_t owner, child = child_that_waits();
	struct reason why;

	assert_int_equal(rundir_open(dir, state_dir, &rd, &owner, &why), 0);
	recorded.pid = child;
	assert_int_equal(rundir_add_process(&rd, &recorded), 0);
	assert_int_equal(rundir_add_mount(&rd, 0, 99, "/nowhere at all", &what, true), 0);
	rundir_done(&rd);
	assert_int_equal(rundir_open(dir, state_dir, &rd, &owner, &why), 0);
	assert_int_equal(rd.n_processes, 1);
	assert_int_equal(rd.n_mounts, 1);
	assert_string_equal(rd.mounts[0].path, "/nowhere at all");
	assert_memory_equal(&rd.mounts[0].what, &what, sizeof(what));
	assert_true(rd.mounts[0].by_agent);
	assert_int_equal(rundir_mark_mount(&rd, "/nowhere at all", false), 0);
	assert_false(rd.mounts[0].by_agent);
	assert_int_equal(rd.record_version, RUNDIR_RECORD_VERSION);
	assert_int_equal(rd.processes[0].worker_id, 3);
	assert_int_equal(rd.processes[0].launch_version, LAUNCH_VERSION);
	assert_int_equal(rd.processes[0].n_restarts, 5);
	assert_int_equal(rd.processes[0].n_fuse, 1);
	assert_int_equal(rd.processes[0].n_shared, 1);
	assert_int_equal(rd.processes[0].shared[0].fd, 20);
	assert_int_equal(rd.processes[0].shared[0].state_fd, 21);
	assert_memory_equal(rd.processes[0].shared[0].id, "fedcba9876543210", 16);
	assert_int_equal(rd.processes[0].fuse[0].fd, 9);
	assert_int_equal(rd.processes[0].fuse[0].state_fd, 10);
	assert_int_equal(rd.processes[0].n_states, 1);
	assert_int_equal(rd.processes[0].states[0].fd, 12);
	assert_string_equal(rd.processes[0].states[0].export, "scratch");
	assert_memory_equal(rd.processes[0].fuse[0].id, what.id, sizeof(what.id));
	assert_false(rd.processes[0].adopted);
	rundir_done(&rd);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void test_recorded_processes_are_ended(void **state)
{
	struct events *ev = calloc(1, sizeof(*ev));
	struct rundir_process recorded = {.worker_id = 3, .launch_version = LAUNCH_VERSION};
	struct rundir rd;
	pid_t owner, child = child_that_waits();
	struct reason why;
	int status;

	events_init(ev);
	assert_int_equal(rundir_open(dir, state_dir, &rd, &owner, &why), 0);
	recorded.pid = child;
	assert_int_equal(rundir_add_process(&rd, &recorded), 0);
	/* A process with our child's pid but another start time is a different process. */
	rd.processes[0].start_time++;
	rd.processes[0].adopted = false;
	rundir_clean(&rd, ev);
	assert_int_equal(kill(child, 0), 0);
	assert_int_equal(rundir_add_process(&rd, &recorded), 0);
	rundir_clean(&rd, ev); /* the running worker is adopted */
	assert_int_equal(kill(child, 0), 0);
	assert_int_equal(rd.n_processes, 1);
	rd.processes[0].adopted = false;
	rundir_clean(&rd, ev);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(rd.n_processes, 0);
	rundir_done(&rd);
	free(ev);
}

static void test_the_epoch_grows(void **state)
{
	struct rundir rd;
	pid_t owner;
	struct reason why;
	uint32_t a, b;

	assert_int_equal(rundir_open(dir, state_dir, &rd, &owner, &why), 0);
	a = rundir_next_epoch(&rd);
	b = rundir_next_epoch(&rd);
	assert_true(b > a);
	rundir_done(&rd);
	assert_int_equal(rundir_open(dir, state_dir, &rd, &owner, &why), 0);
	assert_true(rundir_next_epoch(&rd) > b);
	rundir_done(&rd);
}

static void read_key(const struct rundir *rd, char key[LAUNCH_KEY_BYTES])
{
	autoclose int fd = rundir_open_key(rd);

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, key, LAUNCH_KEY_BYTES, 0), LAUNCH_KEY_BYTES);
}

/* A reboot loses the run directory; handles given to clients must stay valid. */
static void test_key_is_made_once(void **state)
{
	char key[LAUNCH_KEY_BYTES], again[LAUNCH_KEY_BYTES], path[160], other[160];
	struct reason why;
	struct rundir rd;
	struct stat st;
	pid_t owner;

	snprintf(path, sizeof(path), "%s/handle-key", state_dir);
	snprintf(other, sizeof(other), "%s/rebooted", dir);
	assert_int_equal(rundir_open(dir, state_dir, &rd, &owner, &why), 0);
	read_key(&rd, key);
	rundir_done(&rd);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(rundir_open(other, state_dir, &rd, &owner, &why), 0);
	read_key(&rd, again);
	assert_memory_equal(key, again, sizeof(key));
	/* An invalid key is not replaced by a new one, which would make all handles stale. */
	write_text(path, "short");
	assert_int_equal(rundir_open_key(&rd), -EUCLEAN);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(rundir_open_key(&rd), -EUCLEAN);
	rundir_done(&rd);
}

/* An export is kept by its name, a pinned file by its key. */
static void test_a_moved_export_keeps_its_state(void **state)
{
	struct launch_config *c = calloc(1, sizeof(*c));
	struct exports x = {0};
	int fd = exports_state(&x, "a"), held, other;
	char name[8];

	assert_true(fd >= 0);
	assert_int_equal(exports_state(&x, "a"), fd);
	other = exports_state(&x, "b");
	assert_int_not_equal(other, fd);
	held = open("/", O_PATH | O_CLOEXEC);
	assert_int_equal(exports_hold(&x, "a", 7, held), 0);
	assert_int_equal(exports_hold(&x, "b", 7, fcntl(held, F_DUPFD_CLOEXEC, CHECKED_FD)), 0);
	assert_int_equal(fcntl(held, F_GETFD), -1); /* replaced by the other */
	assert_int_equal(exports_hold(&x, "b", 8, open("/", O_RDONLY | O_CLOEXEC)), -EBADF);
	exports_drop(&x, 7);
	assert_int_equal(fcntl(CHECKED_FD, F_GETFD), -1);
	c->n_exports = 1;
	strcpy(c->exports[0].name, "b");
	held = open("/", O_PATH | O_CLOEXEC);
	assert_int_equal(exports_hold(&x, "a", 9, held), 0);
	exports_keep(&x, c, 1);
	assert_int_not_equal(fcntl(held, F_GETFD), -1); /* it may come back at once */
	strcpy(c->exports[0].name, "a");
	exports_keep(&x, c, 1);
	exports_settle(&x);
	assert_int_not_equal(fcntl(held, F_GETFD), -1);
	strcpy(c->exports[0].name, "b");
	exports_keep(&x, c, 1);
	exports_settle(&x);
	assert_int_equal(fcntl(held, F_GETFD), -1);
	/* One that was removed may come back, and clients with it: but for what was held. */
	assert_int_equal(exports_state(&x, "a"), fd);
	exports_drop(&x, 7);
	for (unsigned i = 0; i < 16; i++) { /* there may have been many */
		snprintf(name, sizeof(name), "x%u", i);
		assert_true(exports_state(&x, name) >= 0);
		exports_keep(&x, c, 1);
		exports_settle(&x);
		assert_int_equal(exports_has_state(&x, "a"), i < 15);
	}
	assert_int_equal(exports_state(&x, "b"), other);
	/* Another's state, and no state at all, are not taken. */
	held = fcntl(other, F_DUPFD_CLOEXEC, CHECKED_FD);
	assert_int_equal(exports_adopt(&x, "a", held), -ENOENT);
	assert_int_equal(exports_adopt_stored(&x, held, "export-a"), -ENOENT);
	exports_done(&x, false);
	assert_int_equal(exports_adopt_stored(&x, held, "export-b"), 0);
	assert_int_equal(exports_state(&x, "b"), held);
	exports_done(&x, true);
	free(c);
}

/* The memory shared by all compute workers: none can steal it, and workers of another version have
 * their own. */
static void test_workers_share_memory(void **state)
{
	struct exports x = {0}, next = {0};
	int fd = exports_state(&x, EXPORTS_SHARE), kept;
	int former = memfd_new_shared("export-/share-1-4096", 4096);
	int forged = memfd_new_empty("export-" EXPORTS_SHARE);
	char name[64];
	struct stat st;

	assert_true(fd >= 0 && former >= 0 && forged >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, LAUNCH_SHARE_BYTES);
	assert_int_equal(ftruncate(fd, 4096), -1);
	assert_int_equal(ftruncate(fd, st.st_size + 4096), -1);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
	assert_int_equal(exports_adopt(&next, EXPORTS_SHARE, former), -ENOENT);
	assert_int_equal(exports_adopt(&next, EXPORTS_SHARE, forged), -ENOENT);
	assert_int_equal(exports_adopt_stored(&next, former, "export-/share-1-4096"), 0);
	assert_false(exports_has_state(&next, EXPORTS_SHARE));
	kept = fcntl(fd, F_DUPFD_CLOEXEC, CHECKED_FD);
	snprintf(name, sizeof(name), "export-%s", EXPORTS_SHARE);
	assert_int_equal(exports_adopt_stored(&next, kept, name), 0);
	assert_int_equal(exports_state(&next, EXPORTS_SHARE), kept);
	/* A worker can make the state that it shares with others of its export longer only. */
	fd = exports_state(&x, "a");
	assert_int_equal(ftruncate(fd, 8192), 0);
	assert_int_equal(ftruncate(fd, 4096), -1);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
	close(forged);
	/* Files that the share's users could not map, or that one of them could shrink. */
	forged = memfd_new_shared("export-" EXPORTS_SHARE, 4096);
	exports_done(&next, true);
	assert_int_equal(exports_adopt(&next, EXPORTS_SHARE, forged), -ENOENT);
	close(forged);
	forged = memfd_new_empty("export-b");
	assert_int_equal(exports_adopt(&next, "b", forged), -ENOENT);
	assert_int_equal(exports_adopt_stored(&next, forged, "export-b"), 0); /* by an agent */
	exports_done(&x, true);
	exports_done(&next, true);
}

static void test_a_garbage_record_is_ignored(void **state)
{
	struct rundir rd;
	pid_t owner;
	struct reason why;
	char path[160];

	snprintf(path, sizeof(path), "%s/record", dir);
	write_text(path, "process\nprocess -1 5\nprocess 1 1\nmount x\nat y\n\xff\xff\nprocess 7");
	assert_int_equal(rundir_open(dir, state_dir, &rd, &owner, &why), 0);
	assert_int_equal(rd.n_processes, 0);
	assert_int_equal(rd.n_mounts, 0);
	rundir_done(&rd);
}

/* The head of each line is equal in all versions; the rest is ignored. */
static void test_a_record_of_another_version_is_read_in_part(void **state)
{
	static const struct {
		const char *text;
		unsigned version;
	} records[] = {
		{"process 77 1234\nmount 0:52 0a what ever\nat /mnt/x y\nboot 12ab\n", 0},
		{"plenum-record 9\nprocess 77 1234 kind 5 worker 3 launch 3 restarts 1\nfuse 9 zz\n"
		 "lease 4\nmount 0:52 new format\nat /mnt/x y\n",
		 9},
	};
	struct rundir rd;
	pid_t owner;
	struct reason why;
	char path[160];

	snprintf(path, sizeof(path), "%s/record", dir);
	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		write_text(path, records[i].text);
		assert_int_equal(rundir_open(dir, state_dir, &rd, &owner, &why), 0);
		assert_int_equal(rd.record_version, records[i].version);
		assert_int_equal(rd.n_processes, 1);
		assert_int_equal(rd.processes[0].pid, 77);
		assert_int_equal(rd.processes[0].start_time, 1234);
		assert_int_equal(rd.processes[0].launch_version, 0);
		assert_int_equal(rd.n_mounts, 1);
		assert_int_equal(rd.mounts[0].minor, 52);
		assert_string_equal(rd.mounts[0].path, "/mnt/x y");
		rundir_done(&rd);
	}
}

/* After a downgrade: the next write keeps the newer record under another name. */
static void test_a_record_of_a_newer_version_is_kept(void **state)
{
	static const char newer[] = "plenum-record 9\nprocess 77 1234 kind 5\nlease 4\n";
	struct rundir_process p = {.pid = getpid(), .worker_id = 1};
	autofree char *text = NULL;
	struct rundir rd;
	struct reason why;
	pid_t owner;
	char path[160];
	size_t len;

	snprintf(path, sizeof(path), "%s/record", dir);
	write_text(path, newer);
	assert_int_equal(rundir_open(dir, state_dir, &rd, &owner, &why), 0);
	assert_int_equal(rd.record_error, STATE_NEWER);
	assert_int_equal(rundir_add_process(&rd, &p), 0);
	rundir_done(&rd);
	snprintf(path, sizeof(path), "%s/record.v9", dir);
	assert_int_equal(file_read(path, 4096, &text, &len), 0);
	assert_string_equal(text, newer);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rundir_open(dir, state_dir, &rd, &owner, &why), 0);
	assert_int_equal(rd.record_error, 0);
	assert_int_equal(rd.n_processes, 2);
	rundir_done(&rd);
}

/* A worker runs even if the record cannot be written. */
static void test_a_failed_record_write_keeps_the_process(void **state)
{
	struct rundir_process p = {.pid = getpid(), .worker_id = 1, .launch_version = 1};
	struct rundir rd;
	pid_t owner;
	struct reason why;
	char blocker[160];

	assert_int_equal(rundir_open(dir, state_dir, &rd, &owner, &why), 0);
	snprintf(blocker, sizeof(blocker), "%s/record.new", dir);
	assert_int_equal(mkdir(blocker, 0700), 0); /* as good as no space, and works for root */
	assert_true(rundir_add_process(&rd, &p) < 0);
	assert_int_equal(rd.n_processes, 1);
	assert_int_equal(rmdir(blocker), 0);
	assert_int_equal(rundir_add_process(&rd, &p), 0); /* the same process, not another */
	assert_int_equal(rd.n_processes, 1);
	rundir_done(&rd);
	assert_int_equal(rundir_open(dir, state_dir, &rd, &owner, &why), 0);
	assert_int_equal(rd.n_processes, 1);
	rundir_done(&rd);
}

static void test_mountinfo_is_parsed(void **state)
{
	struct mountinfo mi, other;
	char at[64];

	assert_int_equal(mountinfo_top("/proc", &mi), 1);
	assert_string_equal(mi.fstype, "proc");
	assert_int_equal(mountinfo_has("/proc", &mi), 1);
	other = mi;
	other.minor++;
	assert_int_equal(mountinfo_has("/proc", &other), 0);
	assert_int_equal(mountinfo_find(&mi, at, sizeof(at)), 1);
	assert_int_equal(at[0], '/');
	assert_int_equal(mountinfo_find(&other, at, sizeof(at)), 0);
	assert_int_equal(mountinfo_top(dir, &mi), 0);
}

/* ---- carriers ---- */

static void count_news(void *user, const struct inv_link *link, bool usable)
{
	unsigned *n = user;

	(*n)++;
}

/* More links than any host has legs; removed ones are forgotten. */
static void test_carriers_are_tracked(void **state)
{
	struct inv_link links[200] = {{0}};
	struct inventory inv = {.links = links, .n_links = ARRAY_SIZE(links)};
	struct carriers c = {0};
	unsigned news = 0;

	for (uint32_t i = 0; i < ARRAY_SIZE(links); i++)
		links[i] = (struct inv_link){.ifindex = 1 + 3 * i, .up = true, .carrier = i != 150};
	assert_true(carriers_usable(&c, 4));
	assert_null(carriers_find(&c, 4));
	assert_int_equal(carriers_take(&c, &inv, count_news, &news), 0);
	assert_int_equal(news, 1);
	assert_int_equal(c.n, ARRAY_SIZE(links));
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		assert_true(carriers_usable(&c, links[i].ifindex) == (i != 150));
	assert_int_equal(carriers_set(&c, links[3].ifindex, true, false), 1);
	assert_int_equal(carriers_set(&c, links[3].ifindex, false, false), 0);
	assert_int_equal(carriers_set(&c, links[3].ifindex, true, true), 1);
	inv.n_links = 2;
	assert_int_equal(carriers_take(&c, &inv, count_news, &news), 0);
	assert_int_equal(c.n, 2);
	assert_int_equal(news, 1);
	carriers_done(&c);
}

/* ---- jobs ---- */

struct child_task_seen {
	struct loop *loop;
	struct child_task *job;
	unsigned n_messages, n_fds;
	bool ended, wait;
	int status;
	char how[64];
};

static int child_task_work(void *user, int channel)
{
	const struct child_task_seen *s = user;
	uint32_t text = 7;

	for (int i = 0; i < 1000; i++) /* more than a socket holds */
		child_task_send(channel, &text, sizeof(text), i == 500 ? STDIN_FILENO : -1);
	if (s->wait)
		pause();
	return fcntl(CHECKED_FD, F_GETFD) < 0 ? 3 : 4;
}

static void child_task_on_message(void *user, const void *msg, size_t len, int fd)
{
	struct child_task_seen *s = user;

	assert_int_equal(len, sizeof(uint32_t));
	s->n_messages++;
	s->n_fds += fd >= 0;
	if (s->wait && s->n_messages == 1000)
		kill(child_task_pid(s->job), SIGKILL);
}

static void child_task_on_end(void *user, int status, const char *how)
{
	struct child_task_seen *s = user;

	s->ended = true;
	s->status = status;
	snprintf(s->how, sizeof(s->how), "%s", how);
}

static void run_job(struct child_task_seen *s)
{
	struct child_task_setup setup = {.name = "test-job",
					 .work = child_task_work,
					 .on_message = child_task_on_message,
					 .on_end = child_task_on_end,
					 .user = s};

	assert_int_equal(loop_new(&s->loop), 0);
	setup.loop = s->loop;
	assert_int_equal(child_task_start(&setup, &s->job), 0);
	while (!s->ended)
		assert_true(loop_turn(s->loop, 10 * NSEC_PER_SEC) > 0);
	loop_free(s->loop);
	assert_int_equal(s->n_messages, 1000);
	assert_int_equal(s->n_fds, 1);
}

/* All messages of a child task arrive before its end, and it holds no descriptors of the agent. */
static void test_child_task_delivers_all_messages(void **state)
{
	struct child_task_seen s = {0};
	int fd = fcntl(STDERR_FILENO, F_DUPFD, CHECKED_FD);

	assert_int_equal(fd, CHECKED_FD);
	run_job(&s);
	assert_int_equal(s.status, 3);
	close(fd);
}

static void test_a_killed_child_task_is_reported(void **state)
{
	struct child_task_seen s = {.wait = true};

	run_job(&s);
	assert_int_equal(s.status, -1);
	assert_string_equal(s.how, "killed by SIGKILL");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_newest_events_are_kept),
		cmocka_unit_test(test_long_events_end_after_a_whole_word),
		cmocka_unit_test(test_events_flood_is_damped),
		cmocka_unit_test_setup_teardown(test_second_agent_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lock_of_killed_agent_is_awaited, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_record_survives, setup, teardown),
		cmocka_unit_test_setup_teardown(test_recorded_processes_are_ended, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_epoch_grows, setup, teardown),
		cmocka_unit_test_setup_teardown(test_key_is_made_once, setup, teardown),
		cmocka_unit_test(test_a_moved_export_keeps_its_state),
		cmocka_unit_test(test_workers_share_memory),
		cmocka_unit_test_setup_teardown(test_a_garbage_record_is_ignored, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_record_of_another_version_is_read_in_part,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_record_of_a_newer_version_is_kept, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_failed_record_write_keeps_the_process, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_mountinfo_is_parsed, setup, teardown),
		cmocka_unit_test(test_carriers_are_tracked),
		cmocka_unit_test(test_child_task_delivers_all_messages),
		cmocka_unit_test(test_a_killed_child_task_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
