/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the command line in a child process; another child plays the agent, which answers every
 * request alike and keeps the last one.
 */
#ifndef PLENUM_TESTS_CTL_RIG_H
#define PLENUM_TESTS_CTL_RIG_H

#include "agent/ctl/ctl.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define REQUEST_MAX 8192

/* Shared with the answering child; the test writes while no request is in progress. */
struct fake_agent {
	char dir[64], path[128];
	int listen_fd;
	pid_t pid;
	int status;	   /* of the next reply */
	char reply[16384]; /* its body */
	char request[REQUEST_MAX];
	unsigned n_requests;
	unsigned n_conflicts; /* answers to PATCH requests that come before: 412 */
	unsigned late_ms;     /* the next answer is late by this time */
};

extern struct fake_agent *agent;

int fake_setup(void **state);
int fake_teardown(void **state);
/* For another agent, which the test plays itself: its socket, or -1. */
int fake_listen(const char *path);
/* Answers the next request with `text` after checking what it asked for. */
void fake_answer(int listen_fd, const char *want, const char *text);

struct result {
	int status;
	char out[16384], err[4096];
};

/* Runs `plenum ARGS`, split at blanks, in a child. */
struct result run(const char *args, int status, const char *reply);
void assert_asked(const char *first_line);
void assert_body(const char *want);

#endif
