/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts a worker, runs its loop and handles the agent's messages. The files of this folder call
 * all other parts of the worker; no other part calls them. Only main() calls worker_main(); tests
 * call the other functions.
 */
#ifndef PLENUM_DATAPLANE_WORKER_RUN_H
#define PLENUM_DATAPLANE_WORKER_RUN_H

#include "dataplane/worker/worker.h"

/* Runs the worker process. Returns its exit status (enum launch_exit). */
int worker_main(void);

/* worker_setup.c */

/* Reads and checks the configuration. Returns 0 with *ret set, which the caller must free, or a
 * negative errno with a sentence in why. -EPROTO: an agent of another version wrote the
 * configuration. */
int worker_config_read(int fd, struct launch_config **ret, struct reason *why);
/* Checks the configuration. Returns 0 or a negative errno with a sentence in why. */
int worker_config_check(const struct launch_config *cfg, struct reason *why);
struct launch_stats *worker_stats_map(int fd);
/* Pins the process to its core, and sets its name. Returns 0, or a negative errno if the core does
 * not exist. */
int worker_process_place(const struct launch_config *cfg);

/* worker_loop.c */

/* Builds rudp and the role's state. Returns 0 or a negative errno with a sentence in why. */
int worker_build(struct worker *w, struct reason *why);
void worker_run(struct worker *w);

/* worker_control.c: messages of the agent, and signals */

void worker_control_read(struct worker *w);
/* Checks whether the agent is still alive. */
void worker_alive_read(struct worker *w);
void worker_signal_read(struct worker *w);

/* worker_spin.c */

/* Call when work has arrived after the loop was idle for idle_ns. */
void worker_spin_learn(struct worker_spin *s, uint64_t idle_ns);
/* Returns whether to poll again instead of sleeping. idle_ns: time since there was work last. */
bool worker_spin_wanted(const struct worker_spin *s, uint64_t idle_ns);
/* Returns whether the worker sleeps when idle, and work arrives so rarely that acknowledgements
 * should not wait for it. */
bool worker_spin_rests(const struct worker_spin *s);

#endif
