/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An agent in the test's process: the real monitor, supervisor and applier on a host in memory. The
 * agent's workers start but report nothing.
 */
#ifndef PLENUM_TESTS_RECONCILE_HOST_H
#define PLENUM_TESTS_RECONCILE_HOST_H

#include "agent/agent.h"
#include "agent/status.h"
#include "plugins/plugins.h"
#include "tests/lib/host/plan_host.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct fixture {
	struct agent a;
	struct inventory *inv;
	char dir[32], file[64], state_dir[64];
	char host[64], worker[64], killed[64];
	/* Another program removes an address after the write with this number. */
	uint64_t sabotage_at;
};

/* ---- the host, which the applier changes in a separate process ---- */

char *read_text(const char *path);
void host_save(struct fixture *f);

/* Copies the state that an applier has written to the host in memory. */
void host_load(struct fixture *f);
/* The fixture of the test program. */
extern struct fixture *reconcile_fixture;
void write_file(struct fixture *f, const char *text);

/* The agent's state if there are no problems. The agent stays in it, because the test's workers
 * never report that they are ready. */
#define AGENT_WELL AGENT_STARTING
extern const char reconcile_worker[]; /* a script that starts and reports nothing */

int reconcile_setup(void **state);
int reconcile_teardown(void **state);
#define RECONCILE_TEST(f) cmocka_unit_test_setup_teardown(f, reconcile_setup, reconcile_teardown)

/* Runs the loop until no reconcile is running. */
void wait_for_reconcile(struct fixture *f);
int reconcile_now(struct fixture *f, enum reconcile_trigger t);

/* Run the loop until an apply is pending, or until no apply is pending. */
void turn_until_pending(struct fixture *f);
void turn_until_decided(struct fixture *f);

/* Returns the supervisor's first worker. */
struct sup_worker *host_worker(struct fixture *f);

/* Writes to the worker's page that the worker is up and has a path to a client. */
struct launch_stats *host_serve(struct sup_worker *w);

/* Ends the agent as a crash would, without any cleanup, and starts another one. */
void restart_agent(struct fixture *f);
bool event_has(const struct agent *a, const char *text);
bool problem_has(const struct agent *a, const char *text);
/* Asserts that the agent has one problem, which contains the text. If not, prints the problems. */
void assert_only_problem(const struct agent *a, const char *text);

#endif
