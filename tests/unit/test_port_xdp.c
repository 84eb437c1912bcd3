/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The AF_XDP port: its program on frames of every kind, run by the kernel's own interpreter; the
 * port over veth pairs between two network namespaces, against itself, kernel sockets and DPDK; and
 * that nothing remains after a SIGKILL. Needs root.
 */
#include "dataplane/port/xdp/port_xdp.h"
#define PORT_RIG "pxdp"
#define PORT_RIG_NET "9"
#define PORT_RIG_DEVICE "af_xdp"
#define PORT_RIG_QUEUES "numrxqueues 4 numtxqueues 4 "
#define PORT_RIG_DOWN "ip -n " NS_A " addr replace fd00:99:9::4/64 dev pxdp0 nodad"
#include "tests/lib/port/port_rig.h"
#include <arpa/inet.h>
#include <linux/bpf.h>
#include <linux/if_xdp.h>
#include <netinet/if_ether.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>

PORT_RIG_DEFINE;

/* The kernel's own addresses beside the port's; the port resolves them too. */
static const char *const own_commands[] = {
	"ip -n " NS_A " addr add 10.99.9.4/24 dev pxdp0",
	"ip -n " NS_A " addr add fd00:99:9::4/64 dev pxdp0 nodad",
};

/* Whether the kernel supports these sockets. */
static bool kernel_has_them(void)
{
	autoclose int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);

	return fd >= 0;
}

static int group_setup(void **state)
{
	const char *missing = geteuid() != 0	   ? "needs root"
			      : !kernel_has_them() ? "the kernel has no AF_XDP"
						   : NULL;

	(void)port_rig_make(state, missing);
	for (unsigned i = 0; *state && i < ARRAY_SIZE(own_commands); i++)
		assert_int_equal(sh(own_commands[i]), 0);
	return 0;
}

static int group_teardown(void **state)
{
	port_rig_remove();
	return 0;
}

/* ------------------------------------------------------------------ the program */

#define FRAME_MAX 256

struct frame {
	uint8_t bytes[FRAME_MAX];
	uint32_t len;
};

static const struct port_l2_local local4 = {
	.mac = {{0x02, 0xfe, 0x80, 1, 2, 0xfd}},
	.ip = {.family = AF_INET, .bytes = {10, 255, 128, 200}},
	.udp_port = 0x9144,
};
static const struct port_l2_local local6 = {
	.mac = {{0x02, 0xfe, 0x80, 1, 2, 0xfd}},
	.ip = {.family = AF_INET6,
	       .bytes = {0xfd, 0, 0, 0x99, 0xff, 0xff, 0xff, 0xfe, 0x80, 0, 0, 0, 1, 2, 3, 4}},
	.udp_port = 0x9144,
};

/* A datagram from a neighbour to local. */
static struct frame frame_to(const struct port_l2_local *local, unsigned payload)
{
	struct port_l2_local sender = *local;
	struct datagram_addr dst = {.ip = local->ip, .port = local->udp_port};
	uint8_t bytes[FRAME_MAX] = "payload";
	struct datagram pkt = {.payload = bytes, .payload_len = (uint16_t)payload};
	struct frame f = {.len = 0};

	sender.mac.bytes[5] ^= 1;
	sender.ip.bytes[3] ^= 1;
	f.len = (uint32_t)port_l2_build_udp(f.bytes, &sender, &local->mac, &dst, &pkt, 0);
	return f;
}

/* A socket of the port on queue 0 of lo, the device of the kernel's test frames. */
struct bench {
	struct port_xdp_socket socket;
	int map;
};

static void bench_init(struct bench *b)
{
	const uint64_t deadline = clock_now_ns() + DEADLINE_NS;
	int r;

	/* The kernel frees a queue a moment after its owner's end. */
	while ((r = port_xdp_socket_init(&b->socket, if_nametoindex("lo"), 1, 1500, false)) ==
		       -EBUSY &&
	       clock_now_ns() < deadline) {
		port_xdp_socket_done(&b->socket);
		(void)poll(NULL, 0, 5);
	}
	assert_int_equal(r, 0);
	b->map = port_xdp_map_new(1);
	assert_true(b->map >= 0);
	assert_int_equal(port_xdp_map_set(b->map, 0, b->socket.queues[0].fd), 0);
}

static void bench_done(struct bench *b)
{
	close(b->map);
	port_xdp_socket_done(&b->socket);
}

/* The program's verdict on the frame. */
static uint32_t verdict(int program, const struct frame *f)
{
	uint8_t out[FRAME_MAX + 64];
	union bpf_attr attr = {.test = {.prog_fd = (uint32_t)program,
					.data_in = (uint64_t)(uintptr_t)f->bytes,
					.data_size_in = f->len,
					.data_out = (uint64_t)(uintptr_t)out,
					.data_size_out = sizeof(out),
					.repeat = 1}};

	assert_int_equal(syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr)), 0);
	return attr.test.retval;
}

static void tag(struct frame *f)
{
	memmove(f->bytes + 16, f->bytes + 12, f->len - 12);
	memcpy(f->bytes + 12, "\x81\x00\x00\x64", 4);
	f->len += 4;
}

/* Changes each byte that identifies the port's frames: then the kernel must get them. */
static void bytes_each(int program, const struct frame *good, const uint8_t *at, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct frame f = *good;

		f.bytes[at[i]] ^= 0x80;
		if (verdict(program, &f) != XDP_PASS)
			fail_msg("byte %u counts for nothing", at[i]);
		f = *good;
		f.bytes[at[i]] ^= 0x01;
		/* in the first byte of an address this bit marks a group, and so on */
		if (verdict(program, &f) != XDP_PASS)
			fail_msg("byte %u, lowest bit, counts for nothing", at[i]);
	}
}

static void the_program_selects_ipv4_datagrams(void **state)
{
	/* MAC, type, version and length, protocol, address, port */
	static const uint8_t count[] = {0, 1, 2, 3, 4, 5, 12, 13, 14, 23, 30, 31, 32, 33, 36, 37};
	static const uint8_t ignored[] = {6, 11, 15, 18, 22, 24, 26, 29, 34, 35, 40};
	struct frame good = frame_to(&local4, 60), f;
	struct bench b;
	int program;

	need(state);
	bench_init(&b);
	program = port_xdp_program_load(&local4, b.map);
	assert_true(program >= 0);
	assert_int_equal(verdict(program, &good), XDP_REDIRECT);
	bytes_each(program, &good, count, sizeof(count));
	for (unsigned i = 0; i < sizeof(ignored); i++) {
		f = good;
		f.bytes[ignored[i]] ^= 0x10;
		assert_int_equal(verdict(program, &f), XDP_REDIRECT);
	}
	f = good;
	f.bytes[20] = 0x40; /* don't fragment: no fragment */
	assert_int_equal(verdict(program, &f), XDP_REDIRECT);
	f.bytes[20] = 0x20; /* the first one */
	assert_int_equal(verdict(program, &f), XDP_PASS);
	f.bytes[20] = 0x00;
	f.bytes[21] = 0x01; /* a later one */
	assert_int_equal(verdict(program, &f), XDP_PASS);
	f.bytes[20] = 0x1f;
	f.bytes[21] = 0x00;
	assert_int_equal(verdict(program, &f), XDP_PASS);
	f = frame_to(&local4, 0);
	assert_int_equal(f.len, 42);
	assert_int_equal(verdict(program, &f), XDP_REDIRECT);
	for (f.len = 41; f.len >= 14; f.len--)
		assert_int_equal(verdict(program, &f), XDP_PASS);
	f = good;
	tag(&f);
	assert_int_equal(verdict(program, &f), XDP_PASS);
	f = frame_to(&local6, 60);
	assert_int_equal(verdict(program, &f), XDP_PASS);
	f.len = (uint32_t)port_l2_build_solicit(f.bytes, &local4.mac, &local4.ip, &local4.ip, NULL);
	assert_int_equal(verdict(program, &f), XDP_PASS);
	close(program);
	bench_done(&b);
}

static void the_program_selects_ipv6_datagrams(void **state)
{
	static const uint8_t count[] = {0,  1,	2,  3,	4,  5,	12, 13, 20, 38, 39, 40, 41, 42,
					43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 56, 57};
	static const uint8_t ignored[] = {6, 11, 15, 17, 19, 21, 22, 37, 54, 55, 60};
	struct frame good = frame_to(&local6, 60), f;
	struct bench b;
	int program;

	need(state);
	bench_init(&b);
	program = port_xdp_program_load(&local6, b.map);
	assert_true(program >= 0);
	assert_int_equal(verdict(program, &good), XDP_REDIRECT);
	bytes_each(program, &good, count, sizeof(count));
	for (unsigned i = 0; i < sizeof(ignored); i++) {
		f = good;
		f.bytes[ignored[i]] ^= 0x10;
		assert_int_equal(verdict(program, &f), XDP_REDIRECT);
	}
	f = good;
	f.bytes[14] = 0x6f; /* traffic class */
	assert_int_equal(verdict(program, &f), XDP_REDIRECT);
	f.bytes[14] = 0x40;
	assert_int_equal(verdict(program, &f), XDP_PASS);
	f = good;
	f.bytes[20] = 44; /* a fragment */
	assert_int_equal(verdict(program, &f), XDP_PASS);
	f = frame_to(&local6, 0);
	assert_int_equal(f.len, 62);
	assert_int_equal(verdict(program, &f), XDP_REDIRECT);
	for (f.len = 61; f.len >= 14; f.len--)
		assert_int_equal(verdict(program, &f), XDP_PASS);
	f = good;
	tag(&f);
	assert_int_equal(verdict(program, &f), XDP_PASS);
	f = frame_to(&local4, 60);
	assert_int_equal(verdict(program, &f), XDP_PASS);
	f.len = (uint32_t)port_l2_build_solicit(f.bytes, &local6.mac, &local6.ip, &local6.ip, NULL);
	assert_int_equal(verdict(program, &f), XDP_PASS);
	close(program);
	bench_done(&b);
}

/* A queue without a socket leaves everything to the kernel. */
static void a_queue_without_socket_belongs_to_the_kernel(void **state)
{
	struct frame good = frame_to(&local4, 60);
	autoclose int map = -1, program = -1;

	need(state);
	map = port_xdp_map_new(1);
	program = port_xdp_program_load(&local4, map);
	assert_true(program >= 0);
	assert_int_equal(verdict(program, &good), XDP_PASS);
}

/* More than one call takes: all are taken, and all buffers return. */
static void a_large_burst_is_sent_completely(void **state)
{
	const uint64_t deadline = clock_now_ns() + DEADLINE_NS;
	unsigned unsent = 0, n = 0;
	struct frame f = frame_to(&local4, 60);
	uint64_t address;
	struct bench b;
	uint8_t *to;

	need(state);
	bench_init(&b);
	for (; n < 300; n++) {
		to = port_xdp_socket_tx_get(&b.socket, &address);
		assert_non_null(to);
		memcpy(to, f.bytes, f.len);
		port_xdp_socket_tx_put(&b.socket, address, f.len);
	}
	/* The device may be full for a moment. */
	do {
		unsent = port_xdp_socket_tx_send(&b.socket);
		assert_true(clock_now_ns() < deadline);
	} while (unsent > 0);
	assert_false(b.socket.no_progress);
	while (b.socket.n_free < b.socket.memory_bytes / b.socket.frame_bytes - 2048) {
		(void)port_xdp_socket_tx_send(&b.socket);
		assert_true(clock_now_ns() < deadline);
	}
	bench_done(&b);
}

/* ------------------------------------------------------------------ the port */

/* While the port has its address there, the kernel keeps its own, with all services. */
static void the_kernel_keeps_the_interface(void **state)
{
	pid_t echo;

	need(state);
	if (sh("command -v ping >/dev/null") != 0) {
		print_message("ping is not installed\n");
		skip();
	}
	echo = echo_start(&end_a);
	assert_int_equal(sh("ip netns exec " NS_B " ping -q -c 3 -i 0.2 -W 20 -s 1400 10.99.9.1 "
			    ">/dev/null"),
			 0);
	assert_int_equal(sh("ip netns exec " NS_B " ping -q -c 3 -i 0.2 -W 20 -s 4000 10.99.9.4 "
			    ">/dev/null"),
			 0);
	assert_int_equal(
		sh("ip netns exec " NS_A " ping -q -c 3 -i 0.2 -W 20 10.99.9.3 >/dev/null"), 0);
	echo_kill(echo);
	echo = echo_start(&end_a6);
	assert_int_equal(
		sh("ip netns exec " NS_B " ping -q -c 3 -i 0.2 -W 20 fd00:99:9::1 >/dev/null"), 0);
	assert_int_equal(
		sh("ip netns exec " NS_B " ping -q -c 3 -i 0.2 -W 20 fd00:99:9::4 >/dev/null"), 0);
	echo_kill(echo);
}

/* Both interfaces, as an operator sees them. */
static void look(const char *name)
{
	char cmd[400];

	snprintf(cmd, sizeof(cmd),
		 "{ ip -d -n " NS_A " link show pxdp0; ip netns exec " NS_A " ethtool -k pxdp0; "
		 "ip -d -n " NS_B " link show pxdp1; ip netns exec " NS_B " ethtool -k pxdp1; } "
		 ">/tmp/plenum-pxdp.%d.%s",
		 (int)getpid(), name);
	assert_int_equal(sh(cmd), 0);
}

static int same_as_before(const char *name)
{
	char cmd[200];

	look(name);
	snprintf(cmd, sizeof(cmd), "cmp -s /tmp/plenum-pxdp.%d.before /tmp/plenum-pxdp.%d.%s",
		 (int)getpid(), (int)getpid(), name);
	return sh(cmd);
}

/* The successor gets the interface at once, and the last one restores it. */
static void a_killed_port_leaves_nothing(void **state)
{
	char cmd[100];
	pid_t echo;

	need(state);
	look("before");
	for (unsigned i = 0; i < 5; i++) {
		echo = echo_start(&end_b);
		assert_int_equal(client_run(&end_a, &end_b, 10), 0);
		assert_int_equal(sh("ip -d -n " NS_B " link show pxdp1 | grep -q 'prog/xdp'"), 0);
		echo_kill(echo);
	}
	assert_int_equal(same_as_before("after"), 0);
	snprintf(cmd, sizeof(cmd), "rm -f /tmp/plenum-pxdp.%d.*", (int)getpid());
	(void)sh(cmd);
}

/* A port on a MACVLAN whose frames wait below it in a very slow queue. */
static const struct end end_slow = {NS_A, "pxdp8", "10.99.29.1/24", LAUNCH_DPDK, "af_xdp"};
static const char *const slow_commands[] = {
	"ip -n " NS_A " link add pxdp6 type veth peer name pxdp7 netns " NS_B,
	"ip -n " NS_A " link set pxdp6 up && ip -n " NS_B " link set pxdp7 up",
	"ip -n " NS_A " link add link pxdp6 name pxdp8 type macvlan mode bridge",
	"ip -n " NS_A " link set pxdp8 up",
	"tc -n " NS_A " qdisc add dev pxdp6 root tbf rate 1kbit burst 2000 limit 1000000",
};
#define SLOW_FRAMES 500 /* of 42 bytes or more: for minutes */
#define SLOW_MS 2500	/* longer than a transient */

/* Leaves its frames behind. */
static void child_leaves_frames(const struct end *e)
{
	struct port p = {0};

	end_open(&p, e);
	for (unsigned i = 0; i < SLOW_FRAMES; i++)
		p.ops->announce(&p);
	_exit(0);
}

/* Drains them a while after the successor has attached its program, which means it is waiting. */
static void child_frees_frames(void)
{
	const uint64_t deadline = clock_now_ns() + DEADLINE_NS;

	while (sh("ip -d -n " NS_A " link show pxdp8 | grep -q 'prog/xdp id'") != 0) {
		if (clock_now_ns() > deadline)
			_exit(EXIT_TIMEOUT);
		(void)poll(NULL, 0, 10);
	}
	(void)poll(NULL, 0, SLOW_MS);
	_exit(sh("tc -n " NS_A " qdisc del dev pxdp6 root"));
}

/* The kernel keeps a dead process's queues while it has frames of it: the successor waits, because
 * no live process has the interface. */
static void a_successor_waits_for_queued_frames(void **state)
{
	pid_t pid, echo;

	need(state);
	for (unsigned i = 0; i < ARRAY_SIZE(slow_commands); i++)
		if (sh(slow_commands[i]) != 0) {
			print_message("the kernel has no MACVLAN, or no queue that is slow\n");
			(void)sh("ip -n " NS_A " link del pxdp6 2>/dev/null");
			skip();
		}
	pid = child_start();
	if (pid == 0)
		child_leaves_frames(&end_slow);
	expect_done(pid);
	pid = child_start();
	if (pid == 0)
		child_frees_frames();
	echo = echo_start(&end_slow);
	expect_done(pid);
	echo_kill(echo);
	assert_int_equal(sh("ip -n " NS_A " link del pxdp6"), 0);
}

/* Frames wait while the interface is down, and the port continues afterwards. */
static void frames_wait_while_the_link_is_down(void **state)
{
	pid_t client, echo;

	need(state);
	keep_sending = mmap(NULL, sizeof(*keep_sending), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(keep_sending != MAP_FAILED);
	*keep_sending = 1;
	echo = echo_start(&end_b);
	client = client_start(&end_a, &end_b, 100);
	for (int i = 0; i < 3; i++)
		assert_int_equal(sh("ip -n " NS_B " link set pxdp1 down && ip -n " NS_B
				    " link set pxdp1 up && ip -n " NS_A
				    " link set pxdp0 down && ip -n " NS_A " link set pxdp0 up"),
				 0);
	__atomic_store_n(keep_sending, 0, __ATOMIC_RELAXED);
	expect_done(client);
	munmap(keep_sending, sizeof(*keep_sending));
	keep_sending = NULL;
	echo_kill(echo);
	assert_int_equal(sh("ip -n " NS_A
			    " addr replace fd00:99:9::4/64 dev pxdp0 nodad && ip -n " NS_B
			    " addr replace fd00:99:9::3/64 dev pxdp1 nodad"),
			 0);
}

/* The kernel reports the state a moment later. */
static void link_await(const char *netns, const char *ifname, bool up)
{
	const uint64_t deadline = clock_now_ns() + DEADLINE_NS;
	char cmd[100];

	snprintf(cmd, sizeof(cmd), "ip -n %s link show %s | grep -q 'state UP'", netns, ifname);
	while ((sh(cmd) == 0) != up) {
		if (clock_now_ns() > deadline)
			_exit(EXIT_TIMEOUT);
		(void)poll(NULL, 0, 10);
	}
}

/* Joins while its link is down, and probes its address when it is up. */
static void child_late_link(const struct end *e, int expected)
{
	const uint64_t deadline = clock_now_ns() + DEADLINE_NS;
	struct launch_config cfg = {.n_ports = 1, .transport = e->transport, .log_level = 4};
	struct reason why = {.code = ""};
	struct port p = {.ops = &port_xdp_ops};
	struct port_rx rx[8];
	int r;

	link_await(e->netns, e->ifname, false);
	if (netns_enter(e->netns) < 0)
		_exit(EXIT_OPEN);
	leg_fill(&cfg.ports[0], e);
	if (p.ops->open(&p, &cfg, 0, &why) < 0)
		_exit(EXIT_OPEN);
	if (port_join(&p, &cfg, 0, &why) != 1 || !strstr(why.text, "no link"))
		_exit(EXIT_DAMAGED);
	if (sh("ip -n " NS_B " link set pxdp1 up") != 0)
		_exit(EXIT_OPEN);
	link_await(NS_A, e->ifname, true); /* before, nothing leaves */
	link_await(NS_B, "pxdp1", true);
	reason_clear(&why);
	while ((r = p.ops->probe(&p, &why)) == -EAGAIN && clock_now_ns() < deadline) {
		(void)p.ops->rx(&p, rx, ARRAY_SIZE(rx));
		(void)p.ops->tick(&p, clock_now_ns());
		(void)poll(NULL, 0, 1);
	}
	if (r != expected)
		fprintf(stderr, "# %s: %s\n", strerror(-r), why.text);
	p.ops->close(&p);
	_exit(r == expected && !r == !why.text[0] ? 0 : EXIT_DAMAGED);
}

static void a_port_joins_when_its_link_comes_late(void **state)
{
	/* The second is the other end's own. */
	static const struct end ends[] = {{NS_A, "pxdp0", "10.99.9.77/24", LAUNCH_DPDK, "af_xdp"},
					  {NS_A, "pxdp0", "10.99.9.3/24", LAUNCH_DPDK, "af_xdp"}};

	need(state);
	for (unsigned i = 0; i < ARRAY_SIZE(ends); i++) {
		pid_t pid;

		assert_int_equal(sh("ip -n " NS_B " link set pxdp1 down"), 0);
		pid = child_start();
		if (pid == 0)
			child_late_link(&ends[i], i == 0 ? 0 : -EADDRINUSE);
		expect_done(pid);
	}
	assert_int_equal(sh("ip -n " NS_B
			    " addr replace fd00:99:9::3/64 dev pxdp1 nodad && ip -n " NS_A
			    " addr replace fd00:99:9::4/64 dev pxdp0 nodad"),
			 0);
}

#define WAKES 20

/* Frames the kernel did not take wake a sleeping worker until they are taken, by the port's own
 * timer. */
static void child_unsent(const struct end *e)
{
	const uint64_t deadline = clock_now_ns() + DEADLINE_NS;
	struct pollfd pfd = {.events = POLLIN};
	unsigned wakes = 0;
	struct port_rx rx[8];
	struct port p = {0};
	char cmd[64];

	end_open(&p, e);
	pfd.fd = p.ops->fd(&p);
	snprintf(cmd, sizeof(cmd), "ip link set %s down", e->ifname);
	if (sh(cmd) != 0)
		_exit(1);
	p.ops->announce(&p);
	while (wakes < WAKES) {
		(void)p.ops->rx(&p, rx, ARRAY_SIZE(rx));
		wakes += p.ops->arm(&p) && poll(&pfd, 1, (int)(DEADLINE_NS / NSEC_PER_MSEC)) == 1;
		if (clock_now_ns() > deadline)
			_exit(EXIT_TIMEOUT);
	}
	snprintf(cmd, sizeof(cmd), "ip link set %s up", e->ifname);
	if (sh(cmd) != 0)
		_exit(1);
	do {
		if (clock_now_ns() > deadline)
			_exit(EXIT_SLEPT);
		while (p.ops->rx(&p, rx, ARRAY_SIZE(rx)) > 0)
			;
	} while (!p.ops->arm(&p) || poll(&pfd, 1, 100) != 0);
	p.ops->close(&p);
	_exit(0);
}

static void untaken_frames_wake_the_port(void **state)
{
	pid_t pid;

	need(state);
	pid = child_start();
	if (pid == 0)
		child_unsent(&end_a_sleeps);
	expect_done(pid);
	assert_int_equal(sh("ip -n " NS_A " addr replace fd00:99:9::4/64 dev pxdp0 nodad"), 0);
}

/* From the namespace's own /sys: the driver's number, else the existing queues. */
static void child_queues(void)
{
	if (netns_enter(NS_A) < 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("sysfs", "/sys", "sysfs", 0, NULL) < 0)
		_exit(1);
	_exit(port_xdp_queues_count("pxdp0") == 1 && port_xdp_queues_count("pxdp2") == 4 &&
			      port_xdp_queues_count("pxdp4") == 3 &&
			      port_xdp_queues_count("nosuch0") == 1
		      ? 0
		      : 2);
}

static void receive_queues_are_counted(void **state)
{
	pid_t pid;

	need(state);
	/* Bridges report no queues. */
	assert_int_equal(sh("ip -n " NS_A " link add pxdp4 numrxqueues 3 type bridge"), 0);
	pid = child_start();
	if (pid == 0)
		child_queues();
	expect_done(pid);
}

/* Each leaves the interface to the kernel. */
static void unsuitable_interfaces_are_refused(void **state)
{
	struct end bad = end_a;
	pid_t echo;

	need(state);
	bad.ifname = "nosuch0";
	assert_int_equal(client_run(&bad, &end_b, 1), EXIT_OPEN + ENODEV);
	echo = echo_start(&end_a);
	bad = end_a;
	bad.ip = "10.99.9.21/24"; /* a second one on the same interface */
	assert_int_equal(client_run(&bad, &end_b, 1), EXIT_OPEN + EEXIST);
	echo_kill(echo);
	assert_int_not_equal(sh("ip -d -n " NS_A " link show pxdp0 | grep -q 'prog/xdp'"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_program_selects_ipv4_datagrams),
		cmocka_unit_test(the_program_selects_ipv6_datagrams),
		cmocka_unit_test(a_queue_without_socket_belongs_to_the_kernel),
		cmocka_unit_test(a_large_burst_is_sent_completely),
		PORT_RIG_TESTS,
		cmocka_unit_test(the_kernel_keeps_the_interface),
		cmocka_unit_test(a_killed_port_leaves_nothing),
		cmocka_unit_test(a_successor_waits_for_queued_frames),
		cmocka_unit_test(frames_wait_while_the_link_is_down),
		cmocka_unit_test(a_port_joins_when_its_link_comes_late),
		cmocka_unit_test(untaken_frames_wake_the_port),
		cmocka_unit_test(receive_queues_are_counted),
		cmocka_unit_test(unsuitable_interfaces_are_refused),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
