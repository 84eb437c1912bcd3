/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A minimal application of rudp, shared by the programs that measure it.
 */
#include "tests/perf/rudp_app.h"
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLACK_BYTES 4096U
#define LARGE_BUFS 16U

void app_die(const char *what)
{
	perror(what);
	exit(1);
}

static int app_tx(void *user, unsigned port, const struct datagram_addr *dst,
		  const struct datagram *pkt)
{
	struct app *a = user;

	return a->port.ops->tx(&a->port, dst, pkt);
}

static void app_flush(void *user)
{
	struct app *a = user;

	if (rudp_tx_wants_stamp(a->rudp))
		rudp_tx_stamp(a->rudp, 0, clock_now_ns());
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
	rudp_respond(call, a->reply, MIN_OF(want, APP_ANSWER_BYTES_MAX), NULL);
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

void app_turn(struct app *a)
{
	struct port_rx pkts[PORT_BURST_MAX];
	int n;

	n = a->port.ops->rx(&a->port, pkts, PORT_BURST_MAX);
	a->now_ns = clock_now_ns();
	for (int i = 0; i < n; i++) {
		if (a->bare && a->bare(a, &pkts[i]))
			continue;
		rudp_rx_waited(a->rudp, pkts[i].waited_ns);
		(void)rudp_rx(a->rudp, 0, &pkts[i].src, pkts[i].data, pkts[i].len, a->now_ns);
	}
	if (n > 0)
		a->now_ns = clock_now_ns();
	(void)rudp_poll(a->rudp, a->now_ns);
}

void app_ask(struct app *a, unsigned slot, uint32_t bytes)
{
	memcpy(a->request[slot], &bytes, sizeof(bytes));
	if (rudp_call_send(a->session, a->request[slot], a->request_bytes, slot) < 0)
		a->failed++;
}

static void bufs_make(struct app *a)
{
	size_t bytes = APP_ANSWER_BYTES_MAX + SLACK_BYTES;
	unsigned n = APP_IN_FLIGHT_MAX + LARGE_BUFS;

	/* Touch the memory once, so that first-touch faults are not measured. */
	a->bufs = malloc(bytes * (n + 1));
	a->free_bufs = calloc(n, sizeof(*a->free_bufs));
	if (!a->bufs || !a->free_bufs)
		app_die("memory");
	memset(a->bufs, 0x5a, bytes * (n + 1));
	for (unsigned i = 0; i < n; i++)
		a->free_bufs[a->n_free++] = a->bufs + bytes * i;
	a->reply = a->bufs + bytes * n;
}

static void port_open(struct app *a, const struct app_config *c, struct launch_config *cfg)
{
	struct reason why;

	if (ip_prefix_parse(c->ip, &cfg->ports[0].ip) < 0)
		app_die("address");
	if (c->port) {
		a->port = *c->port;
		return;
	}
	cfg->ports[0].udp_port = APP_UDP_PORT;
	cfg->ports[0].mtu = c->mtu;
	cfg->ports[0].ifindex = c->ifname[0] ? if_nametoindex(c->ifname) : 0;
	snprintf(cfg->ports[0].ifname, sizeof(cfg->ports[0].ifname), "%s", c->ifname);
	snprintf(cfg->ports[0].device, sizeof(cfg->ports[0].device), "%s", c->device);
	if (port_ops_get(c->transport, &a->port.ops, &why) < 0 ||
	    a->port.ops->open(&a->port, cfg, 0, &why) < 0 ||
	    port_join(&a->port, cfg, 0, &why) < 0) {
		fprintf(stderr, "%s\n", why.text);
		exit(1);
	}
}

struct app *app_new(const struct app_config *c)
{
	struct app *a = calloc(1, sizeof(*a));
	struct launch_config cfg = {.n_ports = 1,
				    .spin_us = 1000,
				    .log_level = 4,
				    .transport = c->transport,
				    .core = c->core};
	struct rudp_config rc = {.epoch = 1,
				 .n_ports = 1,
				 .ops = &app_ops,
				 .security = c->security,
				 .n_keys = c->security ? 1 : 0,
				 .keys = {{1, 2, 3}}};

	if (!a)
		app_die("memory");
	a->request_bytes = APP_REQUEST_BYTES_MAX;
	bufs_make(a);
	port_open(a, c, &cfg);
	rc.user = a;
	rc.identity = c->is_server ? 2 : 1;
	rc.seed = clock_now_ns() + c->is_server;
	rc.limits.lost_ns = 60 * NSEC_PER_SEC;
	rc.ports[0] =
		(struct rudp_port_info){.local = {.ip = cfg.ports[0].ip.addr, .port = APP_UDP_PORT},
					.prefix_len = 24,
					.mtu = c->mtu,
					.up = true};
	if (rudp_new(&rc, clock_now_ns(), &a->rudp) < 0)
		app_die("rudp_new");
	return a;
}

void app_connect(struct app *a, const char *ip)
{
	struct datagram_addr peer = {.port = APP_UDP_PORT};
	struct ip_prefix p;

	if (ip_prefix_parse(ip, &p) < 0)
		app_die("address");
	peer.ip = p.addr;
	if (rudp_connect(a->rudp, &peer, 1, NULL, 0, a, clock_now_ns(), &a->session) < 0)
		app_die("rudp_connect");
	for (uint64_t end = clock_now_ns() + 5 * NSEC_PER_SEC; !rudp_session_is_up(a->session);) {
		app_turn(a);
		if (clock_now_ns() > end) {
			fprintf(stderr, "the session does not come up\n");
			exit(1);
		}
	}
}

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double app_median(double *v, unsigned n)
{
	qsort(v, n, sizeof(*v), compare_double);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

int app_compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}
