/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rudp over kernel UDP beside kernel TCP, between two network namespaces joined by a veth pair:
 * one request of 64 bytes at a time, answered with 4 KiB, both sides polling; then requests
 * answered with 1 MiB, four at a time. Client and server are one process each, on cores 0 and 1.
 * Rounds of the two are interleaved; what counts is the ratio of the medians.
 *
 *	rudp_vs_tcp [--rounds N] [--ms N] [--mtu N] [--wire] [--only rudp|TCP|port]
 *		    [--security none|auth|encrypt]
 *
 * --ms: length of a round. --wire: no segmentation or merging on the link, as on a real wire.
 * --only: for a profiler.
 */
#include "dataplane/port/port_udp.h"
#include "dataplane/rudp/rudp.h"
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define NS_CLIENT "plenum-rvt-c"
#define NS_SERVER "plenum-rvt-s"
#define IP_CLIENT "10.99.9.1/24"
#define IP_SERVER "10.99.9.2/24"
#define UDP_PORT 4420
#define TCP_PORT 4421
#define REQUEST_BYTES 64U
#define SMALL_BYTES 4096U
#define LARGE_BYTES (1U << 20)
#define IN_FLIGHT_MAX 4U
#define SAMPLES_MAX (1U << 20)
#define BUFS 16U
#define SERVICE_EVERY 1024U /* rudp's timers run while TCP is measured, this seldom */

/* The bare port shows how much of the time is rudp's own. */
enum kind { RUDP, TCP, PORT, KIND_MAX };
static const char *const kind_names[] = {"rudp", "TCP", "port"};

enum mode { MODE_RUDP, MODE_TCP, MODE_PORT, MODE_STOP };
static const uint8_t port_magic[4] = {0xee, 'p', 'r', 't'};

struct options {
	unsigned rounds, round_ms, mtu;
	int only; /* enum kind; -1: all */
	bool wire;
	enum rudp_security security;
};

struct app { /* one end */
	struct rudp *rudp;
	struct rudp_session *session;
	struct port port;
	int tcp;
	uint64_t now_ns;
	unsigned done; /* responses so far */
	uint64_t failed;
	uint8_t *bufs; /* BUFS of LARGE_BYTES + slack */
	unsigned n_free;
	void *free_bufs[BUFS];
	uint8_t request[IN_FLIGHT_MAX][REQUEST_BYTES];
	const uint8_t *reply;
	struct datagram_addr peer;
	uint32_t chunk_bytes, port_bytes;
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void sh(const char *cmd)
{
	if (system(cmd) != 0) {
		fprintf(stderr, "failed: %s\n", cmd);
		exit(1);
	}
}

/* ------------------------------------------------------------------ rudp's callbacks */

static int app_tx(void *user, unsigned port, const struct datagram_addr *dst,
		  const struct datagram *pkt)
{
	struct app *a = user;

	return a->port.ops->tx(&a->port, dst, pkt);
}

static void app_flush(void *user)
{
	struct app *a = user;

	if (rudp_tx_is_long(a->rudp))
		rudp_tx_leaves(a->rudp, 0, clock_now_ns());
	a->port.ops->flush(&a->port);
}

static void *app_buf_get(void *user, struct rudp_session *s, bool is_response, uint64_t cookie,
			 size_t len)
{
	struct app *a = user;

	return a->n_free ? a->free_bufs[--a->n_free] : NULL;
}

static void app_buf_put(void *user, struct rudp_session *s, void *buf)
{
	struct app *a = user;

	a->free_bufs[a->n_free++] = buf;
}

static void app_request(void *user, struct rudp_session *s, struct rudp_call *call, void *buf,
			size_t len)
{
	struct app *a = user;
	uint32_t want;

	memcpy(&want, buf, sizeof(want));
	app_buf_put(a, s, buf);
	rudp_respond(call, a->reply, MIN_OF(want, LARGE_BYTES), NULL);
}

static void app_call_gone(void *user, struct rudp_session *s, struct rudp_call *call)
{
}

static void app_response(void *user, struct rudp_session *s, uint64_t cookie, int status, void *buf,
			 size_t len)
{
	struct app *a = user;

	a->done++;
	if (status < 0)
		a->failed++;
	else
		app_buf_put(a, s, buf);
}

static void app_sent(void *user, struct rudp_session *s, void *token)
{
}

static int app_accept(void *user, struct rudp_session *s, const void *hello, size_t len,
		      void **ret_user)
{
	*ret_user = user;
	return 0;
}

static void app_event(void *user, struct rudp_session *s, enum rudp_event e, unsigned path,
		      int code)
{
}

static const struct rudp_ops app_ops = {
	.tx = app_tx,
	.tx_flush = app_flush,
	.buf_get = app_buf_get,
	.buf_put = app_buf_put,
	.request = app_request,
	.call_gone = app_call_gone,
	.response = app_response,
	.sent = app_sent,
	.accept = app_accept,
	.event = app_event,
};

static void port_send(struct app *a, const struct datagram_addr *dst, uint32_t bytes)
{
	struct datagram pkt = {.hdr_len = sizeof(port_magic), .payload = a->reply};

	memcpy(pkt.hdr, port_magic, sizeof(port_magic));
	while (bytes > 0) {
		pkt.payload_len = (uint16_t)MIN_OF(bytes, a->chunk_bytes);
		(void)a->port.ops->tx(&a->port, dst, &pkt);
		bytes -= pkt.payload_len;
	}
	a->port.ops->flush(&a->port);
}

/* A datagram of the bare port: the server answers, the client counts. */
static void port_receive(struct app *a, const struct port_rx *d)
{
	if (a->session)
		a->port_bytes += d->len - (uint32_t)sizeof(port_magic);
	else
		port_send(a, &d->src, SMALL_BYTES);
}

/* The worker's turn, less the file system. */
static void app_turn(struct app *a)
{
	struct port_rx pkts[PORT_BURST_MAX];
	int n;

	n = a->port.ops->rx(&a->port, pkts, PORT_BURST_MAX);
	a->now_ns = clock_now_ns();
	for (int i = 0; i < n; i++) {
		if (pkts[i].len > sizeof(port_magic) &&
		    memcmp(pkts[i].data, port_magic, sizeof(port_magic)) == 0) {
			port_receive(a, &pkts[i]);
			continue;
		}
		rudp_rx_waited(a->rudp, pkts[i].waited_ns);
		(void)rudp_rx(a->rudp, 0, &pkts[i].src, pkts[i].data, pkts[i].len, a->now_ns);
	}
	if (n > 0)
		a->now_ns = clock_now_ns();
	(void)rudp_poll(a->rudp, a->now_ns);
}

/* ------------------------------------------------------------------ setting up */

static struct app *app_new(const char *ip, const char *ifname, const struct options *o,
			   bool is_server)
{
	struct app *a = calloc(1, sizeof(*a));
	struct launch_config cfg = {.n_ports = 1, .spin_us = 1000};
	struct rudp_config rc = {.epoch = 1,
				 .n_ports = 1,
				 .ops = &app_ops,
				 .security = o->security,
				 .n_keys = o->security ? 1 : 0,
				 .keys = {{1, 2, 3}}};
	size_t buf_bytes = LARGE_BYTES + 4096;
	char why[LAUNCH_REASON_MAX];

	if (!a || ip_prefix_parse(ip, &cfg.ports[0].ip) < 0)
		die("app");
	cfg.ports[0].udp_port = UDP_PORT;
	cfg.ports[0].mtu = o->mtu;
	cfg.ports[0].ifindex = if_nametoindex(ifname);
	if (port_ops_get(LAUNCH_UDP, &a->port.ops, why) < 0 ||
	    a->port.ops->open(&a->port, &cfg, 0, why) < 0) {
		fprintf(stderr, "%s\n", why);
		exit(1);
	}
	a->bufs = malloc(buf_bytes * (BUFS + 1));
	if (!a->bufs)
		die("malloc");
	memset(a->bufs, 0x5a, buf_bytes * (BUFS + 1));
	a->reply = a->bufs + buf_bytes * BUFS;
	a->chunk_bytes = o->mtu - 28 - 32; /* about what rudp's header leaves */
	for (unsigned i = 0; i < BUFS; i++)
		a->free_bufs[a->n_free++] = a->bufs + buf_bytes * i;
	rc.user = a;
	rc.identity = is_server ? 2 : 1;
	rc.seed = clock_now_ns() + is_server;
	rc.limits.lost_ns = 60 * NSEC_PER_SEC;
	rc.ports[0] =
		(struct rudp_port_info){.local = {.ip = cfg.ports[0].ip.addr, .port = UDP_PORT},
					.prefix_len = 24,
					.mtu = o->mtu,
					.up = true};
	if (rudp_new(&rc, clock_now_ns(), &a->rudp) < 0)
		die("rudp_new");
	return a;
}

static void tcp_options(int fd)
{
	int on = 1;

	/* A paced congestion control, often the default here, would hold small answers back. */
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5) != 0)
		perror("TCP options");
	if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
		die("O_NONBLOCK");
}

static struct sockaddr_storage tcp_name(const char *ip, socklen_t *ret_len)
{
	struct sockaddr_storage name;
	struct ip_prefix p;

	if (ip_prefix_parse(ip, &p) < 0)
		die("address");
	*ret_len = (socklen_t)ip_addr_to_sockaddr(&p.addr, TCP_PORT, &name);
	return name;
}

static int tcp_accept(int ready)
{
	socklen_t len;
	struct sockaddr_storage name = tcp_name(IP_SERVER, &len);
	int on = 1, fd, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
	    bind(listener, (struct sockaddr *)&name, len) != 0 || listen(listener, 1) != 0)
		die("listen");
	if (write(ready, "r", 1) != 1)
		die("ready");
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		die("accept");
	close(listener);
	tcp_options(fd);
	return fd;
}

static int tcp_connect(void)
{
	socklen_t len;
	struct sockaddr_storage name = tcp_name(IP_SERVER, &len);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&name, len) != 0)
		die("connect");
	tcp_options(fd);
	return fd;
}

static void enter(const char *netns, unsigned core)
{
	char path[64];
	cpu_set_t set;
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", netns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET) != 0)
		die(netns);
	close(fd);
	CPU_ZERO(&set);
	CPU_SET(core, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		perror("core");
}

/* ------------------------------------------------------------------ the server */

/* All of it, polling. False: the other side is gone. */
static bool tcp_send_all(int fd, const uint8_t *p, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, p, len, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		}
	}
	return true;
}

static bool tcp_receive_all(int fd, uint8_t *p, size_t len)
{
	while (len > 0) {
		ssize_t n = recv(fd, p, len, MSG_DONTWAIT);

		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return false;
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		}
	}
	return true;
}

static bool server_tcp_turn(struct app *a)
{
	uint8_t request[REQUEST_BYTES];
	ssize_t n = recv(a->tcp, request, sizeof(request), MSG_DONTWAIT);
	uint32_t want;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0 || !tcp_receive_all(a->tcp, request + n, sizeof(request) - (size_t)n))
		return false;
	memcpy(&want, request, sizeof(want));
	return tcp_send_all(a->tcp, a->reply, MIN_OF(want, LARGE_BYTES));
}

/* What the transport made of the path from here. */
static void paths_print(const struct app *a)
{
	struct rudp_session *s = rudp_session_next(a->rudp, NULL);
	struct rudp_path_info p[RUDP_PATHS_MAX];
	unsigned n = s ? rudp_session_paths(s, p, RUDP_PATHS_MAX) : 0;

	for (unsigned i = 0; i < n; i++)
		printf("server's path: %llu packets, %llu lost, %llu sent again, %llu failovers, "
		       "window %u KiB, round trip %.1f us\n",
		       (unsigned long long)p[i].tx_packets, (unsigned long long)p[i].lost_packets,
		       (unsigned long long)p[i].retransmits, (unsigned long long)p[i].failovers,
		       p[i].cwnd_bytes >> 10, (double)p[i].srtt_ns / 1e3);
	fflush(stdout);
}

static void server(const struct options *o, const uint32_t *mode, int ready)
{
	struct app *a;
	unsigned turn = 0;

	enter(NS_SERVER, 1);
	a = app_new(IP_SERVER, "rvt1", o, true);
	a->tcp = tcp_accept(ready);
	for (;;) {
		switch (__atomic_load_n(mode, __ATOMIC_ACQUIRE)) {
		case MODE_TCP:
			if (!server_tcp_turn(a))
				return;
			if (++turn % SERVICE_EVERY == 0)
				app_turn(a);
			break;
		case MODE_STOP:
			paths_print(a);
			return;
		default:
			app_turn(a);
		}
	}
}

/* ------------------------------------------------------------------ the client */

static void rudp_ask(struct app *a, unsigned slot, uint32_t bytes)
{
	memcpy(a->request[slot], &bytes, sizeof(bytes));
	if (rudp_call_send(a->session, a->request[slot], REQUEST_BYTES, slot) < 0)
		a->failed++;
}

static void tcp_ask(struct app *a, uint32_t bytes)
{
	memcpy(a->request[0], &bytes, sizeof(bytes));
	if (!tcp_send_all(a->tcp, a->request[0], REQUEST_BYTES))
		die("tcp send");
}

/* Asks again where something was lost: the bare port does not. */
static void port_call(struct app *a)
{
	a->port_bytes = 0;
	do {
		port_send(a, &a->peer, REQUEST_BYTES);
		for (uint64_t start = clock_now_ns();
		     a->port_bytes < SMALL_BYTES && a->now_ns < start + 20 * NSEC_PER_MSEC;)
			app_turn(a);
	} while (a->port_bytes < SMALL_BYTES);
}

static void call_one(struct app *a, enum kind kind)
{
	unsigned before = a->done;

	if (kind == TCP) {
		tcp_ask(a, SMALL_BYTES);
		if (!tcp_receive_all(a->tcp, a->bufs, SMALL_BYTES))
			die("tcp receive");
		return;
	}
	if (kind == PORT) {
		port_call(a);
		return;
	}
	rudp_ask(a, 0, SMALL_BYTES);
	(void)rudp_poll(a->rudp, clock_now_ns());
	while (a->done == before)
		app_turn(a);
}

/* Single calls until the round is over. Returns their number. */
static unsigned round_latency(struct app *a, enum kind kind, uint64_t round_ns, uint32_t *samples)
{
	uint64_t start = clock_now_ns(), t0 = start, t1;
	unsigned n = 0;

	while (n < SAMPLES_MAX && t0 - start < round_ns) {
		call_one(a, kind);
		t1 = clock_now_ns();
		samples[n++] = (uint32_t)(t1 - t0);
		t0 = t1;
		if (kind == TCP && n % SERVICE_EVERY == 0) {
			app_turn(a);
			t0 = clock_now_ns();
		}
	}
	return n;
}

/* MiB/s of large answers, IN_FLIGHT_MAX of them outstanding. */
static double round_bulk(struct app *a, enum kind kind, uint64_t round_ns)
{
	uint64_t start = clock_now_ns(), end;
	unsigned asked = 0, got = 0, before = a->done;

	for (; asked < IN_FLIGHT_MAX; asked++)
		kind == TCP ? tcp_ask(a, LARGE_BYTES) : rudp_ask(a, asked, LARGE_BYTES);
	for (;;) {
		end = clock_now_ns();
		if (kind == TCP) {
			if (!tcp_receive_all(a->tcp, a->bufs, LARGE_BYTES))
				die("tcp receive");
			got++;
		} else {
			app_turn(a);
			got = a->done - before;
		}
		/* Cookies need not be distinct in memory: all requests are alike. */
		while (asked - got < IN_FLIGHT_MAX && end - start < round_ns) {
			kind == TCP ? tcp_ask(a, LARGE_BYTES)
				    : rudp_ask(a, asked % IN_FLIGHT_MAX, LARGE_BYTES);
			asked++;
		}
		if (asked == got)
			break;
	}
	return (double)got / ((double)(clock_now_ns() - start) / 1e9);
}

static int cmp_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int cmp_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, unsigned n)
{
	qsort(v, n, sizeof(*v), cmp_double);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

struct results {
	double p50[KIND_MAX][64], p99[KIND_MAX][64], bulk[KIND_MAX][64];
	double ratio50[64], ratio99[64], ratio_bulk[64];
};

static void switch_to(struct app *a, enum kind kind, uint32_t *mode, uint32_t *samples)
{
	static const enum mode modes[KIND_MAX] = {MODE_RUDP, MODE_TCP, MODE_PORT};

	__atomic_store_n(mode, modes[kind], __ATOMIC_RELEASE);
	(void)round_latency(a, kind, 20 * NSEC_PER_MSEC, samples); /* warm up */
}

static void measure(struct app *a, const struct options *o, uint32_t *mode, struct results *r)
{
	uint32_t *samples = malloc(SAMPLES_MAX * sizeof(*samples));
	uint64_t round_ns = o->round_ms * NSEC_PER_MSEC;

	if (!samples)
		die("malloc");
	for (unsigned i = 0; i < o->rounds; i++) {
		for (unsigned k = 0; k < KIND_MAX; k++) {
			enum kind kind = (i + k) % KIND_MAX; /* who goes first changes */
			unsigned n;

			if (o->only >= 0 && kind != (enum kind)o->only)
				continue;
			switch_to(a, kind, mode, samples);
			n = round_latency(a, kind, round_ns, samples);
			qsort(samples, n, sizeof(*samples), cmp_u32);
			r->p50[kind][i] = samples[n / 2] / 1e3;
			r->p99[kind][i] = samples[n * 99ULL / 100] / 1e3;
			if (kind != PORT)
				r->bulk[kind][i] = round_bulk(a, kind, round_ns);
		}
		r->ratio50[i] = r->p50[RUDP][i] / r->p50[TCP][i];
		r->ratio99[i] = r->p99[RUDP][i] / r->p99[TCP][i];
		r->ratio_bulk[i] = r->bulk[RUDP][i] / r->bulk[TCP][i];
	}
	free(samples);
}

static void print(const struct options *o, struct results *r, const struct app *a)
{
	unsigned n = o->rounds;

	printf("rudp over UDP beside TCP (cubic), both polling; veth, MTU %u%s; %u rounds of %u "
	       "ms\n",
	       o->mtu, o->wire ? ", no offloads" : "", n, o->round_ms);
	printf("%-8s %22s %14s %22s\n", "", "64 B -> 4 KiB p50 us", "p99 us", "1 MiB x 4 MiB/s");
	for (unsigned k = 0; k < KIND_MAX; k++)
		printf("%-8s %22.2f %14.2f %22.0f\n", kind_names[k], median(r->p50[k], n),
		       median(r->p99[k], n), median(r->bulk[k], n));
	printf("%-8s %22.3f %14.3f %22.3f\n", "rudp/TCP", median(r->ratio50, n),
	       median(r->ratio99, n), median(r->ratio_bulk, n));
	if (a->failed)
		printf("%llu calls failed\n", (unsigned long long)a->failed);
}

static void client(const struct options *o, uint32_t *mode)
{
	static struct results results;
	struct ip_prefix p;
	struct app *a;

	enter(NS_CLIENT, 0);
	a = app_new(IP_CLIENT, "rvt0", o, false);
	a->tcp = tcp_connect();
	if (ip_prefix_parse(IP_SERVER, &p) < 0)
		die("address");
	a->peer = (struct datagram_addr){.ip = p.addr, .port = UDP_PORT};
	if (rudp_connect(a->rudp, &a->peer, 1, NULL, 0, a, clock_now_ns(), &a->session) < 0)
		die("rudp_connect");
	for (uint64_t end = clock_now_ns() + 5 * NSEC_PER_SEC; !rudp_session_is_up(a->session);) {
		app_turn(a);
		if (clock_now_ns() > end) {
			fprintf(stderr, "the session does not come up\n");
			exit(1);
		}
	}
	measure(a, o, mode, &results);
	print(o, &results, a);
	fflush(stdout);
	__atomic_store_n(mode, MODE_STOP, __ATOMIC_RELEASE);
}

/* ------------------------------------------------------------------ the frame */

static void netns_remove(void)
{
	(void)!system("ip netns del " NS_CLIENT " 2>/dev/null; ip netns del " NS_SERVER
		      " 2>/dev/null");
}

static void netns_make(const struct options *o)
{
	char cmd[512];

	netns_remove();
	atexit(netns_remove);
	sh("ip netns add " NS_CLIENT " && ip netns add " NS_SERVER);
	snprintf(cmd, sizeof(cmd),
		 "ip -n " NS_CLIENT " link add rvt0 mtu %u type veth peer name rvt1 mtu %u netns "
		 "" NS_SERVER,
		 o->mtu, o->mtu);
	sh(cmd);
	sh("ip -n " NS_CLIENT " addr add " IP_CLIENT " dev rvt0 && ip -n " NS_CLIENT
	   " link set rvt0 up");
	sh("ip -n " NS_SERVER " addr add " IP_SERVER " dev rvt1 && ip -n " NS_SERVER
	   " link set rvt1 up");
	if (!o->wire)
		return;
	sh("ip netns exec " NS_CLIENT
	   " ethtool -K rvt0 tso off gso off gro off tx-udp-segmentation off >/dev/null");
	sh("ip netns exec " NS_SERVER
	   " ethtool -K rvt1 tso off gso off gro off tx-udp-segmentation off >/dev/null");
}

static unsigned number(const char *text, const char *name, unsigned least, unsigned most)
{
	char *end = NULL;
	unsigned long v = text ? strtoul(text, &end, 10) : 0;

	if (!text || *end || v < least || v > most) {
		fprintf(stderr, "%s takes a number from %u to %u\n", name, least, most);
		exit(2);
	}
	return (unsigned)v;
}

static const char *const securities[RUDP_SECURITY_MAX] = {"none", "auth", "encrypt"};

static void usage(void)
{
	fprintf(stderr, "usage: rudp_vs_tcp [--rounds N] [--ms N] [--mtu N] [--wire] "
			"[--only rudp|TCP|port] [--security none|auth|encrypt]\n");
	exit(2);
}

static int kind_parse(const char *name)
{
	for (int i = 0; i < KIND_MAX; i++)
		if (name && strcmp(name, kind_names[i]) == 0)
			return i;
	usage();
	return -1;
}

static enum rudp_security security_parse(const char *name)
{
	for (unsigned i = 0; i < RUDP_SECURITY_MAX; i++)
		if (name && strcmp(name, securities[i]) == 0)
			return i;
	usage();
	return RUDP_SECURITY_NONE;
}

static struct options options_parse(char **argv)
{
	struct options o = {.rounds = 9, .round_ms = 300, .mtu = 1500, .only = -1};

	for (argv++; *argv; argv++) {
		if (strcmp(*argv, "--wire") == 0) {
			o.wire = true;
			continue;
		}
		if (strcmp(*argv, "--rounds") == 0)
			o.rounds = number(argv[1], *argv, 1, 64);
		else if (strcmp(*argv, "--ms") == 0)
			o.round_ms = number(argv[1], *argv, 10, 60000);
		else if (strcmp(*argv, "--mtu") == 0)
			o.mtu = number(argv[1], *argv, 1280, 9000);
		else if (strcmp(*argv, "--only") == 0)
			o.only = kind_parse(argv[1]);
		else if (strcmp(*argv, "--security") == 0)
			o.security = security_parse(argv[1]);
		else
			usage();
		argv++;
	}
	return o;
}

int main(int argc, char **argv)
{
	struct options o = options_parse(argv);
	uint32_t *mode =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ready[2];
	char byte;
	pid_t pid;

	if (mode == MAP_FAILED || pipe2(ready, O_CLOEXEC) != 0)
		die("rudp_vs_tcp");
	netns_make(&o);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		server(&o, mode, ready[1]);
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		return 1;
	client(&o, mode);
	waitpid(pid, NULL, 0);
	return 0;
}
