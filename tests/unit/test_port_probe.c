/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests probes of the data port with real sockets: a worker's transport answers them, and
 * the reason is known where there is no answer. */
#include "netcfg/linux/port_probe.h"
#include "tests/lib/port/netns_enter.h"
#include "tests/lib/rudp/rudp_ops.h"

#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#define LIMIT_NS (300 * NSEC_PER_MSEC)

/* ---- the other host: a thread that runs a worker's transport ---- */

struct worker {
	struct rudp *rudp;
	pthread_t thread;
	int fd, stop[2];
	unsigned drop_every; /* packets that it ignores; 0: none */
	struct ip_addr ip;
	uint16_t port;
};

static int tx(void *user, unsigned port, const struct datagram_addr *dst,
	      const struct datagram *pkt)
{
	struct worker *w = user;
	struct sockaddr_storage to;
	int len = ip_addr_to_sockaddr(&dst->ip, dst->port, &to);
	uint8_t bytes[256];

	(void)sendto(w->fd, bytes, rudp_ops_copy(bytes, pkt), 0, (struct sockaddr *)&to,
		     (socklen_t)len);
	return 0;
}

static void request(void *user, struct rudp_session *s, struct rudp_call *call, void *buf,
		    size_t len)
{
}

static void event(void *user, struct rudp_session *s, enum rudp_event e, unsigned path, int code)
{
}

static const struct rudp_ops ops = {.tx = tx,
				    .tx_flush = rudp_ops_flush,
				    .buf_get = rudp_ops_buf_get,
				    .buf_put = rudp_ops_buf_put,
				    .request = request,
				    .call_gone = rudp_ops_call_gone,
				    .response = rudp_ops_response,
				    .sent = rudp_ops_sent,
				    .accept = rudp_ops_accept,
				    .event = event};

static void *serve(void *arg)
{
	struct worker *w = arg;
	struct pollfd fds[2] = {{w->fd, POLLIN, 0}, {w->stop[0], POLLIN, 0}};
	uint8_t bytes[16384];
	unsigned n = 0;

	while (poll(fds, 2, -1) > 0 && !fds[1].revents) {
		struct sockaddr_storage from;
		socklen_t size = sizeof(from);
		struct datagram_addr src;
		ssize_t len =
			recvfrom(w->fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&from, &size);

		n++;
		if (len < 0 || (w->drop_every && n % w->drop_every == 0) ||
		    ip_addr_from_sockaddr((struct sockaddr *)&from, &src.ip, &src.port) < 0)
			continue;
		(void)rudp_rx(w->rudp, 0, &src, bytes, (size_t)len, clock_now_ns());
		(void)rudp_poll(w->rudp, clock_now_ns());
	}
	return NULL;
}

static void bind_any(struct worker *w, const char *ip)
{
	struct sockaddr_storage name;
	socklen_t size = sizeof(name);
	const int bytes = 1 << 20; /* room for all packets until the thread runs */
	int len;

	assert_int_equal(ip_addr_parse(ip, &w->ip), 0);
	len = ip_addr_to_sockaddr(&w->ip, 0, &name);
	w->fd = socket(w->ip.family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (setsockopt(w->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) < 0)
		assert_int_equal(setsockopt(w->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)),
				 0);
	assert_int_equal(bind(w->fd, (struct sockaddr *)&name, (socklen_t)len), 0);
	assert_int_equal(getsockname(w->fd, (struct sockaddr *)&name, &size), 0);
	assert_true(ip_addr_from_sockaddr((struct sockaddr *)&name, &w->ip, &w->port) >= 0);
}

static void worker_start(struct worker *w, const char *ip, unsigned drop_every)
{
	struct rudp_config cfg = {.identity = 1, .epoch = 1, .ops = &ops, .user = w, .n_ports = 1};

	*w = (struct worker){.drop_every = drop_every};
	bind_any(w, ip);
	cfg.ports[0] = (struct rudp_port_info){
		.local = {.ip = w->ip, .port = w->port}, .prefix_len = 8, .mtu = 9000, .up = true};
	assert_int_equal(rudp_new(&cfg, clock_now_ns(), &w->rudp), 0);
	assert_int_equal(pipe(w->stop), 0);
	assert_int_equal(pthread_create(&w->thread, NULL, serve, w), 0);
}

static void worker_stop(struct worker *w)
{
	assert_int_equal(write(w->stop[1], "x", 1), 1);
	pthread_join(w->thread, NULL);
	rudp_free(w->rudp);
	close(w->fd);
	close(w->stop[0]);
	close(w->stop[1]);
}

static struct port_probe probe(const char *from, const struct worker *w, uint32_t bytes)
{
	struct port_probe p = {.to = w->ip,
			       .port = w->port,
			       .ifindex = if_nametoindex("lo"),
			       .bytes = bytes,
			       .n_packets = 20};

	assert_int_equal(ip_addr_parse(from, &p.from), 0);
	return p;
}

/* ---- tests ---- */

static void test_a_worker_answers_small_and_large_packets(void **state)
{
	struct port_probe p[3];
	struct worker w;

	worker_start(&w, "127.0.0.2", 0);
	p[0] = probe("127.0.0.1", &w, 0);
	p[1] = probe("127.0.0.1", &w, 9000);
	p[2] = probe("127.0.0.3", &w, 1500);
	assert_int_equal(port_probe_run(p, 3, NSEC_PER_SEC), 0);
	worker_stop(&w);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(p[i].send_error, 0);
		assert_int_equal(p[i].n_sent, 20);
		assert_int_equal(p[i].n_answered, 20);
		assert_int_equal(p[i].icmp_error, 0);
		assert_false(p[i].had_own_port);
	}
}

static void test_answers_over_ipv6_count(void **state)
{
	struct port_probe p;
	struct worker w;

	worker_start(&w, "::1", 0);
	p = probe("::1", &w, 1500);
	assert_int_equal(port_probe_run(&p, 1, NSEC_PER_SEC), 0);
	worker_stop(&w);
	assert_int_equal(p.n_answered, 20);
}

static void test_lost_packets_are_counted(void **state)
{
	struct port_probe p;
	struct worker w;

	worker_start(&w, "127.0.0.2", 4);
	p = probe("127.0.0.1", &w, 0);
	assert_int_equal(port_probe_run(&p, 1, LIMIT_NS), 0);
	worker_stop(&w);
	assert_int_equal(p.n_sent, 20);
	assert_int_equal(p.n_answered, 15);
}

static void test_the_data_port_is_used_where_it_is_free(void **state)
{
	struct port_probe p;
	struct worker w;

	worker_start(&w, "127.0.0.2", 0);
	p = probe("127.0.0.1", &w, 0);
	p.own_port = true;
	assert_int_equal(port_probe_run(&p, 1, NSEC_PER_SEC), 0);
	assert_true(p.had_own_port);
	assert_int_equal(p.n_answered, 20);
	p = probe("127.0.0.2", &w, 0); /* the worker's own address and port */
	p.own_port = true;
	assert_int_equal(port_probe_run(&p, 1, NSEC_PER_SEC), 0);
	worker_stop(&w);
	assert_false(p.had_own_port);
	assert_int_equal(p.n_answered, 20);
}

static void test_a_closed_port_is_told_from_a_silent_one(void **state)
{
	struct worker silent = {.port = 0}, closed = {.port = 0};
	struct port_probe p[2];

	bind_any(&silent, "127.0.0.2");
	bind_any(&closed, "127.0.0.3");
	close(closed.fd);
	p[0] = probe("127.0.0.1", &silent, 0);
	p[1] = probe("127.0.0.1", &closed, 0);
	assert_int_equal(port_probe_run(p, 2, LIMIT_NS), 0);
	close(silent.fd);
	assert_int_equal(p[0].n_answered + p[1].n_answered, 0);
	assert_int_equal(p[0].icmp_error, 0);
	assert_int_equal(p[1].icmp_error, ECONNREFUSED);
	assert_true(ip_addr_equal(&p[1].icmp_by, &closed.ip));
}

/* Answers by another link than the leg's come from elsewhere. */
static void test_answers_by_another_link_do_not_count(void **state)
{
	struct port_probe p;
	struct worker w;

	worker_start(&w, "127.0.0.2", 0);
	p = probe("127.0.0.1", &w, 0);
	p.ifindex += 1000;
	assert_int_equal(port_probe_run(&p, 1, LIMIT_NS), 0);
	worker_stop(&w);
	assert_int_equal(p.n_sent, 20);
	assert_int_equal(p.n_answered, 0);
}

static int refusal(const char *from, const char *to)
{
	struct worker w = {.port = 7411};
	struct port_probe p;

	assert_int_equal(ip_addr_parse(to, &w.ip), 0);
	p = probe(from, &w, 0);
	assert_int_equal(port_probe_run(&p, 1, NSEC_PER_MSEC), 0);
	assert_int_equal(p.n_sent, 0);
	return -p.send_error;
}

/* Enters a new network namespace. */
static void test_what_this_host_refuses_to_send_has_its_errno(void **state)
{
	if (unshare(CLONE_NEWNET) != 0 || sh("ip link set lo up") != 0)
		skip();
	assert_int_equal(refusal("127.0.0.1", "198.51.100.1"), ENETUNREACH);
	assert_int_equal(refusal("10.99.0.1", "127.0.0.2"), EADDRNOTAVAIL);
	assert_int_equal(sh("ip address add 10.99.0.1/24 dev lo && "
			    "ip route add prohibit 198.51.100.0/24 && "
			    "ip route add unreachable 203.0.113.0/24"),
			 0);
	assert_int_equal(refusal("10.99.0.1", "198.51.100.1"), EACCES);
	assert_int_equal(refusal("10.99.0.1", "203.0.113.1"), EHOSTUNREACH);
	if (sh("command -v nft >/dev/null && nft 'table inet t { chain o { type filter hook output "
	       "priority 0; udp dport 7411 drop; }; }'") != 0)
		return;
	assert_int_equal(refusal("127.0.0.1", "127.0.0.2"), EPERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_worker_answers_small_and_large_packets),
		cmocka_unit_test(test_answers_over_ipv6_count),
		cmocka_unit_test(test_lost_packets_are_counted),
		cmocka_unit_test(test_the_data_port_is_used_where_it_is_free),
		cmocka_unit_test(test_a_closed_port_is_told_from_a_silent_one),
		cmocka_unit_test(test_answers_by_another_link_do_not_count),
		cmocka_unit_test(test_what_this_host_refuses_to_send_has_its_errno),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
