/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports in separate processes, for tests of ports on veth pairs. One process echoes the datagrams
 * that the other one sends.
 */
#ifndef PLENUM_TESTS_PORT_ENDS_H
#define PLENUM_TESTS_PORT_ENDS_H

#include "dataplane/port/port.h"
#include "tests/lib/port/netns_enter.h"
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#define DEADLINE_NS (60 * NSEC_PER_SEC)
#define EXIT_TIMEOUT 3
#define EXIT_DAMAGED 4
#define EXIT_SLEPT 5  /* answers arrived, but they did not wake the process */
#define EXIT_OPEN 100 /* a port could not be opened; its errno is added to this number */

struct end { /* the port of one of the processes */
	const char *netns, *ifname, *ip;
	enum launch_transport transport;
	const char *device; /* "": the device that is the default of the transport */
};

/* ------------------------------------------------------------------ in the children */

/* Settings for ports that are opened later. */
extern uint32_t ends_log_level;
extern uint32_t ends_mtu;
extern bool ends_shared; /* the ports share their device with the kernel, by flow rules */

void leg_fill(struct launch_port *lp, const struct end *e);

/* Opens a port for each of the n legs of a process. */
void ends_open(struct port *ports, const struct end *legs, unsigned n);
void end_open(struct port *p, const struct end *e);
void port_wait(struct port *p);

/* Memory that is shared with a client process. While the number in it is not 0, the client sends
 * another `count` datagrams. May be NULL. */
extern uint32_t *keep_sending;

/* Checks that the port's descriptor does not become readable without packets, even after its
 * interface went down. */
void child_sleeper(const struct end *e);

/* Sends datagrams on the two legs alternately, and expects their echoes. */
void child_two_legs(const struct end *legs, const struct end *peers);

/* ------------------------------------------------------------------ in the parent */

/* Starts a process with echoing ports. Returns when they are open. */
pid_t echoes_start(const struct end *e, unsigned n_legs);
pid_t echo_start(const struct end *e);
void echo_kill(pid_t pid);
pid_t client_start(const struct end *e, const struct end *peer, uint32_t count);
int client_run(const struct end *e, const struct end *peer, uint32_t count);

#endif
