/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Why something failed or is less than it could be: a code for programs and one sentence for
 * people. Legs, workers and mounts explain themselves with code and text; plenumd(8) lists the
 * codes. A function that fails with a negative errno has its code in that, and writes the text
 * alone. A value without heap; with neither code nor text there is nothing to explain.
 */
#ifndef PLENUM_NETCFG_REASON_H
#define PLENUM_NETCFG_REASON_H

#include "netcfg/base/base.h"

#define REASON_CODE_MAX 24
/* The longest text is that of an apply whose rollback failed too: two steps, each with the kernel's
 * answer. */
#define REASON_TEXT_MAX 512
#define REASON_FORMAT_MAX (REASON_CODE_MAX + 2 + REASON_TEXT_MAX)

struct reason {
	char code[REASON_CODE_MAX]; /* "no-carrier": lower case and dashes; "": text alone */
	char text[REASON_TEXT_MAX]; /* one sentence without a full stop; "": the code says all */
};

static inline bool reason_is_set(const struct reason *r)
{
	return r->code[0] != '\0' || r->text[0] != '\0';
}

/*
 * All functions that write a reason accept NULL, for callers that need none, and arguments from the
 * reason itself. A text that does not fit ends with " ..." after the last whole word that does, so
 * that neither a word nor a character is cut.
 */
void reason_set(struct reason *r, const char *code, const char *fmt, ...) PLENUM_PRINTF(3, 4);
/* The text alone, with code "": the caller returns a negative errno. */
void reason_set_text(struct reason *r, const char *fmt, ...) PLENUM_PRINTF(2, 3);
/* Makes "TEXT" into "CONTEXT: TEXT"; "CONTEXT" if the text is empty. Keeps the code. */
void reason_prefix(struct reason *r, const char *fmt, ...) PLENUM_PRINTF(2, 3);
/* Makes "TEXT" into "TEXT; MORE"; "MORE" if the text is empty. Keeps the code. */
void reason_append(struct reason *r, const char *fmt, ...) PLENUM_PRINTF(2, 3);
void reason_clear(struct reason *r);
bool reason_equal(const struct reason *a, const struct reason *b);
/* "code: text", "code", "text", or "" for none, into buf (REASON_FORMAT_MAX bytes are always
 * enough; in fewer it ends as above); returns buf. */
const char *reason_format(const struct reason *r, char *buf, size_t size);
/* Copies a text into the `size` bytes of a message or a page; one that does not fit ends as above.
 */
void reason_copy_text(char *buf, size_t size, const char *text);

#endif
