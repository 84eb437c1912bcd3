/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses and prints points in time for the command line and the REST API. The functions are pure,
 * except that they use the host's time zone. */
#ifndef PLENUM_NETCFG_WHEN_H
#define PLENUM_NETCFG_WHEN_H

#include "netcfg/base/base.h"

/* The accepted forms, for error messages. */
#define WHEN_FORMS "2h (ago; s, m, h, d), 2026-11-27T22:00, or 2026-11-27T22:00:05Z (UTC)"

/*
 * Parses a time. "90s", "15m", "2h" and "7d" mean that long before now_ms. Other texts are a date,
 * then "T" or a blank, a time to minutes, seconds or fractions of a second, and "Z" or an offset
 * such as "+01:00". Without "Z" or an offset the time is local if `local` is set, UTC otherwise.
 * *ret_ms is in milliseconds since 1970. Returns 0 or -EINVAL.
 */
int when_parse(const char *text, uint64_t now_ms, bool local, uint64_t *ret_ms);
/* Writes "2026-11-27T22:00:05.123Z" into buf, for years up to 9999, and returns buf. */
#define WHEN_TEXT_MAX 32
const char *when_format(uint64_t ms, char buf[WHEN_TEXT_MAX]);

#endif
