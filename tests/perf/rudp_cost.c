/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processor time per request of rudp over kernel UDP and of kernel TCP: client and server alternate
 * in one thread, between two network namespaces joined by a veth pair. Thread time is independent
 * of other load on the machine and includes the kernel's work. Rounds of both are interleaved.
 *
 *	rudp_cost [--rounds N] [--ms N] [--mtu N] [--only rudp|TCP] [--load NAME] [--security
 *		  none|auth|encrypt]
 *
 * --ms: processor time of a round. --only, --load: for a profiler.
 */
#include "dataplane/port/udp/port_udp.h"
#include "tests/perf/rudp_app.h"
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define NS_CLIENT "plenum-cost-c"
#define NS_SERVER "plenum-cost-s"
#define IP_CLIENT "10.99.8.1/24"
#define IP_SERVER "10.99.8.2/24"
#define TCP_PORT 4421
#define ROUNDS_MAX 64U

enum kind { RUDP, TCP, KIND_MAX };
static const char *const kind_names[] = {"rudp", "TCP"};

static const struct load {
	const char *name;
	uint32_t bytes;
	unsigned in_flight;
} loads[] = {{"64B-4KiB", 4096, 1}, {"1MiBx4", APP_ANSWER_BYTES_MAX, 4}, {"64Bx32", 64, 32}};

struct options {
	unsigned rounds, round_ms, mtu;
	int only, load; /* -1: all */
	enum rudp_security security;
};

/* Both ends of one TCP connection and its calls in progress. */
struct tcp_pair {
	int client, server;
	uint8_t request[APP_REQUEST_BYTES_MAX];
	uint32_t request_got;
	uint64_t owed, got; /* response bytes still to send; received */
};

struct pair {
	struct app *client, *server;
	struct tcp_pair tcp;
};

static void sh(const char *cmd)
{
	if (system(cmd) != 0) {
		fprintf(stderr, "failed: %s\n", cmd);
		exit(1);
	}
}

static void netns_remove(void)
{
	(void)!system("ip netns del " NS_CLIENT " 2>/dev/null; ip netns del " NS_SERVER
		      " 2>/dev/null");
}

static void netns_make(unsigned mtu)
{
	char cmd[512];

	netns_remove();
	atexit(netns_remove);
	sh("ip netns add " NS_CLIENT " && ip netns add " NS_SERVER);
	snprintf(cmd, sizeof(cmd),
		 "ip -n " NS_CLIENT " link add cost0 mtu %u type veth peer name cost1 mtu %u netns "
		 "" NS_SERVER,
		 mtu, mtu);
	sh(cmd);
	sh("ip -n " NS_CLIENT " addr add " IP_CLIENT " dev cost0 && ip -n " NS_CLIENT
	   " link set cost0 up");
	sh("ip -n " NS_SERVER " addr add " IP_SERVER " dev cost1 && ip -n " NS_SERVER
	   " link set cost1 up");
}

/* Enters the namespace, for sockets created from here on. */
static void enter(const char *netns)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", netns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET) != 0)
		app_die(netns);
	close(fd);
}

/* ------------------------------------------------------------------ the two ends */

static struct app *end_new(const struct options *o, bool is_server)
{
	struct app_config c = {.transport = LAUNCH_UDP,
			       .ip = is_server ? IP_SERVER : IP_CLIENT,
			       .ifname = is_server ? "cost1" : "cost0",
			       .device = "",
			       .mtu = o->mtu,
			       .security = o->security,
			       .is_server = is_server};

	return app_new(&c);
}

static struct sockaddr_storage tcp_name(socklen_t *ret_len)
{
	struct sockaddr_storage name;
	struct ip_prefix p;

	if (ip_prefix_parse(IP_SERVER, &p) < 0)
		app_die("address");
	*ret_len = (socklen_t)ip_addr_to_sockaddr(&p.addr, TCP_PORT, &name);
	return name;
}

static void tcp_options(int fd)
{
	int on = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5) != 0 ||
	    fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
		app_die("TCP options");
}

static int tcp_listen(void)
{
	socklen_t len;
	struct sockaddr_storage name = tcp_name(&len);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&name, len) != 0 || listen(fd, 1) != 0)
		app_die("listen");
	return fd;
}

static void tcp_connect(struct tcp_pair *t, int listener)
{
	socklen_t len;
	struct sockaddr_storage name = tcp_name(&len);

	t->client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (t->client < 0 || connect(t->client, (struct sockaddr *)&name, len) != 0)
		app_die("connect");
	t->server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (t->server < 0)
		app_die("accept");
	close(listener);
	tcp_options(t->client);
	tcp_options(t->server);
}

static void turn_rudp(struct pair *p)
{
	app_turn(p->client);
	app_turn(p->server);
}

static void pair_make(struct pair *p, const struct options *o)
{
	struct datagram_addr peer = {.port = APP_UDP_PORT};
	struct ip_prefix prefix;
	uint64_t end;
	int listener;

	enter(NS_SERVER);
	p->server = end_new(o, true);
	listener = tcp_listen();
	enter(NS_CLIENT);
	p->client = end_new(o, false);
	tcp_connect(&p->tcp, listener);
	if (ip_prefix_parse(IP_SERVER, &prefix) < 0)
		app_die("address");
	peer.ip = prefix.addr;
	if (rudp_connect(p->client->rudp, &peer, 1, NULL, 0, p->client, clock_now_ns(),
			 &p->client->session) < 0)
		app_die("rudp_connect");
	end = clock_now_ns() + 20 * NSEC_PER_SEC;
	while (!rudp_session_is_up(p->client->session)) {
		turn_rudp(p);
		if (clock_now_ns() > end) {
			fprintf(stderr, "the session does not come up\n");
			exit(1);
		}
	}
}

/* ------------------------------------------------------------------ TCP's turns */

static void tcp_ask(struct pair *p, uint32_t bytes)
{
	uint8_t request[APP_REQUEST_BYTES_MAX] = {0};

	memcpy(request, &bytes, sizeof(bytes));
	if (send(p->tcp.client, request, sizeof(request), MSG_DONTWAIT | MSG_NOSIGNAL) !=
	    (ssize_t)sizeof(request))
		app_die("tcp send");
}

static void tcp_serve(struct pair *p)
{
	struct tcp_pair *t = &p->tcp;
	uint8_t in[APP_IN_FLIGHT_MAX * APP_REQUEST_BYTES_MAX];
	ssize_t n = recv(t->server, in, sizeof(in), MSG_DONTWAIT);
	uint32_t want;

	for (ssize_t i = 0; i < n; i++) {
		t->request[t->request_got++] = in[i];
		if (t->request_got < sizeof(t->request))
			continue;
		t->request_got = 0;
		memcpy(&want, t->request, sizeof(want));
		t->owed += want;
	}
	while (t->owed > 0) {
		n = send(t->server, p->server->reply, MIN_OF(t->owed, APP_ANSWER_BYTES_MAX),
			 MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0)
			return;
		t->owed -= (uint64_t)n;
	}
}

static void turn_tcp(struct pair *p)
{
	ssize_t n = recv(p->tcp.client, p->client->bufs, APP_ANSWER_BYTES_MAX, MSG_DONTWAIT);

	if (n > 0)
		p->tcp.got += (uint64_t)n;
	tcp_serve(p);
}

/* ------------------------------------------------------------------ rounds */

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

/* Microseconds of processor time per request, both ends and kernel. */
static double round_run(struct pair *p, enum kind kind, const struct load *l, uint64_t round_ns)
{
	uint64_t start = cpu_ns(), now = start, asked = 0, got = 0;
	unsigned before = p->client->done, turns = 0;

	p->tcp.got = 0;
	do {
		while (asked - got < l->in_flight && now - start < round_ns) {
			if (kind == TCP)
				tcp_ask(p, l->bytes);
			else
				app_ask(p->client, (unsigned)(asked % l->in_flight), l->bytes);
			asked++;
		}
		kind == TCP ? turn_tcp(p) : turn_rudp(p);
		got = kind == TCP ? p->tcp.got / l->bytes : p->client->done - before;
		if (++turns % 16 == 0) /* reading the clock is a system call */
			now = cpu_ns();
	} while (asked > got || now - start < round_ns);
	return (double)(cpu_ns() - start) / 1e3 / (double)got;
}

struct figures {
	double us[KIND_MAX][ROUNDS_MAX], ratio[ROUNDS_MAX];
};

static void counters_print(const struct app *a, const char *name)
{
	struct port_udp_counters c;

	port_udp_counters_get(&a->port, &c);
	printf("# %s: %llu datagrams out by %llu calls, %llu in by %llu, %llu lost, %llu times "
	       "full\n",
	       name, (unsigned long long)c.tx_datagrams, (unsigned long long)c.tx_calls,
	       (unsigned long long)c.rx_datagrams, (unsigned long long)c.rx_calls,
	       (unsigned long long)c.tx_lost, (unsigned long long)c.tx_full);
}

static void load_run(struct pair *p, const struct options *o, const struct load *l)
{
	static struct figures f;
	uint64_t round_ns = o->round_ms * NSEC_PER_MSEC;

	for (unsigned i = 0; i < o->rounds; i++) {
		for (unsigned k = 0; k < KIND_MAX; k++) {
			enum kind kind = (i + k) % KIND_MAX; /* alternate the order */

			if (o->only >= 0 && kind != (enum kind)o->only)
				continue;
			(void)round_run(p, kind, l, round_ns / 10);
			f.us[kind][i] = round_run(p, kind, l, round_ns);
		}
		f.ratio[i] = f.us[TCP][i] / f.us[RUDP][i];
	}
	printf("%-10s %12.2f %12.2f %10.3f\n", l->name, app_median(f.us[RUDP], o->rounds),
	       app_median(f.us[TCP], o->rounds), app_median(f.ratio, o->rounds));
}

/* ------------------------------------------------------------------ the frame */

static void usage(void)
{
	fprintf(stderr, "usage: rudp_cost [--rounds N] [--ms N] [--mtu N] [--only rudp|TCP] "
			"[--load 64B-4KiB|1MiBx4|64Bx32] [--security none|auth|encrypt]\n");
	exit(2);
}

static unsigned number(const char *text, unsigned least, unsigned most)
{
	char *end = NULL;
	unsigned long v = text ? strtoul(text, &end, 10) : 0;

	if (!text || *end || v < least || v > most)
		usage();
	return (unsigned)v;
}

static int choice(const char *text, const char *const *names, unsigned n)
{
	for (unsigned i = 0; text && i < n; i++)
		if (strcmp(text, names[i]) == 0)
			return (int)i;
	usage();
	return -1;
}

static struct options options_parse(char **argv)
{
	static const char *const securities[] = {"none", "auth", "encrypt"};
	struct options o = {.rounds = 9, .round_ms = 100, .mtu = 1500, .only = -1, .load = -1};
	const char *names[ARRAY_SIZE(loads)];

	for (unsigned i = 0; i < ARRAY_SIZE(loads); i++)
		names[i] = loads[i].name;
	for (argv++; *argv; argv += 2) {
		if (strcmp(*argv, "--rounds") == 0)
			o.rounds = number(argv[1], 1, ROUNDS_MAX);
		else if (strcmp(*argv, "--ms") == 0)
			o.round_ms = number(argv[1], 10, 60000);
		else if (strcmp(*argv, "--mtu") == 0)
			o.mtu = number(argv[1], 1280, 9000);
		else if (strcmp(*argv, "--only") == 0)
			o.only = choice(argv[1], kind_names, KIND_MAX);
		else if (strcmp(*argv, "--load") == 0)
			o.load = choice(argv[1], names, ARRAY_SIZE(loads));
		else if (strcmp(*argv, "--security") == 0)
			o.security = (enum rudp_security)choice(argv[1], securities,
								ARRAY_SIZE(securities));
		else
			usage();
	}
	return o;
}

int main(int argc, char **argv)
{
	struct options o = options_parse(argv);
	struct pair p = {0};

	netns_make(o.mtu);
	pair_make(&p, &o);
	printf("%-10s %12s %12s %10s   (processor time of a request, both ends and the kernel, us; "
	       "ratio: TCP's to rudp's)\n",
	       "cost", "rudp", "TCP", "ratio");
	for (unsigned i = 0; i < ARRAY_SIZE(loads); i++)
		if (o.load < 0 || (unsigned)o.load == i)
			load_run(&p, &o, &loads[i]);
	counters_print(p.client, "client");
	counters_print(p.server, "server");
	return p.client->failed ? 1 : 0;
}
