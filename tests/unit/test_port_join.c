/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Joining step by step, over a fake port with controlled link, frames and probes: when to call
 * again, and that the socket of early probes is always closed.
 */
#include "dataplane/port/l2/port_join.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/eventfd.h>

#include <cmocka.h>

struct fixture {
	struct port port;
	struct port_ops ops;
	struct port_joining joining;
	struct port_join_by by;
	int early_fd;	 /* only a number: the port closes it */
	int probe;	 /* result of a probe call */
	unsigned bursts; /* received */
	unsigned heard, ticks, probes;
};

static const struct mac_addr mac = {{0x02, 0, 0, 0, 0, 0x07}};
static unsigned n_rests;

/* Replaces the C library's. */
int __wrap_nanosleep(const struct timespec *t, struct timespec *left);

int __wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
	n_rests++;
	return 0;
}

static void emit(void *user, const uint8_t *frame, size_t len)
{
}

static int on_probe(struct port *p, struct reason *why)
{
	struct fixture *x = p->impl;

	x->probes++;
	return x->probe;
}

static uint64_t on_tick(struct port *p, uint64_t now_ns)
{
	struct fixture *x = p->impl;

	x->ticks++;
	return UINT64_MAX;
}

static bool on_hear(struct port *p)
{
	struct fixture *x = p->impl;

	x->heard++;
	if (x->bursts == 0)
		return false;
	x->bursts--;
	return true;
}

static int on_join(struct port *p, const struct launch_config *cfg, unsigned index,
		   struct reason *why)
{
	struct fixture *x = p->impl;

	return port_join_step(&x->joining, &x->by, why);
}

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));
	struct port_neigh_config cfg = {.frame_bytes_max = 1514, .emit = emit, .prefix_len = 24};

	assert_non_null(x);
	cfg.local.mac = mac;
	assert_int_equal(ip_addr_parse("192.0.2.1", &cfg.local.ip), 0);
	x->ops = (struct port_ops){.join = on_join, .probe = on_probe, .tick = on_tick};
	x->port = (struct port){.ops = &x->ops, .impl = x};
	x->by = (struct port_join_by){
		.port = &x->port, .mac = &mac, .has_link = true, .receive = on_hear};
	assert_int_equal(port_neigh_new(&cfg, &x->by.neigh), 0);
	port_join_begin(&x->joining);
	x->early_fd = -1;
	x->probe = -EAGAIN;
	n_rests = 0;
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	port_join_end(&x->joining);
	port_neigh_free(x->by.neigh);
	free(x);
	return 0;
}

/* As the environment passes it to a port; the socket is a stand-in that never receives. */
static void asked_early(struct fixture *x)
{
	x->early_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_true(x->early_fd >= 0);
	x->joining.early = (struct port_early){
		.fd = x->early_fd, .local.mac = mac, .n_sent = PORT_NEIGH_PROBES};
}

static bool early_is_open(const struct fixture *x)
{
	return fcntl(x->early_fd, F_GETFD) >= 0;
}

static int look(struct fixture *x, struct reason *why)
{
	return port_join_step(&x->joining, &x->by, why);
}

/* The socket is no longer read and would fill up until the worker's end. */
static void joining_without_a_link_ends_early_probes(void **state)
{
	struct fixture *x = *state;
	struct reason why = {.code = "as", .text = "it was"};

	asked_early(x);
	x->by.has_link = false;
	assert_int_equal(look(x, &why), -EAGAIN);
	assert_false(reason_is_set(&why));
	assert_true(early_is_open(x)); /* the link may come */
	assert_true(x->joining.link_until_ns <= clock_now_ns() + PORT_JOIN_LINK_NS);
	x->joining.link_until_ns = clock_now_ns();
	assert_int_equal(look(x, &why), 1);
	assert_string_equal(why.text, "no link, so the address was not probed");
	assert_false(early_is_open(x));
	assert_int_equal(x->probes + x->heard, 0);
}

/* Early probes without a packet socket do not count: probing restarts at once. */
static void failed_early_probes_are_repeated(void **state)
{
	struct fixture *x = *state;
	struct reason why;

	asked_early(x);
	x->by.has_link = false;
	assert_int_equal(look(x, &why), -EAGAIN);
	x->by.has_link = true;
	assert_int_equal(look(x, &why), -EAGAIN);
	assert_false(early_is_open(x));
	assert_int_equal(x->probes, 1);
	assert_true(x->joining.linked);
	x->by.has_link = false; /* the wait is not repeated */
	assert_int_equal(look(x, &why), -EAGAIN);
	assert_int_equal(x->probes, 2);
}

/* With each outcome. */
static void joining_ends_with_the_answer(void **state)
{
	static const int answers[] = {0, -EADDRINUSE};
	struct fixture *x = *state;
	struct reason why;

	for (unsigned i = 0; i < ARRAY_SIZE(answers); i++) {
		asked_early(x);
		x->joining.linked = true;
		x->probe = answers[i];
		assert_int_equal(look(x, &why), answers[i]);
		assert_false(early_is_open(x));
		assert_int_equal(x->heard + x->ticks, 0);
	}
}

static void closing_ends_early_probes(void **state)
{
	struct fixture *x = *state;

	asked_early(x);
	port_join_end(&x->joining);
	assert_false(early_is_open(x));
}

/* If more frames wait than one call reads, the next call follows at once. */
static void a_backlog_is_read_at_once(void **state)
{
	struct fixture *x = *state;
	struct reason why;

	x->bursts = PORT_JOIN_BURSTS + 1;
	assert_int_equal(look(x, &why), -EINPROGRESS);
	assert_int_equal(x->heard, PORT_JOIN_BURSTS);
	assert_int_equal(x->ticks, 1); /* replies leave, and other ports get their turn */
	assert_int_equal(look(x, &why), -EAGAIN);
	assert_int_equal(x->heard, PORT_JOIN_BURSTS + 2);
	assert_int_equal(x->ticks, 2);
	assert_int_equal(look(x, &why), -EAGAIN);
	assert_int_equal(x->heard, PORT_JOIN_BURSTS + 3);
}

static int probe_when_heard(struct port *p, struct reason *why)
{
	struct fixture *x = p->impl;

	return x->bursts > 0 || x->heard == 0 ? -EAGAIN : 0;
}

/* Joining sleeps between calls, but not while frames wait. */
static void joining_sleeps_between_reads(void **state)
{
	struct fixture *x = *state;
	struct reason why;

	x->ops.probe = probe_when_heard;
	x->bursts = 3 * PORT_JOIN_BURSTS;
	assert_int_equal(port_join(&x->port, NULL, 0, &why), 0);
	assert_int_equal(x->heard, 3 * PORT_JOIN_BURSTS);
	assert_int_equal(n_rests, 0);
	x->heard = 0;
	assert_int_equal(port_join(&x->port, NULL, 0, &why), 0);
	assert_int_equal(n_rests, 1);
	x->ops.join = NULL;
	assert_int_equal(port_join(&x->port, NULL, 0, &why), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(joining_without_a_link_ends_early_probes),
		TEST(failed_early_probes_are_repeated),
		TEST(joining_ends_with_the_answer),
		TEST(closing_ends_early_probes),
		TEST(a_backlog_is_read_at_once),
		TEST(joining_sleeps_between_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
