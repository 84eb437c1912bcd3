/* SPDX-License-Identifier: BSD-3-Clause */
/* Formats reasons. All users share one text form. */
#include "netcfg/base/reason.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Shortens a text that filled its `size` bytes, so that it ends after a whole word. If the first
 * word alone is too long, it ends after a whole character. */
static void end_cut(char *text, size_t size)
{
	static const char more[] = " ...";
	const char *mark = more;
	size_t end = size > sizeof(more) ? size - sizeof(more) : 0;

	while (end > 0 && text[end] != ' ')
		end--;
	while (end > 0 && strchr(" ,;:", text[end - 1]))
		end--;
	if (end == 0) {
		mark = more + 1;
		end = size > strlen(mark) ? size - strlen(mark) - 1 : 0;
		while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80)
			end--;
	}
	snprintf(text + end, size - end, "%s", size > strlen(mark) ? mark : "");
}

static void PLENUM_PRINTF(3, 0) print(char *buf, size_t size, const char *fmt, va_list ap)
{
	int n = vsnprintf(buf, size, fmt, ap);

	if (n < 0)
		buf[0] = '\0';
	else if ((size_t)n >= size)
		end_cut(buf, size);
}

static void PLENUM_PRINTF(3, 4) print_to(char *buf, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print(buf, size, fmt, ap);
	va_end(ap);
}

/* Formats into a separate buffer first, because an argument may point into r. */
static void PLENUM_PRINTF(3, 0) set(struct reason *r, const char *code, const char *fmt, va_list ap)
{
	struct reason new;

	if (!r)
		return;
	snprintf(new.code, sizeof(new.code), "%s", code);
	print(new.text, sizeof(new.text), fmt, ap);
	*r = new;
}

void reason_set(struct reason *r, const char *code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set(r, code, fmt, ap);
	va_end(ap);
}

void reason_set_text(struct reason *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set(r, "", fmt, ap);
	va_end(ap);
}

void reason_prefix(struct reason *r, const char *fmt, ...)
{
	struct reason context;
	va_list ap;

	if (!r)
		return;
	va_start(ap, fmt);
	set(&context, "", fmt, ap);
	va_end(ap);
	reason_set(r, r->code, "%s%s%s", context.text, r->text[0] ? ": " : "", r->text);
}

void reason_append(struct reason *r, const char *fmt, ...)
{
	struct reason more;
	va_list ap;

	if (!r)
		return;
	va_start(ap, fmt);
	set(&more, "", fmt, ap);
	va_end(ap);
	reason_set(r, r->code, "%s%s%s", r->text, r->text[0] ? "; " : "", more.text);
}

void reason_clear(struct reason *r)
{
	if (r)
		r->code[0] = r->text[0] = '\0';
}

bool reason_equal(const struct reason *a, const struct reason *b)
{
	return strcmp(a->code, b->code) == 0 && strcmp(a->text, b->text) == 0;
}

const char *reason_format(const struct reason *r, char *buf, size_t size)
{
	print_to(buf, size, "%s%s%s", r->code, r->code[0] && r->text[0] ? ": " : "", r->text);
	return buf;
}

void reason_copy_text(char *buf, size_t size, const char *text)
{
	print_to(buf, size, "%s", text);
}
