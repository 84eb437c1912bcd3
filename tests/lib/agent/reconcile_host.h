/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An agent in the test's process: the real monitor, supervisor and applier on a host in memory. Its
 * workers start but report nothing.
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
	/* After the write with this number another program removes an address. */
	uint64_t sabotage_at;
};

/* ---- the host, which the applier changes as a separate process ---- */

char *read_text(const char *path);
void host_save(struct fixture *f);

/* Copies the state that an applier has left to the host. */
void host_load(struct fixture *f);
/* The only fixture of the test program. */
extern struct fixture *reconcile_fixture;
void write_file(struct fixture *f, const char *text);

/* The state without problems. The test's workers never report that they are ready, so the agent
 * stays in this state. */
#define AGENT_WELL AGENT_STARTING
extern const char reconcile_worker[]; /* a script that starts and reports nothing */

int reconcile_setup(void **state);
int reconcile_teardown(void **state);
#define RECONCILE_TEST(f) cmocka_unit_test_setup_teardown(f, reconcile_setup, reconcile_teardown)
/* Callback for nftw(3): removes a file or folder. */
int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw);

/* Runs the loop until no reconcile is running. */
void wait_for_reconcile(struct fixture *f);
int reconcile_now(struct fixture *f, enum reconcile_trigger t);

/* Run the loop until an apply is pending, or until none is. */
void turn_until_pending(struct fixture *f);
void turn_until_decided(struct fixture *f);

/* The first worker. */
struct sup_worker *host_worker(struct fixture *f);

/* Makes the worker look as if it were up, with a path to a client. */
struct launch_stats *host_serve(struct sup_worker *w);

/* The agent dies without cleaning up, and another one starts. */
void restart_agent(struct fixture *f);
bool event_has(const struct agent *a, const char *text);
bool problem_has(const struct agent *a, const char *text);
/* Asserts that this is the only problem; prints others if there are any. */
void assert_only_problem(const struct agent *a, const char *text);

#endif
