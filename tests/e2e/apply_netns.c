/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plan and apply on a real kernel: every test has a separate network namespace with two legs (veth
 * pairs), which ends with the process. A second apply must write nothing; a failure or a SIGKILL at
 * any write must leave the host as it was. Needs root.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "netcfg/apply/apply.h"
#include "netcfg/object/object.h"
#include "netcfg/plan/plan_owned.h"
#include "plugins/plugins.h"
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define VERIFY_NS (20 * NSEC_PER_SEC)

#define LEGS                                                 \
	"net:\n"                                             \
	"  - {name: leg-a, device: leg0, network: data-a}\n" \
	"  - {name: leg-b, device: leg1, network: data-b}\n" \
	"ha: {mode: dual-leg}\n"
#define WORKERS                                                                            \
	"workers: [{role: compute, cores: [0], transport: udp, exports: [{name: x, path: " \
	"/srv}]}]\n"

static const char ipv4_yaml[] =
	"networks:\n"
	"  - {name: data-a, range: 10.10.1.10-10.10.1.40/16, gateway: 10.10.0.1, mtu: 9000}\n"
	"  - {name: data-b, range: 10.20.1.10-10.20.1.40/16, gateway: 10.20.0.1, mtu: 4000}\n" LEGS
		WORKERS;
static const char renumbered_yaml[] =
	"networks:\n"
	"  - {name: data-a, range: 10.10.1.11-10.10.1.40/16, gateway: 10.10.0.2, mtu: 9000}\n"
	"  - {name: data-b, range: 10.30.1.10-10.30.1.40/16, mtu: 3000}\n" LEGS WORKERS;
static const char same_subnet_yaml[] =
	"networks:\n"
	"  - {name: data-a, range: 10.10.1.10-10.10.1.40/16}\n"
	"  - {name: data-b, range: 10.10.2.10-10.10.2.40/16}\n" LEGS WORKERS;
static const char ipv6_yaml[] =
	"networks:\n"
	"  - {name: data-a, range: 'fd00:a::10-fd00:a::40/64', gateway: 'fd00:a::1', mtu: 9000}\n"
	"  - {name: data-b, range: 'fd00:b::10-fd00:b::40/64'}\n" LEGS WORKERS;
static const char no_gateway_yaml[] =
	"networks:\n"
	"  - {name: data-a, range: 10.10.1.10-10.10.1.40/16}\n"
	"  - {name: data-b, range: 10.20.1.10-10.20.1.40/16}\n" LEGS WORKERS;
static const char nothing_yaml[] = "host: h\n";

struct fixture {
	struct kernel *k;
	char dir[32], journal[48];
};

/* Output of commands goes to standard error: standard output stays TAP. */
static int run(const char *command)
{
	char line[512];

	snprintf(line, sizeof(line), "(%s) >&2", command);
	return system(line);
}

/* Tries a command until it succeeds, for twenty seconds at most. */
static bool run_until(const char *command)
{
	uint64_t deadline = clock_now_ns() + 20 * NSEC_PER_SEC;

	while (run(command) != 0) {
		if (clock_now_ns() > deadline)
			return false;
		poll(NULL, 0, 20);
	}
	return true;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f || unshare(CLONE_NEWNET) < 0)
		return -1;
	/* addrgenmode none: no automatic link-local addresses. leg0 is down. */
	if (run("ip link add leg0 type veth peer name far0 && "
		"ip link add leg1 type veth peer name far1 && "
		"for l in leg0 leg1 far0 far1; do ip link set $l addrgenmode none; done && "
		"ip link set lo up && ip link set far0 up && ip link set far1 up && "
		"ip link set leg1 up") != 0 ||
	    kernel_linux_new(&f->k) < 0)
		return -1;
	strcpy(f->dir, "/tmp/plenum-apply-XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	snprintf(f->journal, sizeof(f->journal), "%s/journal", f->dir);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	unlink(f->journal);
	rmdir(f->dir);
	kernel_free(f->k);
	free(f);
	return 0;
}

static struct spec *spec_of(const char *yaml)
{
	struct diag d = DIAG_INIT;
	struct spec *s = NULL;

	if (spec_parse("netns.yaml", yaml, strlen(yaml), &d, &s) < 0)
		diag_print(&d, stderr);
	diag_done(&d);
	assert_non_null(s);
	return s;
}

static struct inventory *collect(struct fixture *f)
{
	struct diag d = DIAG_INIT;
	struct inventory *inv = NULL;

	assert_int_equal(inv_collect(f->k, &d, &inv), 0);
	diag_done(&d);
	return inv;
}

static struct plan *plan_now(struct fixture *f, const struct spec *s)
{
	struct inventory *inv = collect(f);
	struct diag d = DIAG_INIT;
	struct plan *p = NULL;

	if (plan_build(s, inv, NULL, &d, &p) < 0)
		diag_print(&d, stderr);
	assert_non_null(p);
	inv_free(inv);
	diag_done(&d);
	return p;
}

/* Everything that an apply may change, as text. */
static char *host_text(struct fixture *f)
{
	struct inventory *inv = collect(f);
	char *text = NULL, a[IP_ADDR_STR_MAX], g[IP_ADDR_STR_MAX];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	for (size_t i = 0; i < inv->n_links; i++)
		fprintf(out, "%s mtu %u up %d\n", inv->links[i].name, inv->links[i].mtu,
			inv->links[i].up);
	for (size_t i = 0; i < inv->n_addrs; i++)
		fprintf(out, "%u %s proto %u\n", inv->addrs[i].ifindex,
			ip_prefix_format(&inv->addrs[i].ip, a, sizeof(a)), inv->addrs[i].proto);
	for (size_t i = 0; i < inv->n_routes; i++)
		fprintf(out, "%u %s via %s table %u proto %u type %u\n", inv->routes[i].oif,
			ip_prefix_format(&inv->routes[i].dst, a, sizeof(a)),
			inv->routes[i].gateway.family
				? ip_addr_format(&inv->routes[i].gateway, g, sizeof(g))
				: "-",
			inv->routes[i].table, inv->routes[i].proto, inv->routes[i].type);
	for (size_t i = 0; i < inv->n_rules; i++)
		fprintf(out, "%u %s table %u\n", inv->rules[i].priority,
			inv->rules[i].from.addr.family
				? ip_prefix_format(&inv->rules[i].from, a, sizeof(a))
				: "all",
			inv->rules[i].table);
	for (size_t i = 0; i < inv->n_sysctls; i++)
		fprintf(out, "%s=%s\n", inv->sysctls[i].key, inv->sysctls[i].value);
	fclose(out);
	inv_free(inv);
	return text;
}

static void assert_host_is(struct fixture *f, const char *before)
{
	char *now = host_text(f);

	assert_string_equal(now, before);
	free(now);
}

/* Applies, verifies, and proves that a second apply has nothing to write. */
static void apply(struct fixture *f, const char *yaml)
{
	struct spec *s = spec_of(yaml);
	struct plan *p = plan_now(f, s);
	struct diag d = DIAG_INIT;
	struct apply_outcome o;
	struct apply *a = NULL;
	uint64_t writes;

	if (apply_run(f->k, p, f->journal, &a, &o) < 0)
		print_error("%s\n", o.why.text);
	assert_int_equal(o.error, 0);
	assert_int_equal(o.n_done, p->n_steps);
	if (apply_verify(f->k, s, NULL, clock_now_ns() + VERIFY_NS, &d) < 0)
		diag_print(&d, stderr);
	assert_false(diag_has_errors(&d));
	assert_int_equal(apply_commit(a, &o), 0);
	plan_free(p);
	writes = f->k->n_writes;
	p = plan_now(f, s);
	assert_int_equal(p->n_steps, 0);
	assert_int_equal(apply_run(f->k, p, f->journal, &a, &o), 0);
	assert_int_equal(apply_commit(a, &o), 0);
	assert_int_equal(f->k->n_writes, writes);
	plan_free(p);
	diag_done(&d);
	spec_free(s);
}

static void test_twice_ipv4(void **state)
{
	struct fixture *f = *state;

	apply(f, ipv4_yaml);
	/* The purpose of it all: each source address leaves by its leg, whatever the
	 * destination. */
	assert_int_equal(run("ip route get 10.10.9.9 from 10.10.1.10 | grep -q 'dev leg0' && "
			     "ip route get 10.20.9.9 from 10.20.1.10 | grep -q 'dev leg1' && "
			     "ip route get 10.20.9.9 from 10.10.1.10 | grep -q 'dev leg0' && "
			     "ip route get 198.51.100.1 from 10.20.1.10 | "
			     "grep -q 'via 10.20.0.1 dev leg1'"),
			 0);
}

static void test_twice_same_subnet(void **state)
{
	struct fixture *f = *state;

	apply(f, same_subnet_yaml);
	assert_int_equal(run("ip route get 10.10.9.9 from 10.10.1.10 | grep -q 'dev leg0' && "
			     "ip route get 10.10.9.9 from 10.10.2.10 | grep -q 'dev leg1'"),
			 0);
}

static void test_twice_ipv6(void **state)
{
	struct fixture *f = *state;

	if (access("/proc/sys/net/ipv6", F_OK) < 0)
		skip();
	apply(f, ipv6_yaml);
	assert_int_equal(run("ip -6 route get fd00:b::9 from fd00:a::10 | grep -q 'dev leg0' && "
			     "ip -6 route get fd00:b::9 from fd00:b::10 | grep -q 'dev leg1'"),
			 0);
}

/* Another host on leg0's network: a process in a separate namespace, whose link `other` is
 * joined to far0 by a bridge. */
static pid_t neighbour_start(void)
{
	char line[256];
	int fds[2];
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fds[0]);
		if (unshare(CLONE_NEWNET) < 0 || write(fds[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], line, 1), 1);
	close(fds[0]);
	snprintf(line, sizeof(line),
		 "ip link add br0 type bridge && ip link set far0 master br0 && "
		 "ip link add mid type veth peer name other netns %d && "
		 "ip link set mid master br0 up && ip link set br0 up && ip link set leg0 up && "
		 "nsenter -t %d -n ip link set other up",
		 (int)pid, (int)pid);
	assert_int_equal(run(line), 0);
	return pid;
}

static void neighbour_stop(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static bool neighbour_until(pid_t pid, const char *command)
{
	char line[256];

	snprintf(line, sizeof(line), "nsenter -t %d -n sh -c \"%s\"", (int)pid, command);
	return run_until(line);
}

#define OTHER_HAS(what) "ip -6 addr show dev other " what " | grep -q fd00:a::10"

/* Two hosts with one address: the second is refused, with the address named, and stays as
 * before. The first keeps the address, and a third host gets the error too. */
static void test_duplicate_ipv6(void **state)
{
	struct fixture *f = *state;
	pid_t other = neighbour_start();
	struct spec *s = spec_of(ipv6_yaml);
	struct diag d = DIAG_INIT;
	struct apply_outcome o;
	struct apply *a = NULL;
	struct plan *p;
	char *before, *text;

	assert_true(neighbour_until(other, "ip addr add fd00:a::10/64 dev other"));
	assert_true(neighbour_until(other, OTHER_HAS("-tentative")));
	before = host_text(f);
	p = plan_now(f, s);
	assert_int_equal(apply_run(f->k, p, f->journal, &a, &o), 0);
	plan_free(p);
	assert_int_equal(apply_verify(f->k, s, NULL, clock_now_ns() + VERIFY_NS, &d), -EADDRINUSE);
	text = diag_format(&d);
	assert_non_null(strstr(text, "another host already uses fd00:a::10"));
	assert_int_equal(apply_rollback(a, &o), 0);
	assert_host_is(f, before);
	assert_true(neighbour_until(other, "ip addr del fd00:a::10/64 dev other"));
	apply(f, ipv6_yaml);
	assert_true(neighbour_until(other, "ip addr add fd00:a::10/64 dev other"));
	assert_true(neighbour_until(other, OTHER_HAS("dadfailed")));
	apply(f, ipv6_yaml);
	free(before);
	free(text);
	diag_done(&d);
	spec_free(s);
	neighbour_stop(other);
}

/* Waits for the answer to an echo request: the kernel has processed all that was sent before it. */
static bool echo_is_answered(int fd, const struct sockaddr_in6 *to)
{
	static const uint8_t echo[8] = {128};

	for (int i = 0; i < 200; i++) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		uint8_t answer[64];

		if (sendto(fd, echo, sizeof(echo), 0, (const struct sockaddr *)to, sizeof(*to)) < 0)
			return false;
		while (poll(&p, 1, 100) > 0)
			if (recv(fd, answer, sizeof(answer), 0) > 0 && answer[0] == 129)
				return true;
	}
	return false;
}

/* A router advertisement from the neighbour with a lifetime of half an hour; and an echo request
 * to leg0's data IP if that exists to answer it. */
static void advertise_router(pid_t neighbour, bool echo)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		static const uint8_t ra[16] = {134, 0, 0, 0, 64, 0, 0x07, 0x08};
		struct sockaddr_in6 all = {.sin6_family = AF_INET6,
					   .sin6_addr = {{{0xff, 2, [15] = 1}}}};
		const struct sockaddr_in6 leg = {.sin6_family = AF_INET6,
						 .sin6_addr = {{{0xfd, 0, 0, 0x0a, [15] = 0x10}}}};
		const int hops = 255;
		char path[64];
		int ns, fd;

		snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)neighbour);
		ns = open(path, O_RDONLY | O_CLOEXEC);
		if (ns < 0 || setns(ns, CLONE_NEWNET) < 0)
			_exit(1);
		all.sin6_scope_id = if_nametoindex("other");
		fd = socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMPV6);
		if (fd < 0 ||
		    setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &hops, sizeof(hops)) < 0 ||
		    sendto(fd, ra, sizeof(ra), 0, (struct sockaddr *)&all, sizeof(all)) < 0 ||
		    (echo && !echo_is_answered(fd, &leg)))
			_exit(1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define RA_ROUTE "ip -6 route show default proto ra | grep -q 'dev leg0'"

/* A router on the data network does not become this host's default router. */
static void test_router_advertisement(void **state)
{
	struct fixture *f = *state;
	pid_t other = neighbour_start();
	uint64_t deadline = clock_now_ns() + VERIFY_NS;
	struct inventory *inv;
	bool seen = false;

	assert_true(neighbour_until(other, "ip addr add fd00:a::20/64 dev other nodad"));
	assert_true(neighbour_until(other, "ip -6 addr show dev other -tentative | grep -q fe80"));
	/* With the kernel's defaults it would: otherwise the test proves nothing. */
	while (run(RA_ROUTE) != 0) {
		assert_true(clock_now_ns() < deadline);
		advertise_router(other, false);
		poll(NULL, 0, 20);
	}
	inv = collect(f);
	for (size_t i = 0; i < inv->n_routes; i++)
		seen |= inv->routes[i].proto == INV_PROTO_RA && inv->routes[i].dst.len == 0 &&
			inv->routes[i].oif == inv_link_by_name(inv, "leg0")->ifindex;
	assert_true(seen);
	inv_free(inv);
	assert_int_equal(run("ip -6 route del default proto ra dev leg0"), 0);
	apply(f, ipv6_yaml);
	advertise_router(other, true);
	assert_int_not_equal(run(RA_ROUTE), 0);
	neighbour_stop(other);
}

/* From one configuration to another and back to none: all our objects are removed, all foreign
 * ones stay. */
static void test_changes_of_configuration(void **state)
{
	struct fixture *f = *state;
	char *text;

	assert_int_equal(run("ip addr add 10.99.0.1/24 dev leg1 && "
			     "ip rule add from 10.99.0.1 lookup 7001 pref 7000 && "
			     "ip route add 10.98.0.0/16 dev leg1 table 99 && "
			     "ip route add 10.97.0.0/16 via 10.99.0.2 dev leg1"),
			 0);
	apply(f, ipv4_yaml);
	apply(f, renumbered_yaml);
	apply(f, ipv4_yaml);
	apply(f, nothing_yaml);
	text = host_text(f);
	assert_null(strstr(text, "proto 112"));
	assert_null(strstr(text, "10.10."));
	assert_null(strstr(text, "10.20."));
	assert_null(strstr(text, "10.30."));
	assert_non_null(strstr(text, "10.99.0.1/24"));
	assert_non_null(strstr(text, "10.98.0.0/16"));
	assert_non_null(strstr(text, "10.97.0.0/16"));
	assert_non_null(strstr(text, "7000 10.99.0.1/32 table 7001"));
	free(text);
}

/* With its cable pulled a leg's traffic is dropped, and does not use the management's default
 * route. */
static void test_no_leak_without_carrier(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(run("ip link add mgmt type veth peer name farm && "
			     "ip link set farm up && ip addr add 192.0.2.1/24 dev mgmt && "
			     "ip link set mgmt up && ip route add default via 192.0.2.2"),
			 0);
	apply(f, no_gateway_yaml);
	assert_int_equal(run("ip route get 10.10.9.9 from 10.10.1.10 | grep -q 'dev leg0' && "
			     "! ip route get 10.20.9.9 from 10.10.1.10 && "
			     "! ip route get 198.51.100.1 from 10.10.1.10 && "
			     "ip link set far0 down"),
			 0);
	/* The kernel updates its routes a moment after it loses a carrier. */
	assert_true(run_until("! ip route get 10.10.9.9 from 10.10.1.10"));
	assert_int_equal(run("ip route get 10.20.9.9 from 10.20.1.10 | grep -q 'dev leg1'"), 0);
	apply(f, no_gateway_yaml); /* a pulled cable needs no repair */
}

/* Like apply, with the record of the state before the apply. */
static void apply_recorded(struct fixture *f, const char *yaml)
{
	PLENUM_CLEANUP(plan_owned_done) struct plan_owned owned = {.path = NULL};
	const struct plan_context ctx = {.owned = &owned};
	struct inventory *inv = collect(f);
	struct spec *s = spec_of(yaml);
	struct diag d = DIAG_INIT;
	struct apply *a = NULL;
	struct apply_outcome o;
	struct plan *p = NULL;
	char path[64];

	snprintf(path, sizeof(path), "%s/owned", f->dir);
	assert_int_equal(plan_owned_load(&owned, path, &d), 0);
	assert_int_equal(plan_build(s, inv, &ctx, &d, &p), 0);
	assert_int_equal(apply_run(f->k, p, f->journal, &a, &o), 0);
	if (apply_verify(f->k, s, &ctx, clock_now_ns() + VERIFY_NS, &d) < 0)
		diag_print(&d, stderr);
	assert_false(diag_has_errors(&d));
	assert_int_equal(apply_commit(a, &o), 0);
	assert_string_equal(o.why.text, "");
	diag_done(&d);
	plan_free(p);
	spec_free(s);
	inv_free(inv);
}

/* Links, their MTU and settings that leave the configuration are restored as they were found. */
static void test_given_back(void **state)
{
	static const char *const yamls[] = {ipv4_yaml, ipv6_yaml, same_subnet_yaml};
	struct fixture *f = *state;
	char *before = host_text(f), path[64];

	for (size_t i = 0; i < ARRAY_SIZE(yamls); i++) {
		apply_recorded(f, yamls[i]);
		apply_recorded(f, nothing_yaml);
		assert_host_is(f, before);
	}
	/* Directly from one configuration to another, and a leg that others use in the end stays
	 * up. */
	apply_recorded(f, ipv4_yaml);
	apply_recorded(f, renumbered_yaml);
	assert_int_equal(run("ip addr add 10.99.0.1/24 dev leg0"), 0);
	apply_recorded(f, nothing_yaml);
	assert_int_equal(run("ip -br link show dev leg0 up | grep -q leg0 && "
			     "ip -br link show dev leg1 | grep -q UP && "
			     "test $(cat /proc/sys/net/ipv4/conf/leg0/arp_announce) = 0 && "
			     "ip addr flush dev leg0 && ip link set leg0 down mtu 1500"),
			 0);
	assert_host_is(f, before);
	free(before);
	snprintf(path, sizeof(path), "%s/owned", f->dir);
	unlink(path);
}

/* Changes of our objects by others are detected and repaired. */
static void test_repair(void **state)
{
	struct fixture *f = *state;

	apply(f, ipv4_yaml);
	assert_int_equal(run("ip rule del from 10.10.1.10 && ip link set leg1 down && "
			     "ip link set leg0 mtu 1500 && "
			     "echo 0 > /proc/sys/net/ipv4/conf/leg0/arp_filter"),
			 0);
	apply(f, ipv4_yaml);
}

/* A kernel that fails or kills its caller at a chosen write. */
static struct {
	struct kernel *real;
	uint64_t n, fail_at, kill_at;
	bool after;
} trip;

static int trip_before(struct reason *why)
{
	trip.n++;
	if (trip.n == trip.kill_at && !trip.after)
		raise(SIGKILL);
	if (trip.n != trip.fail_at)
		return 0;
	reason_set_text(why, "the test says no");
	return -EIO;
}

static int trip_after(int r)
{
	if (trip.n == trip.kill_at)
		raise(SIGKILL);
	return r;
}

static int trip_change(struct kernel *k, const struct kernel_change *c, struct reason *why)
{
	int r = trip_before(why);

	return r ? r : trip_after(trip.real->ops->change(trip.real, c, why));
}

static int trip_read(struct kernel *k, struct kernel_change *c)
{
	return trip.real->ops->read(trip.real, c);
}

static int trip_link_find(struct kernel *k, const char *ref, uint32_t *ret_ifindex)
{
	return trip.real->ops->link_find(trip.real, ref, ret_ifindex);
}

static int trip_collect(struct kernel *k, struct diag *d, struct inventory *inv)
{
	return trip.real->ops->collect(trip.real, d, inv);
}

static const struct kernel_ops trip_ops = {
	.collect = trip_collect,
	.link_find = trip_link_find,
	.read = trip_read,
	.change = trip_change,
};

/* The host carries an applied configuration, and the plan to the next one has steps of all
 * kinds. It takes leg1 out of use as well, to have more to roll back. */
static struct plan *plan_of_all_kinds(struct fixture *f, struct spec **ret_spec)
{
	static const char *const ops[] = {"sysctl-set", "link-set",  "addr-add", "addr-del",
					  "route-add",	"route-del", "rule-add", "rule-del"};
	bool seen[ARRAY_SIZE(ops)] = {false};
	char op[32];
	struct plan *p;

	apply(f, ipv4_yaml);
	assert_int_equal(run("echo 0 > /proc/sys/net/ipv4/conf/leg0/arp_filter"), 0);
	*ret_spec = spec_of(renumbered_yaml);
	p = plan_now(f, *ret_spec);
	for (size_t i = 0; i < p->n_steps; i++)
		for (size_t j = 0; j < ARRAY_SIZE(ops); j++)
			seen[j] |= strcmp(object_op(&p->steps[i], op, sizeof(op)), ops[j]) == 0;
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		assert_true(seen[i]);
	return p;
}

static void test_failure_at_every_write(void **state)
{
	struct fixture *f = *state;
	struct kernel k = {.ops = &trip_ops};
	struct spec *s;
	struct plan *p = plan_of_all_kinds(f, &s);
	char *before = host_text(f);

	for (size_t i = 0; i < p->n_steps; i++) {
		struct apply_outcome o;
		struct apply *a = NULL;

		memset(&trip, 0, sizeof(trip));
		trip.real = f->k;
		trip.fail_at = i + 1;
		assert_int_equal(apply_run(&k, p, f->journal, &a, &o), -EIO);
		assert_int_equal(o.failed_step, i);
		assert_int_equal(o.n_rolled_back, i);
		assert_false(o.stuck);
		assert_host_is(f, before);
	}
	free(before);
	plan_free(p);
	spec_free(s);
}

/* From nothing to IPv6, where the kernel adds routes and addresses by itself. */
static void test_failure_at_every_write_ipv6(void **state)
{
	struct fixture *f = *state;
	struct kernel k = {.ops = &trip_ops};
	struct spec *s = spec_of(ipv6_yaml);
	struct plan *p = plan_now(f, s);
	char *before = host_text(f);

	for (size_t i = 0; i < p->n_steps; i++) {
		struct apply_outcome o;
		struct apply *a = NULL;

		memset(&trip, 0, sizeof(trip));
		trip.real = f->k;
		trip.fail_at = i + 1;
		assert_int_equal(apply_run(&k, p, f->journal, &a, &o), -EIO);
		assert_false(o.stuck);
		assert_host_is(f, before);
	}
	free(before);
	plan_free(p);
	spec_free(s);
}

static void apply_killed(struct fixture *f, const struct plan *p, uint64_t nth, bool after)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		struct kernel k = {.ops = &trip_ops};
		struct apply_outcome o;
		struct apply *a = NULL;

		memset(&trip, 0, sizeof(trip));
		if (kernel_linux_new(&trip.real) < 0)
			_exit(2);
		trip.kill_at = nth;
		trip.after = after;
		_exit(apply_run(&k, p, f->journal, &a, &o) == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void test_kill_at_every_write(void **state)
{
	struct fixture *f = *state;
	struct spec *s;
	struct plan *p = plan_of_all_kinds(f, &s);
	char *before = host_text(f);

	for (size_t i = 1; i <= p->n_steps; i++) {
		for (int after = 0; after < 2; after++) {
			struct apply_outcome o;

			apply_killed(f, p, i, after);
			assert_int_equal(apply_recover(f->k, f->journal, &o), 0);
			assert_host_is(f, before);
		}
	}
	free(before);
	plan_free(p);
	apply(f, renumbered_yaml);
	spec_free(s);
}

#define NETNS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		NETNS_TEST(test_twice_ipv4),
		NETNS_TEST(test_twice_same_subnet),
		NETNS_TEST(test_twice_ipv6),
		NETNS_TEST(test_duplicate_ipv6),
		NETNS_TEST(test_router_advertisement),
		NETNS_TEST(test_changes_of_configuration),
		NETNS_TEST(test_no_leak_without_carrier),
		NETNS_TEST(test_given_back),
		NETNS_TEST(test_repair),
		NETNS_TEST(test_failure_at_every_write),
		NETNS_TEST(test_failure_at_every_write_ipv6),
		NETNS_TEST(test_kill_at_every_write),
	};

	if (unshare(CLONE_NEWNET) < 0) {
		printf("1..0 # SKIP network namespaces need root\n");
		return 0;
	}
	plugins_register();
	return cmocka_run_group_tests_name("apply in a namespace", tests, NULL, NULL);
}
