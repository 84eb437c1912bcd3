/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the command line in a child process. Another child acts as the agent: it sends the same
 * answer to all requests, and keeps the last request.
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

/* The state of the fake agent, in memory that the test shares with it. The test writes only while
 * no request is in progress. */
struct fake_agent {
	char dir[64], path[128];
	int listen_fd;
	pid_t pid;
	int status;	   /* status of the next reply */
	char reply[16384]; /* body of the next reply */
	char request[REQUEST_MAX];
	unsigned n_requests;
	unsigned n_conflicts; /* number of PATCH requests that first get the answer 412 */
	unsigned late_ms;     /* delay of the next answer in ms */
};

extern struct fake_agent *agent;

int fake_setup(void **state);
int fake_teardown(void **state);
/* Returns a listening socket for a test that acts as the agent itself; -1 on failure. */
int fake_listen(const char *path);
/* Reads the next request, asserts that it begins with `want`, and answers it with `text`. */
void fake_answer(int listen_fd, const char *want, const char *text);

struct result {
	int status;
	char out[16384], err[4096];
};

/* Runs `plenum ARGS` (split at blanks) in a child process. The fake agent answers with this status
 * and reply. */
struct result run(const char *args, int status, const char *reply);
void assert_asked(const char *first_line);
void assert_body(const char *want);

#endif
