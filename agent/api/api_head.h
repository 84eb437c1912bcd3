/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks whether the first bytes of a connection are a request head that the HTTP library accepts.
 * The library would answer an invalid head itself, with HTML; the answers of this API are JSON. So
 * this check is made before the library gets the connection, and this process answers errors
 * itself. Makes no system calls. Runs in the unprivileged children.
 */
#ifndef PLENUM_AGENT_API_HEAD_H
#define PLENUM_AGENT_API_HEAD_H

#include "agent/api/rest/api_route.h"

#define API_HEAD_BYTES_MAX 8192
#define API_TARGET_BYTES_MAX 1024
#define API_FIELDS_MAX 64 /* header lines, query parameters and cookies together */

/* Returns the length of a valid head, 0 if the head is incomplete, or -EINVAL with *ret_error. */
ssize_t api_head_check(const char *data, size_t len, struct api_error *ret_error);

#endif
