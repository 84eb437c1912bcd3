/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a file of events, and as the line of an event with a right sum: events that are read
 * have ascending numbers and only shown characters, fit JSON, and are the same after they were
 * written and read again.
 */
#include "agent/events/event_log.h"
#include "netcfg/base/file.h"
#include "netcfg/base/hash.h"
#include "netcfg/base/text.h"
#include "tests/fuzz/fuzz.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x)                 \
	do {                     \
		if (!(x))        \
			abort(); \
	} while (0)

static bool taken;
static char dir[64], path[80], older[96];

bool fuzz_input_taken(void)
{
	return taken;
}

static void at_exit(void)
{
	unlink(path);
	unlink(older);
	rmdir(dir);
}

static void make_folder(void)
{
	if (dir[0])
		return;
	strcpy(dir, "/dev/shm/plenum-fuzz-events-XXXXXX");
	CHECK(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/events", dir);
	snprintf(older, sizeof(older), "%s.1", path);
	atexit(at_exit);
}

static void check_text(const char *text)
{
	char clean[EVENTS_TEXT_MAX];

	CHECK(strlen(text) > 0 && strlen(text) < sizeof(clean));
	strcpy(clean, text);
	text_clean(clean);
	CHECK(strcmp(clean, text) == 0);
}

static void check_again(const struct event_log *log)
{
	PLENUM_CLEANUP(event_log_done) struct event_log again = {0};
	const uint64_t instance = log->instance ? log->instance : 1;

	make_folder();
	CHECK(event_log_replace(path, instance, log->entries, log->n) == 0);
	CHECK(event_log_read(&again, path) == 0);
	CHECK(again.n == log->n && again.last == log->last && again.instance == instance);
	CHECK(event_log_is_whole(&again));
	for (size_t i = 0; i < log->n; i++)
		CHECK(memcmp(&again.entries[i], &log->entries[i], sizeof(again.entries[i])) == 0);
}

static void check(const char *text, size_t len)
{
	PLENUM_CLEANUP(event_log_done) struct event_log log = {0};
	struct events *ev;
	json_t *o;

	CHECK(event_log_parse(&log, text, len) == 0);
	CHECK(log.n <= EVENTS_KEPT);
	for (size_t i = 0; i < log.n; i++) {
		CHECK(log.entries[i].seq > (i ? log.entries[i - 1].seq : 0));
		check_text(log.entries[i].source);
		check_text(log.entries[i].text);
	}
	if (log.n == 0)
		return;
	taken = true;
	check_again(&log);
	ev = calloc(1, sizeof(*ev));
	CHECK(ev);
	events_init(ev);
	events_restore(ev, log.entries, log.n, 1, log.last + 1);
	o = events_to_json(ev, &(struct events_filter){0});
	CHECK(json_array_size(json_object_get(o, "events")) == log.n);
	json_decref(o);
	free(ev);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t key[2] = {0x706c656e756d2d65, 0x76656e742d763100};
	char *exact = malloc(size + 32); /* so that a read past the end is detected */

	CHECK(exact);
	taken = false;
	memcpy(exact + 32, data, size);
	check(exact + 32, size);
	snprintf(exact, 32, "%016" PRIx64, hash_keyed(key, data, size));
	memmove(exact + 17, data, size);
	exact[16] = ' ';
	exact[17 + size] = '\n';
	check(exact, size + 18);
	free(exact);
	return 0;
}
