/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the command line in a child process. Another child plays the agent: it gives the same answer
 * to all requests and keeps the last one.
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

/* Shared with the child that answers. The test writes while no request is in progress. */
struct fake_agent {
	char dir[64], path[128];
	int listen_fd;
	pid_t pid;
	int status;	   /* status of the next reply */
	char reply[16384]; /* body of the next reply */
	char request[REQUEST_MAX];
	unsigned n_requests;
	unsigned n_conflicts; /* so many PATCH requests get the answer 412 first */
	unsigned late_ms;     /* delay of the next answer */
};

extern struct fake_agent *agent;

int fake_setup(void **state);
int fake_teardown(void **state);
/* A socket for an agent that the test plays itself; -1: failed. */
int fake_listen(const char *path);
/* Answers the next request with `text`, after checking that it contains what the test expects. */
void fake_answer(int listen_fd, const char *want, const char *text);

struct result {
	int status;
	char out[16384], err[4096];
};

/* Runs `plenum ARGS`, split at blanks, in a child process. */
struct result run(const char *args, int status, const char *reply);
void assert_asked(const char *first_line);
void assert_body(const char *want);

#endif
