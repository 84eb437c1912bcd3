/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The gate for text from outside: names and reasons that other hosts, workers and devices send,
 * before they reach tables, events, metrics or JSON. Invalid UTF-8 makes JSON and metrics invalid
 * as a whole; control characters steer terminals; bidirectional ones show other text than there is.
 * Pure.
 */
#ifndef PLENUM_NETCFG_TEXT_H
#define PLENUM_NETCFG_TEXT_H

#include "netcfg/base/base.h"

/* Reads the character at text; its length in bytes, 0 if it is not UTF-8 (RFC 3629). len is at
 * least 1. */
size_t text_utf8_read(const unsigned char *text, size_t len, uint32_t *ret);
/* Whether the character can be shown: no control, format or bidirectional character. */
bool text_is_shown(uint32_t c);
/* Whether the text of at most size bytes has its end there, and is UTF-8. */
bool text_is_utf8(const char *text, size_t size);
/* The same, and whether all its characters can be shown. */
bool text_is_clean(const char *text, size_t size);
/* Replaces each byte that is not part of such a character by '?', in place. */
void text_clean(char *text);
/* Removes an incomplete last character, as a cut at a size in bytes leaves it. */
void text_trim(char *text);

#endif
