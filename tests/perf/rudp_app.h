/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An end of rudp on one port for programs that measure it: a worker's loop turn without the file
 * system. The server answers a request with as many bytes as the number that it begins with.
 */
#ifndef PLENUM_TESTS_PERF_RUDP_APP_H
#define PLENUM_TESTS_PERF_RUDP_APP_H

#include "dataplane/port/port.h"
#include "dataplane/rudp/rudp.h"

#define APP_UDP_PORT 4420
#define APP_ANSWER_BYTES_MAX (1U << 20)
#define APP_IN_FLIGHT_MAX 128U
#define APP_REQUEST_BYTES_MAX 64U

struct app_config {
	enum launch_transport transport;
	const char *ip;		 /* "10.99.9.1/24" */
	const char *ifname;	 /* the kernel's interface below; "": none */
	const char *device;	 /* DPDK's argument; "": none */
	const struct port *port; /* already open; NULL: open one as the above say */
	unsigned mtu, core;
	enum rudp_security security;
	bool is_server;
};

struct app {
	struct rudp *rudp;
	struct rudp_session *session; /* the client's */
	struct port port;
	uint64_t now_ns;
	unsigned done; /* responses so far */
	uint64_t failed;
	unsigned request_bytes;
	unsigned n_free;
	void **free_bufs;
	uint8_t request[APP_IN_FLIGHT_MAX][APP_REQUEST_BYTES_MAX];
	uint8_t *bufs;	      /* memory of received messages */
	const uint8_t *reply; /* APP_ANSWER_BYTES_MAX of them */
	/* Takes a datagram that is not rudp's; NULL: there are none. */
	bool (*bare)(struct app *a, const struct port_rx *d);
	void *user;
};

/* On failure these end the program, with a message. */
struct app *app_new(const struct app_config *c);
void app_connect(struct app *a, const char *ip);
void app_die(const char *what);

void app_turn(struct app *a);
/* Requests so many bytes; the slot's memory belongs to the request until the answer arrives. */
void app_ask(struct app *a, unsigned slot, uint32_t bytes);
/* The median of v, which it sorts. */
double app_median(double *v, unsigned n);
int app_compare_u32(const void *a, const void *b);

#endif
