/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rudp over kernel UDP compared with kernel TCP, between two network namespaces joined by a veth
 * pair: single requests of 64 bytes answered with 4 KiB, both sides polling; then requests answered
 * with 1 MiB, four in flight, and with 64 bytes, 32 in flight. Client and server are one process
 * each, on cores 0 and 1. Rounds of both are interleaved; the result is the ratio of the medians.
 *
 *	rudp_vs_tcp [--rounds N] [--ms N] [--mtu N] [--wire] [--loss PERMILLE]
 *		    [--tcp ALGORITHM] [--only rudp|TCP|port] [--security none|auth|encrypt]
 *
 * --ms: length of a round. --wire: no segmentation or merging on the link, as on a real wire.
 * --loss: lost packets per thousand, in each direction. --tcp: its congestion control, default
 * cubic. --only: for a profiler.
 */
#include "tests/perf/rudp_app.h"
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
#define TCP_PORT 4421
#define SMALL_BYTES 4096U
#define LARGE_BYTES APP_ANSWER_BYTES_MAX
#define LARGE_IN_FLIGHT 4U
#define TINY_BYTES 64U
#define TINY_IN_FLIGHT 32U
#define SAMPLES_MAX (1U << 20)
#define SERVICE_EVERY 1024U /* how rarely rudp's timers run while TCP is measured */

/* The bare port shows which part of the time is rudp's. */
enum kind { RUDP, TCP, PORT, KIND_MAX };
static const char *const kind_names[] = {"rudp", "TCP", "port"};

enum mode { MODE_RUDP, MODE_TCP, MODE_PORT, MODE_STOP };
static const uint8_t port_magic[4] = {0xee, 'p', 'r', 't'};

struct options {
	unsigned rounds, round_ms, mtu, loss_permille;
	const char *tcp;
	int only; /* enum kind; -1: all */
	bool wire;
	enum rudp_security security;
};

/* State of TCP and the bare port beside rudp. */
struct end {
	struct app *app;
	int tcp;
	struct datagram_addr peer;
	uint32_t chunk_bytes, port_bytes;
};

static void sh(const char *cmd)
{
	if (system(cmd) != 0) {
		fprintf(stderr, "failed: %s\n", cmd);
		exit(1);
	}
}

static void port_send(struct end *e, const struct datagram_addr *dst, uint32_t bytes)
{
	struct datagram pkt = {.hdr_len = sizeof(port_magic), .payload = e->app->reply};

	memcpy(pkt.hdr, port_magic, sizeof(port_magic));
	while (bytes > 0) {
		pkt.payload_len = (uint16_t)MIN_OF(bytes, e->chunk_bytes);
		(void)e->app->port.ops->tx(&e->app->port, dst, &pkt);
		bytes -= pkt.payload_len;
	}
	e->app->port.ops->flush(&e->app->port);
}

/* A datagram on the bare port: the server answers, the client counts. */
static bool port_receive(struct app *a, const struct port_rx *d)
{
	struct end *e = a->user;

	if (d->len <= sizeof(port_magic) || memcmp(d->data, port_magic, sizeof(port_magic)) != 0)
		return false;
	if (a->session)
		e->port_bytes += d->len - (uint32_t)sizeof(port_magic);
	else
		port_send(e, &d->src, SMALL_BYTES);
	return true;
}

static void end_begin(struct end *e, const struct options *o, bool is_server)
{
	struct app_config c = {.transport = LAUNCH_UDP,
			       .ip = is_server ? IP_SERVER : IP_CLIENT,
			       .ifname = is_server ? "rvt1" : "rvt0",
			       .device = "",
			       .mtu = o->mtu,
			       .security = o->security,
			       .is_server = is_server};

	*e = (struct end){.app = app_new(&c), .chunk_bytes = o->mtu - 28 - 32};
	e->app->bare = port_receive; /* in chunks as large as rudp's payload */
	e->app->user = e;
}

static void tcp_options(int fd, const char *congestion)
{
	int on = 1;

	/* A paced congestion control, often the default, would delay small answers. */
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion,
		       (socklen_t)strlen(congestion)) != 0)
		app_die("TCP options");
	if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
		app_die("O_NONBLOCK");
}

static struct sockaddr_storage tcp_name(const char *ip, socklen_t *ret_len)
{
	struct sockaddr_storage name;
	struct ip_prefix p;

	if (ip_prefix_parse(ip, &p) < 0)
		app_die("address");
	*ret_len = (socklen_t)ip_addr_to_sockaddr(&p.addr, TCP_PORT, &name);
	return name;
}

static int tcp_accept(int ready, const char *congestion)
{
	socklen_t len;
	struct sockaddr_storage name = tcp_name(IP_SERVER, &len);
	int on = 1, fd, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
	    bind(listener, (struct sockaddr *)&name, len) != 0 || listen(listener, 1) != 0)
		app_die("listen");
	if (write(ready, "r", 1) != 1)
		app_die("ready");
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		app_die("accept");
	close(listener);
	tcp_options(fd, congestion);
	return fd;
}

static int tcp_connect(const char *congestion)
{
	socklen_t len;
	struct sockaddr_storage name = tcp_name(IP_SERVER, &len);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&name, len) != 0)
		app_die("connect");
	tcp_options(fd, congestion);
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
		app_die(netns);
	close(fd);
	CPU_ZERO(&set);
	CPU_SET(core, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		perror("core");
}

/* ------------------------------------------------------------------ the server */

/* Sends everything, polling. False: the peer has closed. */
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

static bool server_tcp_turn(struct end *e)
{
	uint8_t request[APP_REQUEST_BYTES_MAX];
	ssize_t n = recv(e->tcp, request, sizeof(request), MSG_DONTWAIT);
	uint32_t want;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0 || !tcp_receive_all(e->tcp, request + n, sizeof(request) - (size_t)n))
		return false;
	memcpy(&want, request, sizeof(want));
	return tcp_send_all(e->tcp, e->app->reply, MIN_OF(want, LARGE_BYTES));
}

/* The transport's view of the paths from here. */
static void paths_print(const struct end *e)
{
	struct rudp_session *s = rudp_session_next(e->app->rudp, NULL);
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
	struct end here, *e = &here;
	unsigned turn = 0;

	enter(NS_SERVER, 1);
	end_begin(e, o, true);
	e->tcp = tcp_accept(ready, o->tcp);
	for (;;) {
		switch (__atomic_load_n(mode, __ATOMIC_ACQUIRE)) {
		case MODE_TCP:
			if (!server_tcp_turn(e))
				return;
			if (++turn % SERVICE_EVERY == 0)
				app_turn(e->app);
			break;
		case MODE_STOP:
			paths_print(e);
			return;
		default:
			app_turn(e->app);
		}
	}
}

/* ------------------------------------------------------------------ the client */

static void tcp_ask(struct end *e, uint32_t bytes)
{
	memcpy(e->app->request[0], &bytes, sizeof(bytes));
	if (!tcp_send_all(e->tcp, e->app->request[0], APP_REQUEST_BYTES_MAX))
		app_die("tcp send");
}

/* Repeats lost requests: the bare port does not. */
static void port_call(struct end *e)
{
	e->port_bytes = 0;
	do {
		port_send(e, &e->peer, APP_REQUEST_BYTES_MAX);
		for (uint64_t start = clock_now_ns();
		     e->port_bytes < SMALL_BYTES && e->app->now_ns < start + 20 * NSEC_PER_MSEC;)
			app_turn(e->app);
	} while (e->port_bytes < SMALL_BYTES);
}

static void call_one(struct end *e, enum kind kind)
{
	unsigned before = e->app->done;

	if (kind == TCP) {
		tcp_ask(e, SMALL_BYTES);
		if (!tcp_receive_all(e->tcp, e->app->bufs, SMALL_BYTES))
			app_die("tcp receive");
		return;
	}
	if (kind == PORT) {
		port_call(e);
		return;
	}
	app_ask(e->app, 0, SMALL_BYTES);
	(void)rudp_poll(e->app->rudp, clock_now_ns());
	while (e->app->done == before)
		app_turn(e->app);
}

/* Makes single calls until the round is over. Returns their number. */
static unsigned round_latency(struct end *e, enum kind kind, uint64_t round_ns, uint32_t *samples)
{
	uint64_t start = clock_now_ns(), t0 = start, t1;
	unsigned n = 0;

	while (n < SAMPLES_MAX && t0 - start < round_ns) {
		call_one(e, kind);
		t1 = clock_now_ns();
		samples[n++] = (uint32_t)(t1 - t0);
		t0 = t1;
		if (kind == TCP && n % SERVICE_EVERY == 0) {
			app_turn(e->app);
			t0 = clock_now_ns();
		}
	}
	return n;
}

/* Responses of this size per second, with so many in flight. */
static double round_rate(struct end *e, enum kind kind, uint32_t bytes, unsigned in_flight,
			 uint64_t round_ns)
{
	uint64_t start = clock_now_ns(), end;
	unsigned asked = 0, got = 0, before = e->app->done;

	for (; asked < in_flight; asked++)
		kind == TCP ? tcp_ask(e, bytes) : app_ask(e->app, asked, bytes);
	for (;;) {
		end = clock_now_ns();
		if (kind == TCP) {
			if (!tcp_receive_all(e->tcp, e->app->bufs, bytes))
				app_die("tcp receive");
			got++;
		} else {
			app_turn(e->app);
			got = e->app->done - before;
		}
		/* All requests may share memory, because they are equal. */
		while (asked - got < in_flight && end - start < round_ns) {
			kind == TCP ? tcp_ask(e, bytes) : app_ask(e->app, asked % in_flight, bytes);
			asked++;
		}
		if (asked == got)
			break;
	}
	return (double)got / ((double)(clock_now_ns() - start) / 1e9);
}

struct results {
	double p50[KIND_MAX][64], p99[KIND_MAX][64], bulk[KIND_MAX][64];
	double tiny[KIND_MAX][64], calls[KIND_MAX][64];
	double ratio50[64], ratio99[64], ratio_bulk[64], ratio_tiny[64], ratio_calls[64];
};

static void switch_to(struct end *e, enum kind kind, uint32_t *mode, uint32_t *samples)
{
	static const enum mode modes[KIND_MAX] = {MODE_RUDP, MODE_TCP, MODE_PORT};

	__atomic_store_n(mode, modes[kind], __ATOMIC_RELEASE);
	(void)round_latency(e, kind, 20 * NSEC_PER_MSEC, samples); /* warm up */
}

static void measure(struct end *e, const struct options *o, uint32_t *mode, struct results *r)
{
	uint32_t *samples = malloc(SAMPLES_MAX * sizeof(*samples));
	uint64_t round_ns = o->round_ms * NSEC_PER_MSEC;

	if (!samples)
		app_die("malloc");
	for (unsigned i = 0; i < o->rounds; i++) {
		for (unsigned k = 0; k < KIND_MAX; k++) {
			enum kind kind = (i + k) % KIND_MAX; /* alternate the order */
			uint64_t start;
			unsigned n;

			if (o->only >= 0 && kind != (enum kind)o->only)
				continue;
			switch_to(e, kind, mode, samples);
			start = clock_now_ns();
			n = round_latency(e, kind, round_ns, samples);
			r->calls[kind][i] = n / ((double)(clock_now_ns() - start) / 1e9);
			qsort(samples, n, sizeof(*samples), app_compare_u32);
			r->p50[kind][i] = samples[n / 2] / 1e3;
			r->p99[kind][i] = samples[n * 99ULL / 100] / 1e3;
			if (kind == PORT)
				continue;
			r->bulk[kind][i] =
				round_rate(e, kind, LARGE_BYTES, LARGE_IN_FLIGHT, round_ns);
			r->tiny[kind][i] =
				round_rate(e, kind, TINY_BYTES, TINY_IN_FLIGHT, round_ns);
		}
		r->ratio50[i] = r->p50[RUDP][i] / r->p50[TCP][i];
		r->ratio99[i] = r->p99[RUDP][i] / r->p99[TCP][i];
		r->ratio_bulk[i] = r->bulk[RUDP][i] / r->bulk[TCP][i];
		r->ratio_tiny[i] = r->tiny[RUDP][i] / r->tiny[TCP][i];
		r->ratio_calls[i] = r->calls[RUDP][i] / r->calls[TCP][i];
	}
	free(samples);
}

static void print(const struct options *o, struct results *r, const struct end *e)
{
	unsigned n = o->rounds;

	printf("rudp over UDP beside TCP (%s), both polling; veth, MTU %u%s, %u.%u %% lost; %u "
	       "rounds of %u ms\n",
	       o->tcp, o->mtu, o->wire ? ", no offloads" : "", o->loss_permille / 10,
	       o->loss_permille % 10, n, o->round_ms);
	printf("%-8s %22s %12s %10s %17s %14s\n", "", "64 B -> 4 KiB p50 us", "p99 us", "calls/s",
	       "1 MiB x 4 MiB/s", "64 B x 32 /s");
	for (unsigned k = 0; k < KIND_MAX; k++)
		printf("%-8s %22.2f %12.2f %10.0f %17.0f %14.0f\n", kind_names[k],
		       app_median(r->p50[k], n), app_median(r->p99[k], n),
		       app_median(r->calls[k], n), app_median(r->bulk[k], n),
		       app_median(r->tiny[k], n));
	printf("%-8s %22.3f %12.3f %10.3f %17.3f %14.3f\n", "rudp/TCP", app_median(r->ratio50, n),
	       app_median(r->ratio99, n), app_median(r->ratio_calls, n),
	       app_median(r->ratio_bulk, n), app_median(r->ratio_tiny, n));
	if (e->app->failed)
		printf("%llu calls failed\n", (unsigned long long)e->app->failed);
}

static void client(const struct options *o, uint32_t *mode)
{
	static struct results results;
	struct end here, *e = &here;
	struct ip_prefix p;

	enter(NS_CLIENT, 0);
	end_begin(e, o, false);
	e->tcp = tcp_connect(o->tcp);
	if (ip_prefix_parse(IP_SERVER, &p) < 0)
		app_die("address");
	e->peer = (struct datagram_addr){.ip = p.addr, .port = APP_UDP_PORT};
	app_connect(e->app, IP_SERVER);
	measure(e, o, mode, &results);
	print(o, &results, e);
	fflush(stdout);
	__atomic_store_n(mode, MODE_STOP, __ATOMIC_RELEASE);
}

/* ------------------------------------------------------------------ the frame */

/* Drops arriving packets before the kernel merges them, so that single packets are lost as on a
 * wire. */
static void loss_make(const char *netns, const char *ifname, unsigned permille)
{
	char cmd[512];

	snprintf(cmd, sizeof(cmd),
		 "ip netns exec %s nft 'add table netdev loss; add chain netdev loss in "
		 "{ type filter hook ingress device %s priority 0; }; "
		 "add rule netdev loss in numgen random mod 1000 < %u drop'",
		 netns, ifname, permille);
	sh(cmd);
}

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
	if (o->loss_permille) {
		loss_make(NS_CLIENT, "rvt0", o->loss_permille);
		loss_make(NS_SERVER, "rvt1", o->loss_permille);
	}
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
			"[--loss PERMILLE] [--tcp ALGORITHM] [--only rudp|TCP|port] [--security "
			"none|auth|encrypt]\n");
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
	struct options o = {.rounds = 9, .round_ms = 300, .mtu = 1500, .only = -1, .tcp = "cubic"};

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
		else if (strcmp(*argv, "--loss") == 0)
			o.loss_permille = number(argv[1], *argv, 0, 500);
		else if (strcmp(*argv, "--tcp") == 0 && argv[1])
			o.tcp = argv[1];
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
		app_die("rudp_vs_tcp");
	netns_make(&o);
	pid = fork();
	if (pid < 0)
		app_die("fork");
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
