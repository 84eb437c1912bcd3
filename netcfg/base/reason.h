/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reason why something failed or works only partially: a code for programs and one sentence for
 * operators. Legs, workers and mounts report both; plenumd(8) lists the codes. A function that
 * returns a negative errno sets only the text, because the errno takes the place of the code. A
 * reason has no heap memory; one without code and text means that nothing needs to be reported.
 */
#ifndef PLENUM_NETCFG_REASON_H
#define PLENUM_NETCFG_REASON_H

#include "netcfg/base/base.h"

#define REASON_CODE_MAX 24
/* Enough for the longest text. If an apply and then its rollback fail, the text names two steps,
 * each with the kernel's error. */
#define REASON_TEXT_MAX 512
#define REASON_FORMAT_MAX (REASON_CODE_MAX + 2 + REASON_TEXT_MAX)

struct reason {
	/* lower-case letters and dashes, such as "no-carrier"; "": there is only a text */
	char code[REASON_CODE_MAX];
	char text[REASON_TEXT_MAX]; /* one sentence without a full stop; "": there is only a code */
};

static inline bool reason_is_set(const struct reason *r)
{
	return r->code[0] != '\0' || r->text[0] != '\0';
}

/*
 * These functions ignore a NULL reason, for callers that do not need it; arguments may point into
 * the reason itself. A text that is too long is cut after a whole word and ends with " ...".
 */
void reason_set(struct reason *r, const char *code, const char *fmt, ...) PLENUM_PRINTF(3, 4);
/* Sets the text and empties the code, for a function that returns a negative errno. */
void reason_set_text(struct reason *r, const char *fmt, ...) PLENUM_PRINTF(2, 3);
/* Changes "TEXT" to "CONTEXT: TEXT", and an empty text to "CONTEXT". Keeps the code. */
void reason_prefix(struct reason *r, const char *fmt, ...) PLENUM_PRINTF(2, 3);
/* Changes "TEXT" to "TEXT; MORE", and an empty text to "MORE". Keeps the code. */
void reason_append(struct reason *r, const char *fmt, ...) PLENUM_PRINTF(2, 3);
void reason_clear(struct reason *r);
bool reason_equal(const struct reason *a, const struct reason *b);
/* Writes "code: text", "code", "text" or "" into buf and returns buf. REASON_FORMAT_MAX bytes are
 * always enough; a smaller buffer gets the beginning, cut after a whole word. */
const char *reason_format(const struct reason *r, char *buf, size_t size);
/* Copies `text` into the `size` bytes at buf; a text that does not fit is cut after a whole word
 * and ends with " ...". */
void reason_copy_text(char *buf, size_t size, const char *text);

#endif
