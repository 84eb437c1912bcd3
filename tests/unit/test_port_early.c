/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Early address probes over a veth pair between two network namespaces: free and taken addresses,
 * simultaneous probes, a missing link, and a network with much other traffic. Needs root.
 */
#include "dataplane/port/l2/port_early.h"
#include "tests/lib/port/netns_enter.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#define NS_A "plenum-early-a"
#define NS_B "plenum-early-b"
#define FREE4 "10.99.77.1/24"
#define TAKEN4 "10.99.77.3/24" /* addresses of the neighbour's kernel */
#define FREE6 "fd00:99:77::1/64"
#define TAKEN6 "fd00:99:77::3/64"
#define DEADLINE_NS (10 * NSEC_PER_SEC)

static const struct mac_addr mac_other = {{0x02, 0, 0, 0, 0x77, 0x03}};

static const char *const commands[] = {
	"ip netns add " NS_A " && ip netns add " NS_B,
	"ip -n " NS_A " link add early0 type veth peer name early1 netns " NS_B,
	"ip -n " NS_B " addr add " TAKEN4 " dev early1",
	"ip -n " NS_B " addr add " TAKEN6 " dev early1 nodad",
	"ip -n " NS_A " link set early0 up && ip -n " NS_B " link set early1 up",
};

static void remove_all(void)
{
	(void)sh("ip netns del " NS_A " 2>/dev/null; ip netns del " NS_B " 2>/dev/null");
}

struct fixture {
	bool can;
	int peer; /* a packet socket at the other end */
	struct launch_port lp;
	struct port_early_all all;
	struct port_early *ask;
	struct port_neigh *neigh;
	unsigned n_emitted;
};

static int peer_open(void)
{
	struct sockaddr_ll sll = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	const int on = 1, bytes = 4 << 20;
	int fd;

	if (netns_enter(NS_B) < 0)
		return -1;
	sll.sll_ifindex = (int)if_nametoindex("early1");
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	(void)setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	if (bind(fd, (struct sockaddr *)&sll, sizeof(sll)) < 0)
		return -1;
	return netns_enter(NS_A) < 0 ? -1 : fd;
}

static bool link_runs(void)
{
	return sh("ip -n " NS_A " link show early0 | grep -q LOWER_UP") == 0;
}

static void link_set(bool up)
{
	const uint64_t deadline = clock_now_ns() + DEADLINE_NS;

	assert_int_equal(sh(up ? "ip -n " NS_B " link set early1 up"
			       : "ip -n " NS_B " link set early1 down"),
			 0);
	while (link_runs() != up && clock_now_ns() < deadline)
		(void)poll(NULL, 0, 5);
	assert_true(link_runs() == up);
}

static void emit(void *user, const uint8_t *frame, size_t len)
{
	struct fixture *x = user;

	x->n_emitted++;
}

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	remove_all();
	x->can = true;
	for (unsigned i = 0; x->can && i < ARRAY_SIZE(commands); i++)
		x->can = sh(commands[i]) == 0;
	x->peer = x->can ? peer_open() : -1;
	x->can &= x->peer >= 0;
	snprintf(x->lp.ifname, sizeof(x->lp.ifname), "early0");
	port_early_init(&x->all);
	x->ask = &x->all.asks[1]; /* any port */
	*state = x;
	if (x->can)
		link_set(true);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	port_early_wait(&x->all);
	port_early_done(x->ask);
	port_neigh_free(x->neigh);
	cleanup_close(&x->peer);
	remove_all();
	free(x);
	return 0;
}

static struct fixture *need(void **state)
{
	struct fixture *x = *state;

	if (!x->can)
		skip();
	return x;
}

static unsigned threads_count(void)
{
	DIR *dir = opendir("/proc/self/task");
	unsigned n = 0;

	assert_non_null(dir);
	for (struct dirent *e; (e = readdir(dir));)
		n += e->d_name[0] != '.';
	closedir(dir);
	return n;
}

static void begin(struct fixture *x, const char *ip)
{
	struct port_neigh_config cfg = {.frame_bytes_max = 1514, .emit = emit, .user = x};

	assert_int_equal(ip_prefix_parse(ip, &x->lp.ip), 0);
	port_early_add(&x->all, &x->lp, 1);
	cfg.local = x->ask->local;
	cfg.local.ip = x->lp.ip.addr;
	cfg.prefix_len = x->lp.ip.len;
	assert_int_equal(port_neigh_new(&cfg, &x->neigh), 0);
	port_early_begin(&x->all);
}

/* Continues as a port does once it may read. */
static int asked(struct fixture *x, struct reason *why)
{
	const uint64_t deadline = clock_now_ns() + DEADLINE_NS;
	int r;

	port_neigh_probe_sent_early(x->neigh, x->ask->sent_ns);
	do {
		assert_int_equal(port_early_input(x->ask, x->neigh, clock_now_ns()), 0);
		r = port_neigh_probe(x->neigh, clock_now_ns(), why);
		(void)port_neigh_tick(x->neigh, clock_now_ns());
	} while (r == -EAGAIN && clock_now_ns() < deadline);
	return r;
}

/* Probes for ip received at the other end. */
static unsigned probes_seen(const struct fixture *x, const struct ip_addr *ip)
{
	/* From the view of a neighbour that resolves the address. */
	struct port_l2_local them = {.mac = mac_other, .ip = *ip, .udp_port = 1};
	uint8_t frame[2048];
	unsigned n = 0;
	ssize_t len;

	while ((len = recv(x->peer, frame, sizeof(frame), 0)) > 0) {
		struct port_l2_frame f;

		(void)port_l2_parse(&them, frame, (size_t)len, 0, &f);
		n += (f.kind == PORT_L2_ARP || f.kind == PORT_L2_SOLICIT) &&
		     memcmp(f.target.bytes, ip->bytes, sizeof(ip->bytes)) == 0;
	}
	return n;
}

static void expect_free(struct fixture *x, const char *ip)
{
	uint64_t began_ns = clock_now_ns();
	struct reason why = {.code = ""};

	begin(x, ip);
	port_early_wait(&x->all);
	assert_int_equal(threads_count(), 1);
	assert_true(clock_now_ns() - began_ns >= (PORT_NEIGH_PROBES - 1) * PORT_NEIGH_PROBE_NS);
	assert_int_equal(probes_seen(x, &x->lp.ip.addr), PORT_NEIGH_PROBES);
	assert_true(port_early_is_good(x->ask, &x->ask->local.mac));
	assert_false(port_early_is_good(x->ask, &mac_other));
	assert_int_equal(asked(x, &why), 0);
	assert_int_equal(x->n_emitted, 1); /* announced, and not probed again */
	assert_true(clock_now_ns() - began_ns >= PORT_NEIGH_PROBES * PORT_NEIGH_PROBE_NS);
}

static void a_free_address_is_probed(void **state)
{
	expect_free(need(state), FREE4);
}

static void a_free_ipv6_address_is_probed(void **state)
{
	expect_free(need(state), FREE6);
}

static void expect_taken(struct fixture *x, const char *ip)
{
	struct reason why = {.code = ""};

	begin(x, ip);
	port_early_wait(&x->all);
	assert_true(port_early_is_good(x->ask, &x->ask->local.mac));
	assert_int_equal(asked(x, &why), -EADDRINUSE);
	assert_non_null(strstr(why.text, "is in use by"));
}

static void a_taken_address_is_detected(void **state)
{
	expect_taken(need(state), TAKEN4);
}

static void a_taken_ipv6_address_is_detected(void **state)
{
	expect_taken(need(state), TAKEN6);
}

static void peer_sends(const struct fixture *x, const uint8_t *frame, size_t len)
{
	const uint64_t deadline = clock_now_ns() + DEADLINE_NS;
	ssize_t n;

	while ((n = send(x->peer, frame, len, 0)) < 0 && clock_now_ns() < deadline)
		;
	assert_int_equal(n, len);
}

/* Another host probes for it too: just after our probes, or long after and before we read. */
static void expect_clash(struct fixture *x, const char *ip, bool late)
{
	static const struct ip_addr unspecified;
	uint8_t frame[PORT_L2_CONTROL_MAX];
	struct reason why = {.code = ""};
	size_t len;

	begin(x, ip);
	len = port_l2_build_solicit(frame, &mac_other, &unspecified, &x->lp.ip.addr, NULL);
	if (!late)
		peer_sends(x, frame, len);
	port_early_wait(&x->all);
	if (late)
		peer_sends(x, frame, len);
	assert_int_equal(asked(x, &why), -EADDRINUSE);
}

static void simultaneous_probes_are_detected(void **state)
{
	expect_clash(need(state), FREE4, false);
}

static void simultaneous_ipv6_probes_are_detected(void **state)
{
	expect_clash(need(state), FREE6, true);
}

/* Other hosts' traffic takes no buffer space. */
static void other_traffic_takes_no_buffer_space(void **state)
{
	struct fixture *x = need(state);
	struct ip_addr who, whom;
	uint8_t frame[PORT_L2_CONTROL_MAX];
	struct reason why = {.code = ""};

	assert_int_equal(ip_addr_parse("10.99.77.8", &who), 0);
	assert_int_equal(ip_addr_parse("10.99.77.9", &whom), 0);
	begin(x, FREE4);
	for (unsigned i = 0; i < 4000; i++)
		peer_sends(x, frame, port_l2_build_solicit(frame, &mac_other, &who, &whom, NULL));
	peer_sends(x, frame, port_l2_build_announce(frame, &mac_other, &x->lp.ip.addr));
	port_early_wait(&x->all);
	assert_true(port_early_is_good(x->ask, &x->ask->local.mac));
	assert_int_equal(asked(x, &why), -EADDRINUSE);
}

/* Another host's requests for our address, which prove nothing. */
static void peer_asks(const struct fixture *x, unsigned n)
{
	struct ip_addr who;
	uint8_t frame[PORT_L2_CONTROL_MAX];
	size_t len;

	assert_int_equal(ip_addr_parse("10.99.77.8", &who), 0);
	len = port_l2_build_solicit(frame, &mac_other, &who, &x->lp.ip.addr, NULL);
	while (n-- > 0)
		peer_sends(x, frame, len);
}

/* The decisive frame is read in time, however many came before it; or an overflow is reported. */
static void many_replies_are_read_or_an_overflow_reported(void **state)
{
	struct fixture *x = need(state);
	const int bytes = 16 << 20;
	uint8_t frame[PORT_L2_CONTROL_MAX];
	struct reason why = {.code = ""};

	begin(x, FREE4);
	if (setsockopt(x->ask->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) < 0)
		skip();
	port_early_wait(&x->all);
	peer_asks(x, 1000);
	peer_sends(x, frame, port_l2_build_announce(frame, &mac_other, &x->lp.ip.addr));
	while (clock_now_ns() < x->ask->sent_ns + PORT_NEIGH_PROBE_NS)
		(void)poll(NULL, 0, 10);
	assert_true(port_early_is_good(x->ask, &x->ask->local.mac));
	assert_int_equal(asked(x, &why), -EADDRINUSE);
	peer_asks(x, 5000);
	assert_int_equal(port_early_input(x->ask, x->neigh, clock_now_ns()), -EOVERFLOW);
}

/* Failed or unanswerable probes do not count. */
static void probes_without_a_link_do_not_count(void **state)
{
	struct fixture *x = need(state);

	link_set(false);
	begin(x, FREE4);
	port_early_wait(&x->all);
	link_set(true);
	assert_false(port_early_is_good(x->ask, &x->ask->local.mac));
}

static void probes_of_a_lost_link_do_not_count(void **state)
{
	struct fixture *x = need(state);

	begin(x, FREE4);
	port_early_wait(&x->all);
	link_set(false);
	assert_false(port_early_is_good(x->ask, &x->ask->local.mac));
}

/* Down and up again, before or after reading. */
static void an_interface_that_was_down_is_detected(void **state)
{
	struct fixture *x = need(state);

	begin(x, FREE4);
	port_early_wait(&x->all);
	assert_int_equal(sh("ip -n " NS_A " link set early0 down"), 0);
	assert_int_equal(sh("ip -n " NS_A " link set early0 up"), 0);
	link_set(true);
	assert_false(port_early_is_good(x->ask, &x->ask->local.mac));
	assert_true(port_early_is_good(x->ask, &x->ask->local.mac)); /* reported once */
	assert_int_equal(sh("ip -n " NS_A " link set early0 down"), 0);
	assert_int_equal(sh("ip -n " NS_A " link set early0 up"), 0);
	assert_int_equal(port_early_input(x->ask, x->neigh, clock_now_ns()), -ENETDOWN);
}

static void a_missing_interface_is_not_probed(void **state)
{
	struct fixture *x = need(state);

	snprintf(x->lp.ifname, sizeof(x->lp.ifname), "nowhere0");
	begin(x, FREE4);
	port_early_wait(&x->all);
	assert_true(x->ask->fd < 0);
	assert_false(port_early_is_good(x->ask, &mac_other));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_free_address_is_probed),
		TEST(a_free_ipv6_address_is_probed),
		TEST(a_taken_address_is_detected),
		TEST(a_taken_ipv6_address_is_detected),
		TEST(simultaneous_probes_are_detected),
		TEST(simultaneous_ipv6_probes_are_detected),
		TEST(other_traffic_takes_no_buffer_space),
		TEST(probes_without_a_link_do_not_count),
		TEST(probes_of_a_lost_link_do_not_count),
		TEST(a_missing_interface_is_not_probed),
		TEST(an_interface_that_was_down_is_detected),
		TEST(many_replies_are_read_or_an_overflow_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
