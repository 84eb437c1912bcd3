/* SPDX-License-Identifier: BSD-3-Clause */
/* Events on disk: what a new agent reads after a restart, a kill at any moment, a power failure, a
 * damaged file or a full disk, and how much a flood of events writes. */
#include "agent/events/event_log.h"
#include "agent/events/event_store.h"
#include "netcfg/base/file.h"
#include "netcfg/base/log.h"
#include "tests/lib/process/kill_steps.h"

#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

static char top[64], run[80], state_dir[80], disk[96], memory[96];
static struct loop *loop;
static struct events *ev;
static struct event_store *store;

static void on_add(void *user, uint64_t next)
{
	event_store_note(store);
}

static void agent_start(void)
{
	ev = calloc(1, sizeof(*ev));
	assert_non_null(ev);
	events_init(ev);
	ev->on_add = on_add;
	assert_return_code(loop_new(&loop), 0);
	assert_return_code(event_store_open(loop, ev, run, state_dir, NULL, &store), 0);
}

/* As after a SIGKILL: what the agent has not written is lost. Its memory stays reachable. */
static void agent_kill(void)
{
	static struct event_store *killed[256];
	static size_t n;

	ev->on_add = NULL;
	assert_true(n < ARRAY_SIZE(killed));
	killed[n++] = store;
	store = NULL;
	loop_free(loop);
	free(ev);
}

static void agent_stop(void)
{
	struct event_store *s = store;

	loop_exit(loop, 0);
	assert_int_equal(loop_run(loop), 0);
	event_store_close(s);
	store = NULL;
	loop_free(loop);
	free(ev);
}

static void host_restart(void)
{
	char path[112];

	unlink(memory);
	snprintf(path, sizeof(path), "%s.1", memory);
	unlink(path);
}

static int setup(void **state)
{
	log_set_level((enum log_level)0);
	strcpy(top, "/tmp/plenum-events-XXXXXX");
	assert_non_null(mkdtemp(top));
	snprintf(run, sizeof(run), "%s/run", top);
	snprintf(state_dir, sizeof(state_dir), "%s/state", top);
	snprintf(disk, sizeof(disk), "%s/events", state_dir);
	snprintf(memory, sizeof(memory), "%s/events", run);
	assert_return_code(mkdir(run, 0755), errno);
	assert_return_code(mkdir(state_dir, 0700), errno);
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	return system(command);
}

static const struct events_entry *latest(void)
{
	return &ev->ring[(ev->place - 1) % EVENTS_KEPT];
}

static const struct events_entry *find(const char *text)
{
	for (size_t i = 0; i < EVENTS_KEPT; i++)
		if (strstr(ev->ring[i].text, text))
			return &ev->ring[i];
	return NULL;
}

static off_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? -1 : st.st_size;
}

/* ---- restarts ---- */

static void test_events_survive_a_kill_of_the_agent(void **state)
{
	uint64_t instance, next, time_ms;

	agent_start();
	events_add(ev, LOG_LEVEL_WARNING, "worker 2", "ended: \"killed\" by SIGKILL \\ \t \xff");
	instance = ev->instance;
	next = ev->next;
	time_ms = latest()->time_ms;
	agent_kill();
	agent_start();
	assert_int_equal(ev->instance, instance);
	assert_int_equal(ev->next, next);
	assert_int_equal(latest()->seq, next - 1);
	assert_int_equal(latest()->time_ms, time_ms);
	assert_int_equal(latest()->severity, LOG_LEVEL_WARNING);
	assert_string_equal(latest()->source, "worker 2");
	assert_string_equal(latest()->text, "ended: \"killed\" by SIGKILL \\ ? ?");
	assert_int_equal(size_of(disk), -1); /* from memory alone */
	agent_stop();
	assert_true(size_of(disk) > 0);
}

static void test_events_survive_a_restart_of_the_host(void **state)
{
	struct stat st;
	json_t *o;

	agent_start();
	events_add(ev, LOG_LEVEL_NOTICE, "agent", "first");
	agent_stop();
	host_restart();
	agent_start();
	assert_string_equal(latest()->text, "first");
	assert_int_equal(ev->next, 2 + EVENT_STORE_JUMP);
	events_add(ev, LOG_LEVEL_NOTICE, "agent", "second");
	/* A reader that has seen the first one, and some that were lost, gets the second one. */
	o = events_to_json(ev, &(struct events_filter){.since = 20, .instance = ev->instance});
	assert_int_equal(json_array_size(json_object_get(o, "events")), 1);
	json_decref(o);
	agent_stop();
	agent_start();
	assert_int_equal(ev->place, 3); /* each of them once */
	agent_stop();
	assert_return_code(stat(disk, &st), errno);
	assert_int_equal(st.st_mode & 07777, 0600);
}

/* The timer of the agent's loop writes to the disk. */
static void test_a_running_agent_writes_to_the_disk(void **state)
{
	agent_start();
	events_add(ev, LOG_LEVEL_NOTICE, "agent", "first");
	assert_int_equal(size_of(disk), -1);
	for (int i = 0; i < 100 && size_of(disk) <= 0; i++)
		loop_turn(loop, NSEC_PER_SEC);
	assert_true(size_of(disk) > 0);
	agent_kill();
}

static void test_both_copies_give_each_event_once(void **state)
{
	agent_start();
	for (int i = 0; i < 5; i++)
		events_add(ev, LOG_LEVEL_NOTICE, "agent", "event %d", i);
	agent_stop(); /* all on disk */
	agent_start();
	for (int i = 5; i < 10; i++)
		events_add(ev, LOG_LEVEL_NOTICE, "agent", "event %d", i);
	agent_kill(); /* the second half in memory only */
	agent_start();
	assert_int_equal(ev->place, 11);
	for (uint64_t i = 1; i <= 10; i++)
		assert_int_equal(ev->ring[i].seq, i);
	agent_stop();
}

/* ---- damage ---- */

static char *read_text(const char *path, size_t *ret_len)
{
	char *text = NULL;

	assert_return_code(file_read(path, 4 << 20, &text, ret_len), 0);
	return text;
}

static void write_text(const char *path, const char *text, size_t len)
{
	assert_return_code(file_write(path, text, len, 0600), 0);
}

#define N 8

static char *eight_events(size_t *ret_len)
{
	agent_start();
	for (int i = 1; i <= N; i++)
		events_add(ev, LOG_LEVEL_NOTICE, "agent", "event %d of a text", i);
	agent_stop();
	host_restart();
	return read_text(disk, ret_len);
}

/* Every length that a power failure can leave. */
static void test_every_prefix_of_the_file_is_read(void **state)
{
	size_t size, n_complete = 0;
	autofree char *text = eight_events(&size);

	for (size_t len = 0; len <= size; len++) {
		PLENUM_CLEANUP(event_log_done) struct event_log log = {0};
		const bool at_end = len == 0 || text[len - 1] == '\n';

		n_complete += len > 0 && at_end;
		assert_return_code(event_log_parse(&log, text, len), 0);
		assert_int_equal(log.n, n_complete ? n_complete - 1 : 0); /* but the first line */
		assert_int_equal(log.n_damaged, 0);
		assert_int_equal(log.incomplete, !at_end);
		for (size_t i = 0; i < log.n; i++)
			assert_int_equal(log.entries[i].seq, i + 1);
	}
	assert_int_equal(n_complete, N + 1);
}

/* The incomplete event is reported once, and events after it are readable. */
static void test_an_incomplete_event_is_reported_once(void **state)
{
	size_t size;
	autofree char *text = eight_events(&size);

	write_text(disk, text, size - 5);
	agent_start();
	assert_non_null(find("event 7 of"));
	assert_null(find("event 8 of"));
	assert_non_null(find("the last event was incomplete"));
	events_add(ev, LOG_LEVEL_NOTICE, "agent", "after it");
	assert_int_equal(ev->place, N + 2);
	agent_stop();
	host_restart();
	agent_start();
	assert_string_equal(latest()->text, "after it");
	assert_non_null(find("event 7 of"));
	assert_int_equal(ev->place, N + 2); /* no second report */
	agent_stop();
}

static void test_a_damaged_byte_costs_at_most_its_events(void **state)
{
	size_t size;
	autofree char *text = eight_events(&size);
	const size_t head = (size_t)(strchr(text, '\n') - text) + 1;

	for (size_t at = 0; at < size; at++) {
		PLENUM_CLEANUP(event_log_done) struct event_log log = {0};
		const char was = text[at];
		/* A damaged line end joins two lines. */
		const size_t lost = at < head - 1 ? 0 : at == head - 1 ? 1 : was == '\n' ? 2 : 1;

		text[at] ^= 0x15;
		assert_return_code(event_log_parse(&log, text, size), 0);
		assert_in_range(log.n, N - lost, N);
		assert_false(event_log_is_whole(&log) && at >= head);
		text[at] = was;
	}
}

static void test_a_damaged_file_is_reported_once(void **state)
{
	size_t size;
	autofree char *text = eight_events(&size);
	char *fourth = strstr(text, "event 4");

	*fourth = 'E';
	write_text(disk, text, size);
	agent_start();
	assert_null(find("vent 4 of"));
	assert_non_null(find("event 5 of"));
	assert_non_null(find("was damaged (unusable lines: 1)"));
	agent_stop();
	host_restart();
	agent_start();
	assert_int_equal(ev->place, N + 1); /* seven and one report */
	agent_stop();
}

static void test_a_file_of_zeros_gives_nothing(void **state)
{
	static const char zeros[5000];

	write_text(disk, zeros, sizeof(zeros));
	agent_start();
	assert_int_equal(ev->place, 2);
	assert_int_equal(latest()->seq, 1);
	agent_stop();
	host_restart();
	agent_start();
	assert_int_equal(ev->place, 2);
	agent_stop();
}

static void test_a_file_of_a_newer_version_is_kept(void **state)
{
	static const char newer[] = "plenum-events 7 compressed sum 2193ac27a8c1467c\nxyz\n";
	autofree char *text = NULL;
	char kept[112];
	size_t len;

	write_text(disk, newer, strlen(newer));
	agent_start();
	assert_non_null(
		strstr(latest()->text, "was written by a newer version of Plenum (format 7)"));
	agent_stop();
	snprintf(kept, sizeof(kept), "%s.v7", disk);
	text = read_text(kept, &len);
	assert_string_equal(text, newer);
	host_restart();
	agent_start();
	assert_int_equal(ev->place, 2);
	agent_stop();
}

/* ---- kills at each system call ---- */

static struct events_entry batch[3];

static void append_batch(void *user)
{
	const char *path = user;

	(void)event_log_append(path, 0xaa, batch, ARRAY_SIZE(batch), true);
}

static void replace_batch(void *user)
{
	const char *path = user;

	(void)event_log_replace(path, 0xaa, batch, ARRAY_SIZE(batch));
}

static void make_entry(struct events_entry *e, uint64_t seq)
{
	*e = (struct events_entry){.seq = seq, .time_ms = seq, .severity = LOG_LEVEL_NOTICE};
	strcpy(e->source, "agent");
	memset(e->text, 'x', EVENTS_TEXT_MAX - 1);
}

static void remove_log(void)
{
	char path[112];

	unlink(disk);
	snprintf(path, sizeof(path), "%s.1", disk);
	unlink(path);
}

static void kill_everywhere(void (*fn)(void *), size_t n_before, size_t n_kept)
{
	autofree struct events_entry *before = calloc(n_before, sizeof(*before));
	int r = 0;

	for (size_t i = 0; i < n_before; i++)
		make_entry(&before[i], i + 1);
	for (size_t i = 0; i < ARRAY_SIZE(batch); i++)
		make_entry(&batch[i], n_before + i + 1);
	for (unsigned n = 1; r == 0; n++) {
		PLENUM_CLEANUP(event_log_done) struct event_log log = {0};

		remove_log();
		assert_return_code(event_log_append(disk, 0xaa, before, n_before, false), 0);
		r = kill_steps_run(fn, disk, n);
		if (r == -EPERM)
			skip();
		assert_return_code(event_log_read(&log, disk), 0);
		assert_true(event_log_is_whole(&log));
		assert_true(log.last == n_before || log.last == n_before + ARRAY_SIZE(batch));
		assert_true(log.n >= n_kept || log.last > n_before);
		assert_int_equal(log.instance, 0xaa);
	}
}

static void test_a_kill_during_an_append_loses_no_earlier_event(void **state)
{
	kill_everywhere(append_batch, 4, 4);
}

/* The segment is full: the append begins a new one. */
static void test_a_kill_during_a_rotation_loses_no_event(void **state)
{
	kill_everywhere(append_batch, EVENTS_KEPT - 1, EVENTS_KEPT - 1);
}

static void test_a_kill_during_a_replacement_leaves_one_of_both(void **state)
{
	kill_everywhere(replace_batch, 4, 4);
}

/* ---- limits ---- */

static void test_a_flood_is_bounded_and_the_last_events_are_kept(void **state)
{
	char older[112];
	int n_writes = 0;
	off_t was = -1;

	agent_start();
	for (int i = 1; i <= 20000; i++) {
		events_add(ev, LOG_LEVEL_ERR, "agent", "%0*d", EVENTS_TEXT_MAX - 2, i);
		if (i % 100 == 0)
			loop_turn(loop, 0);
		n_writes += size_of(disk) != was;
		was = size_of(disk);
	}
	assert_in_range(n_writes, 0, 4); /* a loaded machine: not more than one in 10 s */
	agent_stop();
	snprintf(older, sizeof(older), "%s.1", memory);
	assert_in_range(size_of(memory), 1, EVENT_LOG_SEGMENT_BYTES);
	assert_in_range(size_of(older), 1, EVENT_LOG_SEGMENT_BYTES);
	for (int i = 0; i < 2; i++) { /* of both copies, then of the disk's alone */
		agent_start();
		assert_int_equal(ev->place, EVENTS_KEPT + 1);
		for (uint64_t n = 1; n <= EVENTS_KEPT; n++)
			assert_int_equal(ev->ring[n % EVENTS_KEPT].seq, 20000 - EVENTS_KEPT + n);
		agent_stop();
		snprintf(older, sizeof(older), "%s.1", disk);
		assert_in_range(size_of(disk), 1, EVENT_LOG_SEGMENT_BYTES);
		assert_true(size_of(older) <= (off_t)EVENT_LOG_SEGMENT_BYTES);
		host_restart();
	}
}

static void test_rotation_keeps_the_last_events_of_any_length(void **state)
{
	for (size_t step = 1; step <= EVENTS_KEPT; step = step * 3 + 1) {
		autofree struct events_entry *all = calloc(3 * EVENTS_KEPT + step, sizeof(*all));
		PLENUM_CLEANUP(event_log_done) struct event_log log = {0};
		size_t n = 0;

		remove_log();
		for (size_t i = 0; i < 3 * EVENTS_KEPT + step; i++) {
			make_entry(&all[i], 7 * i + 7);
			all[i].text[i % 7 ? EVENTS_TEXT_MAX - 1 : 3] = '\0';
		}
		for (; n < 3 * EVENTS_KEPT; n += step) {
			assert_return_code(event_log_append(disk, 1, all + n, step, false), 0);
			assert_in_range(size_of(disk), 1, EVENT_LOG_SEGMENT_BYTES);
		}
		assert_return_code(event_log_read(&log, disk), 0);
		assert_int_equal(log.n, EVENTS_KEPT);
		assert_int_equal(log.entries[0].seq, 7 * (n - EVENTS_KEPT) + 7);
		assert_int_equal(log.last, 7 * n);
	}
}

static void limit_files(rlim_t bytes)
{
	struct rlimit l;

	assert_return_code(getrlimit(RLIMIT_FSIZE, &l), errno);
	l.rlim_cur = bytes;
	assert_return_code(setrlimit(RLIMIT_FSIZE, &l), errno);
}

/* A file size limit gives the errors of a full disk: a write is cut, the next one fails. */
static void test_a_full_disk_is_reported_once_and_loses_nothing(void **state)
{
	size_t n_reports = 0;
	off_t size;

	signal(SIGXFSZ, SIG_IGN);
	agent_start();
	events_add(ev, LOG_LEVEL_NOTICE, "agent", "before");
	agent_stop();
	size = size_of(disk);
	agent_start();
	limit_files((rlim_t)size + 20);
	events_add(ev, LOG_LEVEL_NOTICE, "agent", "during 1");
	events_add(ev, LOG_LEVEL_NOTICE, "agent", "during 2");
	for (size_t i = 0; i < 30 && !find("cannot write events to"); i++)
		loop_turn(loop, NSEC_PER_SEC);
	assert_int_equal(size_of(memory), size);
	assert_int_equal(size_of(disk), size); /* no part of an event */
	for (uint64_t i = 1; i < ev->place; i++)
		n_reports += strstr(ev->ring[i].text, "cannot write events to") != NULL;
	assert_int_equal(n_reports, 1); /* the run directory; the disk comes later */
	limit_files(RLIM_INFINITY);
	agent_stop();
	host_restart();
	agent_start();
	assert_non_null(find("before"));
	assert_non_null(find("during 1"));
	assert_non_null(find("during 2"));
	agent_stop();
}

/* The folders are gone: the events stay in memory until they are back. */
static void test_without_folders_events_stay_in_memory(void **state)
{
	agent_start();
	assert_return_code(rmdir(run), errno);
	assert_return_code(rmdir(state_dir), errno);
	for (int i = 0; i < 10; i++)
		events_add(ev, LOG_LEVEL_NOTICE, "agent", "event %d", i);
	assert_non_null(find("event 9"));
	assert_non_null(find("cannot write events to"));
	assert_return_code(mkdir(run, 0755), errno);
	assert_return_code(mkdir(state_dir, 0700), errno);
	for (size_t i = 0; i < 30 && size_of(disk) <= 0; i++)
		loop_turn(loop, NSEC_PER_SEC);
	assert_non_null(find("are written to"));
	agent_stop();
	host_restart();
	agent_start();
	assert_non_null(find("event 0"));
	agent_stop();
}

/* ---- filters ---- */

static size_t count(const struct events_filter *f)
{
	json_t *o = events_to_json(ev, f);
	size_t n = json_array_size(json_object_get(o, "events"));

	json_decref(o);
	return n;
}

/* After a clock that was set back, times are out of order; numbers are not. */
static void test_readers_choose_events(void **state)
{
	static const uint64_t times[] = {5000, 6000, 3000, 4000};
	struct events_entry stored[4];
	json_t *o, *list;

	ev = calloc(1, sizeof(*ev));
	events_init(ev);
	for (size_t i = 0; i < 4; i++) {
		make_entry(&stored[i], 10 * (i + 1));
		stored[i].time_ms = times[i];
		stored[i].severity = (enum log_level)(LOG_LEVEL_ERR + i);
		snprintf(stored[i].source, sizeof(stored[i].source), "worker %zu", i % 2);
	}
	events_restore(ev, stored, 4, 0xaa, 50);
	assert_int_equal(count(&(struct events_filter){0}), 4);
	assert_int_equal(count(&(struct events_filter){.since = 20}), 3);
	assert_int_equal(count(&(struct events_filter){.since = 50}), 0);
	assert_int_equal(count(&(struct events_filter){.since = 51}), 4);
	assert_int_equal(count(&(struct events_filter){.since = 20, .instance = 0xbb}), 4);
	assert_int_equal(count(&(struct events_filter){.severity = LOG_LEVEL_WARNING}), 2);
	assert_int_equal(count(&(struct events_filter){.from_ms = 4000}), 3);
	assert_int_equal(count(&(struct events_filter){.until_ms = 4000}), 1);
	assert_int_equal(count(&(struct events_filter){.source = "worker 1"}), 2);
	assert_int_equal(count(&(struct events_filter){.source = "worker"}), 0);
	o = events_to_json(ev, &(struct events_filter){.source = "worker 0", .limit = 1});
	list = json_object_get(o, "events");
	assert_int_equal(json_array_size(list), 1);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "seq")), 30);
	assert_int_equal(json_integer_value(json_object_get(o, "next")), 50);
	json_decref(o);
	free(ev);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_events_survive_a_kill_of_the_agent),
		CASE(test_events_survive_a_restart_of_the_host),
		CASE(test_a_running_agent_writes_to_the_disk),
		CASE(test_both_copies_give_each_event_once),
		CASE(test_every_prefix_of_the_file_is_read),
		CASE(test_an_incomplete_event_is_reported_once),
		CASE(test_a_damaged_byte_costs_at_most_its_events),
		CASE(test_a_damaged_file_is_reported_once),
		CASE(test_a_file_of_zeros_gives_nothing),
		CASE(test_a_file_of_a_newer_version_is_kept),
		CASE(test_a_kill_during_an_append_loses_no_earlier_event),
		CASE(test_a_kill_during_a_rotation_loses_no_event),
		CASE(test_a_kill_during_a_replacement_leaves_one_of_both),
		CASE(test_a_flood_is_bounded_and_the_last_events_are_kept),
		CASE(test_rotation_keeps_the_last_events_of_any_length),
		CASE(test_a_full_disk_is_reported_once_and_loses_nothing),
		CASE(test_without_folders_events_stay_in_memory),
		cmocka_unit_test(test_readers_choose_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
