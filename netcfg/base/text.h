/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks and cleans text from outside: names and reasons that other hosts, workers and devices
 * send, before the agent puts them into tables, events, metrics or JSON. Invalid UTF-8 would make
 * the whole JSON document or metrics page invalid; control characters can steer terminals;
 * bidirectional characters can change the displayed order. The functions are pure.
 */
#ifndef PLENUM_NETCFG_TEXT_H
#define PLENUM_NETCFG_TEXT_H

#include "netcfg/base/base.h"

/* Reads the first character of `text`, whose len is at least 1. Returns its length in bytes, or 0
 * if it is not valid UTF-8 (RFC 3629). */
size_t text_utf8_read(const unsigned char *text, size_t len, uint32_t *ret);
/* Returns whether the character can be displayed: it is not a control, format or bidirectional
 * character. */
bool text_is_shown(uint32_t c);
/* Returns whether the text is UTF-8 and has its NUL within `size` bytes. */
bool text_is_utf8(const char *text, size_t size);
/* Returns whether text_is_utf8() accepts the text and all characters can be displayed. */
bool text_is_clean(const char *text, size_t size);
/* Replaces each byte that does not belong to a displayable character by '?', in place. */
void text_clean(char *text);
/* Removes an incomplete last character, which remains after a text is cut at a size in bytes. */
void text_trim(char *text);

#endif
