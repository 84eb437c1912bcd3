/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds names of the agent's files. Stateless. */
#ifndef PLENUM_AGENT_PATH_H
#define PLENUM_AGENT_PATH_H

/* DIR/NAME as a heap string, NULL: out of memory. */
char *path_join(const char *dir, const char *name);

#endif
