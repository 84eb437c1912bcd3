/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether the first bytes of a connection are the head of a request that the HTTP library will take
 * without an answer of its own (those are HTML, ours are JSON). Looked at before the library gets
 * the connection; what is wrong is refused here. Pure; runs in the unprivileged children.
 */
#ifndef PLENUM_AGENT_API_HEAD_H
#define PLENUM_AGENT_API_HEAD_H

#include "agent/api/api_route.h"

#define API_HEAD_BYTES_MAX 8192
#define API_TARGET_BYTES_MAX 1024
#define API_FIELDS_MAX 64 /* header lines, arguments of the query and cookies together */

/* The length of a good head; 0: more has to come; -EINVAL with *ret_error. */
ssize_t api_head_check(const char *data, size_t len, struct api_error *ret_error);

#endif
