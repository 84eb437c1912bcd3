/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the commands about configurations: printing a configuration, a plan and a difference.
 */
#ifndef PLENUM_AGENT_CTL_CONFIG_H
#define PLENUM_AGENT_CTL_CONFIG_H

#include "agent/ctl/ctl.h"

/* Gets a configuration from the agent: RESOURCE_CONFIG_RUNNING or RESOURCE_CONFIG_STAGED. */
int ctl_ask_config(const struct ctl_args *a, enum resource_id which, struct ctl_reply *ret);
/* Prints a configuration as YAML, or as JSON with -j. yaml NULL: prints that memory is short.
 * Returns an exit status. */
int ctl_put_config(const struct ctl_args *a, const char *yaml);
/* Prints a plan from the agent; its warnings go to standard error. */
int ctl_put_plan(const json_t *o);

/* Prints the lines of `a` that `b` lacks with '-', the lines of `b` that `a` lacks with '+', and
 * common lines near them with ' '. Returns whether the texts differ, or -ENOMEM. */
int ctl_diff(const char *a, const char *b, FILE *out);
/* Like ctl_diff(), but writes to a heap text *ret, which the caller frees. */
int ctl_diff_text(const char *a, const char *b, char **ret);

#endif
