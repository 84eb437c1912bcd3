/* SPDX-License-Identifier: BSD-3-Clause */
/* The monitor's side of the probes: which sockets it opens, and what it tells the process. */
#include "agent/base/child/child_role.h"
#include "agent/links/links_watch.h"
#include "netcfg/base/os/memfd.h"
#include "netcfg/plan/plan.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* The process of the role: the functions of child_role.h that the monitor's side uses. */
static struct {
	struct child_role_setup setup;
	bool up;
	unsigned n_starts, n_sockets, n_ignored, n_settings, n_members;
	uint32_t ignored;
	bool fails; /* the process cannot be started */
} role;

static struct child_role *the_role(void)
{
	return (struct child_role *)&role;
}

int child_role_new(const struct child_role_setup *setup, struct child_role **ret)
{
	role.n_starts++;
	if (role.fails)
		return -EAGAIN;
	role.setup = *setup;
	role.up = true;
	*ret = the_role();
	setup->on_start(setup->user, *ret);
	return 0;
}

struct child_role *child_role_free(struct child_role *r)
{
	role.up = false;
	return NULL;
}

int child_role_send(struct child_role *r, struct privsep_msg *m, int fd)
{
	if (!r || !role.up)
		return -ENOTCONN;
	role.n_sockets += m->type == PRIVSEP_LISTEN && fd >= 0;
	role.n_settings += m->type == PRIVSEP_LINKS_SET;
	role.n_members += m->type == PRIVSEP_CLUSTER_MEMBERS;
	role.n_ignored += m->type == PRIVSEP_IGNORE;
	if (m->type == PRIVSEP_IGNORE)
		role.ignored = m->link.ifindex;
	return 0;
}

pid_t child_role_pid(const struct child_role *r)
{
	return r && role.up ? 1 : 0;
}

/* The timer that starts the process again: the functions of loop.h that the monitor's side uses. */
static struct {
	loop_timer_cb cb;
	void *user;
	bool armed;
} timer;

int loop_add_timer(struct loop *l, uint64_t accuracy_ns, loop_timer_cb cb, void *user,
		   struct loop_source **ret)
{
	timer.cb = cb;
	timer.user = user;
	timer.armed = false;
	*ret = (struct loop_source *)&timer;
	return 0;
}

int loop_timer_arm(struct loop_source *s, uint64_t delay_ns)
{
	timer.armed = true;
	return 0;
}

struct loop_source *loop_source_free(struct loop_source *s)
{
	return NULL;
}

static void on_report(void *user, const struct links_watch_leg *leg)
{
}

/* ---- a watch of one leg on the loopback interface, whose address no other test has ---- */

static struct links_watch_leg leg_of(int blocked)
{
	const uint32_t pid = (uint32_t)getpid();

	return (struct links_watch_leg){
		.name = "leg-a",
		.network = "data-a",
		.ifname = "lo",
		.ifindex = 1,
		.mtu = 1500,
		.blocked = blocked,
		.ip = {{.family = AF_INET,
			.bytes = {127, (uint8_t)(1 + pid % 200), (uint8_t)(pid >> 8), 7}},
		       8}};
}

#define ONE "the first key of 32 bytes, as is"
#define TWO "another key with 32 bytes, as is"

static struct links_keys keys_of(const char *secret)
{
	struct links_keys k = {.n = 0};

	links_keys_add(&k, "prod", (const uint8_t *)secret, strlen(secret));
	return k;
}

static void set(struct links_watch *w, const char *cluster, const char *secret, int blocked)
{
	struct links_watch_self self = {.host = "host-a"};
	const struct links_watch_leg leg = leg_of(blocked);
	const struct links_keys keys = keys_of(secret);

	snprintf(self.cluster, sizeof(self.cluster), "%s", cluster);
	links_watch_set(w, &self, &leg, 1, &keys);
}

static struct links_watch *begin(void)
{
	const struct links_watch_setup setup = {.on_report = on_report};
	struct links_watch *w = NULL;

	memset(&role, 0, sizeof(role));
	assert_int_equal(links_watch_new(&setup, &w), 0);
	return w;
}

static int error_of(const struct links_watch *w)
{
	size_t n;
	const struct links_watch_leg *legs = links_watch_legs(w, &n);

	assert_int_equal(n, 1);
	return legs[0].error;
}

/* The process reports that a host has answered. */
static void report(struct links_watch *w)
{
	const struct privsep_msg m = {.type = PRIVSEP_LINKS_REPORT,
				      .links_report = {.ifindex = 1, .answered = 1}};

	assert_null(role.setup.on_message(role.setup.user, the_role(), &m, -1));
	assert_true(links_watch_answered(w));
}

static void a_process_that_cannot_start_is_started_again(void **state)
{
	struct links_watch *w = begin();

	role.fails = true;
	set(w, "prod", ONE, 0);
	assert_int_equal(role.n_starts, 1);
	assert_true(timer.armed);
	assert_int_equal(timer.cb(timer.user), 0);
	assert_int_equal(role.n_starts, 2);
	role.fails = false;
	assert_int_equal(timer.cb(timer.user), 0);
	assert_int_equal(role.n_starts, 3);
	assert_int_equal(role.n_sockets, 1);
	assert_int_equal(timer.cb(timer.user), 0); /* it runs */
	assert_int_equal(role.n_starts, 3);
	links_watch_free(w);
}

static void another_cluster_or_key_forgets_what_was_found(void **state)
{
	struct links_watch *w = begin();
	autoclose int fd = memfd_new_sealed("members", "[]", 2);

	assert_true(fd >= 0);
	set(w, "prod", ONE, 0);
	assert_int_equal(error_of(w), 0);
	assert_int_equal(role.n_starts, 1);
	links_watch_members(w, fd, 2);
	assert_int_equal(role.n_members, 1);
	report(w);
	/* The same settings change nothing. */
	set(w, "prod", ONE, 0);
	assert_int_equal(role.n_starts, 1);
	assert_true(links_watch_answered(w));
	/* With another key the hosts are the same ones, but none of them has answered yet. */
	set(w, "prod", TWO, 0);
	assert_int_equal(role.n_starts, 2);
	assert_int_equal(role.n_members, 2);
	assert_false(links_watch_answered(w));
	report(w);
	/* Another cluster has other hosts. */
	set(w, "test", TWO, 0);
	assert_int_equal(role.n_starts, 3);
	assert_int_equal(role.n_members, 2);
	assert_false(links_watch_answered(w));
	links_watch_free(w);
}

/* The first worker uses DPDK on a VF, so only the second one's address is the kernel's. */
static void a_leg_uses_an_address_that_the_kernel_has(void **state)
{
	const struct ip_addr first = {.family = AF_INET, .bytes = {10, 1, 0, 1}},
			     second = {.family = AF_INET, .bytes = {10, 1, 0, 2}};
	struct plan_worker workers[2] = {{.n_ports = 1}, {.n_ports = 1}};
	const struct plan p = {.workers = workers, .n_workers = 2};
	struct inv_addr addr = {.ifindex = 3, .ip = {second, 24}};
	const struct inventory inv = {.addrs = &addr, .n_addrs = 1};
	bool owned;

	workers[0].ports[0] = (struct plan_port){.leg = "leg-a", .ifindex = 3, .ip = {first, 24}};
	workers[1].ports[0] = (struct plan_port){.leg = "leg-a", .ifindex = 3, .ip = {second, 24}};
	assert_ptr_equal(plan_port_on(&p, &inv, "leg-a", &owned), &workers[1].ports[0]);
	assert_true(owned);
	assert_null(plan_port_on(&p, &inv, "leg-b", &owned));
	assert_false(owned);
	/* Another device has the address. */
	addr.ifindex = 4;
	assert_ptr_equal(plan_port_on(&p, &inv, "leg-a", &owned), &workers[0].ports[0]);
	assert_false(owned);
	/* The address of a standby port belongs to another leg. */
	workers[0].ports[0].stands_by = workers[1].ports[0].stands_by = true;
	assert_null(plan_port_on(&p, &inv, "leg-a", &owned));
}

static void a_blocked_leg_has_no_socket(void **state)
{
	struct links_watch *w = begin();

	/* The process runs only while a leg is probed. */
	set(w, "prod", ONE, -ECANCELED);
	assert_int_equal(error_of(w), -ECANCELED);
	assert_int_equal(role.n_starts, 0);
	set(w, "prod", ONE, 0);
	assert_int_equal(error_of(w), 0);
	assert_int_equal(role.n_sockets, 1);
	set(w, "prod", ONE, -EADDRNOTAVAIL);
	assert_int_equal(error_of(w), -EADDRNOTAVAIL);
	assert_int_equal(role.n_sockets, 1);
	assert_int_equal(role.n_ignored, 1);
	assert_int_equal(role.ignored, 1);
	assert_int_equal(links_watch_pid(w), 0);
	links_watch_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_that_cannot_start_is_started_again),
		cmocka_unit_test(another_cluster_or_key_forgets_what_was_found),
		cmocka_unit_test(a_leg_uses_an_address_that_the_kernel_has),
		cmocka_unit_test(a_blocked_leg_has_no_socket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
