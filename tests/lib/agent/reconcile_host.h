/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An agent inside the test process: the real monitor, supervisor and applier on a host in memory,
 * with workers that start and report nothing.
 */
#ifndef PLENUM_TESTS_RECONCILE_HOST_H
#define PLENUM_TESTS_RECONCILE_HOST_H

#include "agent/agent.h"
#include "agent/status.h"
#include "plugins/plugins.h"
#include "tests/lib/host/plan_host.h"
#include <ftw.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct fixture {
	struct agent a;
	struct inventory *inv;
	char dir[32], file[64], state_dir[64];
	char host[64], worker[64], killed[64];
	uint64_t sabotage_at; /* number of the write after which another program removes an address
			       */
};

/* ---- the host, which the applier changes as a separate process ---- */

char *read_text(const char *path);
void host_save(struct fixture *f);

/* Makes the host what an applier has left. */
void host_load(struct fixture *f);
/* The only one. */
extern struct fixture *reconcile_fixture;
void write_file(struct fixture *f, const char *text);

/* The state without problems: the test's worker never reports ready, so the agent stays in it. */
#define AGENT_WELL AGENT_STARTING
extern const char reconcile_worker[]; /* a script that starts and reports nothing */

int reconcile_setup(void **state);
int reconcile_teardown(void **state);
#define RECONCILE_TEST(f) cmocka_unit_test_setup_teardown(f, reconcile_setup, reconcile_teardown)
/* For nftw(3). */
int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw);

/* Runs the loop until no reconcile is running. */
void wait_for_reconcile(struct fixture *f);
int reconcile_now(struct fixture *f, enum reconcile_trigger t);

/* Run the loop until an apply is pending, or until none is. */
void turn_until_pending(struct fixture *f);
void turn_until_decided(struct fixture *f);

/* The first worker. */
struct sup_worker *host_worker(struct fixture *f);

/* Makes the worker look up, with one path to a client. */
struct launch_stats *host_serve(struct sup_worker *w);

/* The agent dies without notice; another one takes its place. */
void restart_agent(struct fixture *f);
bool event_has(const struct agent *a, const char *text);
bool problem_has(const struct agent *a, const char *text);
/* Prints the others if there are any. */
void assert_only_problem(const struct agent *a, const char *text);

#endif
