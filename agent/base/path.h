/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds names of the agent's files. Stateless. */
#ifndef PLENUM_AGENT_PATH_H
#define PLENUM_AGENT_PATH_H

/* Returns DIR/NAME as a heap string, or NULL if memory is short. */
char *path_join(const char *dir, const char *name);

#endif
