/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks whether the first bytes of a connection are a request head that the HTTP library accepts
 * without an error answer of its own (those are HTML, ours are JSON). Called before the library
 * gets the connection; errors are answered here. Pure; runs in the unprivileged children.
 */
#ifndef PLENUM_AGENT_API_HEAD_H
#define PLENUM_AGENT_API_HEAD_H

#include "agent/api/rest/api_route.h"

#define API_HEAD_BYTES_MAX 8192
#define API_TARGET_BYTES_MAX 1024
#define API_FIELDS_MAX 64 /* header lines, query arguments and cookies together */

/* The length of a valid head; 0: more bytes are needed; -EINVAL with *ret_error. */
ssize_t api_head_check(const char *data, size_t len, struct api_error *ret_error);

#endif
