/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Captures of workers that write invalid records: this test writes the worker's ring. The main job
 * shows that captured packets can be read.
 */
#include "agent/supervise/capture.h"
#include "tests/lib/agent/reconcile_host.h"

#define FRAME_BYTES 1400U
#define BUFFER_BYTES (8U << 20) /* more than one answer */

struct world {
	struct fixture *f;
	struct sup_worker *w;
	struct capture *c;
	uint64_t id;
	struct packet_writer to; /* the worker's end of its ring */
};

/* Returns the number of rings of this process; the last one in memory and bytes. */
static unsigned find_rings(void **memory, uint64_t *bytes)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long begin, end;
	char line[512];
	unsigned n = 0;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "plenum-capture"))
			continue;
		assert_int_equal(sscanf(line, "%lx-%lx", &begin, &end), 2);
		*memory = (void *)begin;
		*bytes = end - begin - PACKET_RING_HEAD_BYTES;
		n++;
	}
	fclose(maps);
	return n;
}

static unsigned count_rings(void)
{
	uint64_t bytes;
	void *memory;

	return find_rings(&memory, &bytes);
}

static bool take(struct world *o, bool last)
{
	struct pcapng out;
	bool more = false;

	assert_int_equal(capture_take(o->c, o->id, last, &out, &more), 0);
	pcapng_done(&out);
	return more;
}

/* Starts a worker with a ring of a capture; keys: with those of sessions. */
static void begin_with(struct world *o, struct fixture *f, bool keys)
{
	const struct privsep_capture what = {.worker = PRIVSEP_CAPTURE_ALL,
					     .snap_bytes = 1500,
					     .buffer_bytes = BUFFER_BYTES,
					     .keys = keys};
	const struct capture_setup setup = {.loop = f->a.loop,
					    .events = &f->a.events,
					    .sup = f->a.sup,
					    .idle_limit_ns = 3600 * NSEC_PER_SEC};
	uint64_t bytes;
	void *memory;
	struct reason why;

	*o = (struct world){.f = f};
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	o->w = (struct sup_worker *)sup_first(f->a.sup);
	o->w->state = SUP_UP;
	assert_int_equal(capture_new(&setup, &o->c), 0);
	assert_int_equal(capture_begin(o->c, &what, "uid 0", &o->id, &why), 0);
	assert_int_equal(capture_begin(o->c, &what, "uid 0", &o->id, &why), -EBUSY);
	assert_true(take(o, false));
	assert_int_equal(find_rings(&memory, &bytes), 1);
	assert_int_equal(bytes, BUFFER_BYTES);
	packet_writer_init(&o->to, memory, bytes, what.snap_bytes);
}

static void begin(struct world *o, struct fixture *f)
{
	begin_with(o, f, false);
}

static void put_key(struct world *o)
{
	struct packet_key key = {.session = 0xabcdef, .phase = 7, .cipher = 2};
	struct packet_record r = {
		.time_ns = clock_now_ns(), .wire_bytes = sizeof(key), .direction = PACKET_KEY};

	memset(key.key, 0x5a, sizeof(key.key));
	assert_true(packet_writer_put(&o->to, &r, &(struct packet_part){&key, sizeof(key)}, 1));
}

static void put(struct world *o, uint64_t time_ns)
{
	static const uint8_t frame[FRAME_BYTES];
	struct packet_record r = {
		.time_ns = time_ns, .wire_bytes = sizeof(frame), .direction = PACKET_IN};

	packet_writer_put(&o->to, &r, &(struct packet_part){frame, sizeof(frame)}, 1);
}

/* Without the check, packets dated after the process's end would keep the ring as long as the
 * capture runs. */
static void test_packets_dated_after_the_exit_are_dropped(void **state)
{
	struct fixture *f = *state;
	struct world o;
	pid_t pid;

	begin(&o, f);
	put(&o, clock_now_ns() + 3600 * NSEC_PER_SEC);
	assert_true(take(&o, false));
	assert_int_equal(count_rings(), 1);
	pid = o.w->pid;
	o.w->pid++; /* it has exited, and another one is starting */
	o.w->state = SUP_STARTING;
	assert_true(take(&o, false));
	assert_int_equal(count_rings(), 0);
	o.w->pid = pid;
	capture_free(o.c);
}

/* A leg that is added later is captured too, and no earlier packet is lost. */
static void test_a_leg_added_later_is_captured(void **state)
{
	struct fixture *f = *state;
	struct launch_config *has;
	struct world o;
	struct pcapng out;
	bool more;

	begin(&o, f);
	put(&o, clock_now_ns());
	has = o.w->started;
	has->ports[has->n_ports] = has->ports[0];
	strcpy(has->ports[has->n_ports++].leg, "leg-z");
	assert_int_equal(capture_take(o.c, o.id, false, &out, &more), 0);
	assert_non_null(memmem(out.bytes, out.len, "leg-z/1", strlen("leg-z/1")));
	assert_true(out.len > FRAME_BYTES);
	pcapng_done(&out);
	put(&o, clock_now_ns()); /* before it learns of the new ring */
	assert_true(take(&o, false));
	assert_int_equal(count_rings(), 2);
	packet_writer_done(&o.to);
	assert_true(take(&o, false));
	assert_int_equal(count_rings(), 1);
	capture_free(o.c);
}

/* The n-th line of keys; NULL: there are fewer. */
static const char *line_of_keys(const struct pcapng *out, unsigned n)
{
	for (size_t at = 0; at + 16 <= out->len;) {
		uint32_t head[4];

		memcpy(head, out->bytes + at, sizeof(head));
		if (head[0] == PCAPNG_SECRETS && n-- == 0) {
			assert_int_equal(head[2], PCAPNG_SECRETS_TYPE);
			assert_int_equal(head[1] % 4, 0);
			assert_true(head[3] + 20 <= head[1]);
			assert_int_equal(out->bytes[at + 16 + head[3] - 1], '\n');
			return (const char *)out->bytes + at + 16;
		}
		at += head[1];
	}
	return NULL;
}

/* Keys are separate blocks, not packets, and not counted as packets. */
static void test_keys_are_separate_blocks(void **state)
{
	static const char line[] = "0000000000abcdef 7 2 5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a"
				   "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a\n";
	struct fixture *f = *state;
	uint64_t packets, dropped;
	struct packet_reader count;
	struct world o;
	struct pcapng out;
	bool more;

	begin_with(&o, f, true);
	put(&o, clock_now_ns());
	put_key(&o);
	put(&o, clock_now_ns());
	put_key(&o);
	packet_reader_init(&count, o.to.ring, o.to.bytes, 1500);
	packet_reader_count(&count, 0, &packets, &dropped);
	assert_int_equal(packets, 2);
	assert_int_equal(capture_take(o.c, o.id, false, &out, &more), 0);
	assert_memory_equal(line_of_keys(&out, 0), line, strlen(line));
	assert_non_null(line_of_keys(&out, 1));
	assert_null(line_of_keys(&out, 2));
	pcapng_done(&out);
	capture_free(o.c);
}

/* A worker that sends keys without a request is not read any more. */
static void test_unrequested_keys_end_the_reading(void **state)
{
	struct fixture *f = *state;
	struct world o;
	struct pcapng out;
	bool more;

	begin(&o, f);
	put_key(&o);
	put(&o, clock_now_ns());
	assert_int_equal(capture_take(o.c, o.id, false, &out, &more), 0);
	assert_null(line_of_keys(&out, 0));
	assert_true(out.len < FRAME_BYTES);
	pcapng_done(&out);
	capture_free(o.c);
}

/* A worker that reports that it has left its ring, and continues to write. */
static void test_a_worker_that_keeps_writing_is_not_read_for_ever(void **state)
{
	struct fixture *f = *state;
	struct world o;
	bool more = true;

	begin(&o, f);
	for (unsigned i = 0; i < 10 && more; i++) {
		for (unsigned j = 0; j < BUFFER_BYTES / FRAME_BYTES; j++)
			put(&o, clock_now_ns());
		packet_writer_done(&o.to);
		more = take(&o, true);
	}
	assert_false(more);
	assert_int_equal(count_rings(), 0);
	capture_free(o.c);
}

/* The list counts what the client has fetched, and what did not fit into the ring, also of a worker
 * that has exited; another client may end the capture. */
static void test_a_running_capture_is_listed(void **state)
{
	struct fixture *f = *state;
	json_t *list, *e;
	struct world o;
	pid_t pid;

	begin_with(&o, f, true);
	assert_true(capture_has_keys(o.c, o.id));
	assert_false(capture_has_keys(o.c, o.id + 1));
	for (unsigned i = 0; i <= BUFFER_BYTES / FRAME_BYTES; i++)
		put(&o, clock_now_ns());
	while (take(&o, false) && o.to.ring->tail < o.to.ring->head)
		;
	pid = o.w->pid;
	for (unsigned i = 0; i < 2; i++) {
		list = capture_list(o.c);
		assert_int_equal(json_array_size(json_object_get(list, "captures")), 1);
		e = json_array_get(json_object_get(list, "captures"), 0);
		assert_string_equal(json_string_value(json_object_get(e, "by")), "uid 0");
		assert_string_equal(json_string_value(json_object_get(e, "state")), "running");
		assert_true(json_is_true(json_object_get(e, "keys")));
		assert_true(json_is_null(json_object_get(e, "worker")));
		assert_true(json_integer_value(json_object_get(e, "dropped")) > 0);
		assert_int_equal(json_integer_value(json_object_get(e, "packets")) +
					 json_integer_value(json_object_get(e, "dropped")),
				 BUFFER_BYTES / FRAME_BYTES + 1);
		assert_int_equal(json_integer_value(json_object_get(e, "bytes")),
				 json_integer_value(json_object_get(e, "packets")) * FRAME_BYTES);
		assert_int_equal(json_array_size(json_object_get(e, "workers")), i == 0);
		json_decref(list);
		if (i == 0) {
			o.w->pid++; /* it has exited, and another one is starting */
			o.w->state = SUP_STARTING;
			assert_true(take(&o, false));
			assert_int_equal(count_rings(), 0);
		}
	}
	o.w->pid = pid;
	while (take(&o, true))
		;
	list = capture_list(o.c);
	assert_int_equal(json_array_size(json_object_get(list, "captures")), 0);
	json_decref(list);
	capture_free(o.c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RECONCILE_TEST(test_packets_dated_after_the_exit_are_dropped),
		RECONCILE_TEST(test_a_leg_added_later_is_captured),
		RECONCILE_TEST(test_keys_are_separate_blocks),
		RECONCILE_TEST(test_unrequested_keys_end_the_reading),
		RECONCILE_TEST(test_a_worker_that_keeps_writing_is_not_read_for_ever),
		RECONCILE_TEST(test_a_running_capture_is_listed),
	};

	return cmocka_run_group_tests_name("capture", tests, NULL, NULL);
}
