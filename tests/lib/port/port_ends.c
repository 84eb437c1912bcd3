/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements port_ends.h. */
#include "tests/lib/port/port_ends.h"
#include <fcntl.h>
#include <sys/prctl.h>

/* ------------------------------------------------------------------ in the children */

uint32_t ends_log_level = 4;
uint32_t ends_mtu = 1500;
bool ends_shared;

void leg_fill(struct launch_port *lp, const struct end *e)
{
	if (ip_prefix_parse(e->ip, &lp->ip) < 0)
		_exit(EXIT_OPEN);
	snprintf(lp->leg, sizeof(lp->leg), "leg-%s", e->ifname);
	snprintf(lp->ifname, sizeof(lp->ifname), "%s", e->ifname);
	snprintf(lp->device, sizeof(lp->device), "%s", e->device);
	lp->ifindex = if_nametoindex(e->ifname);
	lp->udp_port = 4420;
	lp->mtu = ends_mtu;
	lp->shared = ends_shared;
}

void ends_open(struct port *ports, const struct end *legs, unsigned n)
{
	struct launch_config cfg = {.n_ports = n,
				    .transport = legs[0].transport,
				    .log_level = ends_log_level,
				    .core = 0};
	struct reason why;

	if (netns_enter(legs[0].netns) < 0)
		_exit(EXIT_OPEN);
	for (unsigned i = 0; i < n; i++)
		leg_fill(&cfg.ports[i], &legs[i]);
	for (unsigned i = 0; i < n; i++) {
		int r = 0;

		ports[i].ops = &port_xdp_ops;
		if (!launch_port_is_xdp(&cfg.ports[i]))
			r = port_ops_get(cfg.transport, &ports[i].ops, &why);
		if (r == 0)
			r = ports[i].ops->open(&ports[i], &cfg, i, &why);
		if (r == 0) {
			r = port_join(&ports[i], &cfg, i, &why);
			if (r < 0)
				ports[i].ops->close(&ports[i]);
		}
		if (why.text[0])
			fprintf(stderr, "# %s: %s\n", legs[i].ip, why.text);
		if (r < 0)
			_exit(EXIT_OPEN - r);
	}
}

void end_open(struct port *p, const struct end *e)
{
	ends_open(p, e, 1);
}

/* slept_out: the port's descriptor did not end the last sleep. n_unheard: number of answers that
 * were received after such a sleep. */
static bool slept_out;
static unsigned n_unheard;

void port_wait(struct port *p)
{
	struct pollfd pfd = {.fd = p->ops->fd(p), .events = POLLIN};

	if (pfd.fd < 0)
		sched_yield();
	else
		slept_out = p->ops->arm(p) && poll(&pfd, 1, 10) == 0;
	(void)p->ops->tick(p, clock_now_ns());
}

static unsigned echo_turn(struct port *p)
{
	struct port_rx pkts[64];
	int n = p->ops->rx(p, pkts, ARRAY_SIZE(pkts));

	for (int i = 0; i < n; i++) {
		struct datagram pkt = {.payload = pkts[i].data,
				       .payload_len = (uint16_t)pkts[i].len};

		(void)p->ops->tx(p, &pkts[i].src, &pkt);
	}
	if (n > 0)
		p->ops->flush(p);
	return n > 0 ? (unsigned)n : 0;
}

/* Echoes packets until the process is killed. When the ports are open, writes one byte to
 * `ready`. */
static void child_echo(const struct end *legs, unsigned n_legs, int ready)
{
	struct port ports[2] = {{0}};

	ends_open(ports, legs, n_legs);
	if (write(ready, "r", 1) != 1)
		_exit(1);
	for (;;)
		for (unsigned i = 0; i < n_legs; i++)
			if (echo_turn(&ports[i]) == 0)
				port_wait(&ports[i]);
}

static bool reply_is_good(const struct port_rx *d, uint32_t number, uint32_t bytes)
{
	uint32_t got;

	if (d->len != bytes)
		return false;
	memcpy(&got, d->data, sizeof(got));
	for (uint32_t i = 4; i < bytes; i++)
		if (d->data[i] != (uint8_t)(number + i))
			return false;
	return got == number;
}

/* Sends one datagram every 20 ms until it is echoed. Ignores the echoes of older datagrams. */
static bool ping_pong(struct port *p, const struct datagram_addr *dst, uint32_t number,
		      uint64_t deadline)
{
	const uint32_t most = ends_mtu - (dst->ip.family == AF_INET ? 28 : 48);
	uint32_t bytes = 8 + number * 37 % (most - 7);
	struct datagram pkt = {.hdr_len = 4};
	struct port_rx rx[8];
	uint8_t payload[9000];
	uint64_t again = 0;

	for (uint32_t i = 4; i < bytes; i++)
		payload[i - 4] = (uint8_t)(number + i);
	memcpy(pkt.hdr, &number, 4);
	pkt.payload = payload;
	pkt.payload_len = (uint16_t)(bytes - 4);
	for (uint64_t now = clock_now_ns(); now < deadline; now = clock_now_ns()) {
		int n;

		if (now >= again) {
			again = now + 20 * NSEC_PER_MSEC;
			(void)p->ops->tx(p, dst, &pkt);
			p->ops->flush(p);
		}
		n = p->ops->rx(p, rx, ARRAY_SIZE(rx));
		n_unheard += n > 0 && slept_out;
		slept_out = false;
		for (int i = 0; i < n; i++) {
			uint32_t got;

			memcpy(&got, rx[i].data, sizeof(got));
			if (got < number)
				continue;
			if (!reply_is_good(&rx[i], number, bytes))
				_exit(EXIT_DAMAGED);
			return true;
		}
		if (n == 0)
			port_wait(p);
	}
	return false;
}

uint32_t *keep_sending;

static void child_client(const struct end *e, const struct end *peer, uint32_t count)
{
	uint64_t deadline = clock_now_ns() + DEADLINE_NS;
	struct datagram_addr dst = {.port = 4420};
	struct ip_prefix prefix;
	struct port p = {0};

	end_open(&p, e);
	if (ip_prefix_parse(peer->ip, &prefix) < 0)
		_exit(1);
	dst.ip = prefix.addr;
	for (uint32_t i = 1, last = count; i <= last; i++) {
		if (keep_sending && __atomic_load_n(keep_sending, __ATOMIC_RELAXED))
			last = i + count;
		if (!ping_pong(&p, &dst, i, deadline))
			_exit(EXIT_TIMEOUT);
	}
	/* Some answers may be unheard, because an answer can arrive just when a sleep ends by its
	 * timeout. */
	if (n_unheard > count / 4)
		_exit(EXIT_SLEPT);
	p.ops->close(&p);
	_exit(0);
}

void child_sleeper(const struct end *e)
{
	uint64_t deadline = clock_now_ns() + DEADLINE_NS;
	struct pollfd pfd = {.events = POLLIN};
	struct port_rx rx[8];
	struct port p = {0};
	char down[64], up[64];

	snprintf(down, sizeof(down), "ip link set %s down", e->ifname);
	snprintf(up, sizeof(up), "ip link set %s up", e->ifname);
	end_open(&p, e);
	pfd.fd = p.ops->fd(&p);
	for (unsigned i = 0; i < 2; i++) {
		if (i == 1 && sh(down) != 0)
			_exit(1);
		do {
			if (clock_now_ns() > deadline)
				_exit(EXIT_TIMEOUT);
			while (p.ops->rx(&p, rx, ARRAY_SIZE(rx)) > 0)
				;
		} while (!p.ops->arm(&p) || poll(&pfd, 1, 100) != 0);
	}
	p.ops->close(&p);
	_exit(sh(up));
}

void child_two_legs(const struct end *legs, const struct end *peers)
{
	uint64_t deadline = clock_now_ns() + DEADLINE_NS;
	struct datagram_addr dst = {.port = 4420};
	struct port ports[2] = {{0}};
	struct ip_prefix prefix;

	ends_open(ports, legs, 2);
	for (uint32_t i = 1; i <= 400; i++) {
		if (ip_prefix_parse(peers[i % 2].ip, &prefix) < 0)
			_exit(1);
		dst.ip = prefix.addr;
		if (!ping_pong(&ports[i % 2], &dst, i, deadline))
			_exit(EXIT_TIMEOUT);
	}
	ports[0].ops->close(&ports[0]);
	ports[1].ops->close(&ports[1]);
	_exit(0);
}

/* ------------------------------------------------------------------ in the parent */

pid_t echoes_start(const struct end *e, unsigned n_legs)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		child_echo(e, n_legs, ready[1]);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1) {
		int status = 0;

		waitpid(pid, &status, 0);
		fail_msg("the port at %s did not open (%d)", e->ip, WEXITSTATUS(status));
	}
	close(ready[0]);
	return pid;
}

pid_t echo_start(const struct end *e)
{
	return echoes_start(e, 1);
}

void echo_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

pid_t client_start(const struct end *e, const struct end *peer, uint32_t count)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		child_client(e, peer, count);
	}
	return pid;
}

int client_run(const struct end *e, const struct end *peer, uint32_t count)
{
	int status = -1;

	waitpid(client_start(e, peer, count), &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
