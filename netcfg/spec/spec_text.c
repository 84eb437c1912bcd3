/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks a file's bytes before YAML parses them. libyaml reports invalid bytes without a line
 * number, and accepts tabs in some places where they are usually a mistake.
 */
#include "netcfg/base/text.h"
#include "netcfg/spec/spec_node.h"

#include <string.h>

/* Returns whether a character is rejected: YAML forbids this character, or YAML treats it as a line
 * break but editors do not. */
static bool is_refused(uint32_t c)
{
	if (c < ' ')
		return c != '\t' && c != '\n' && c != '\r';
	return (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff ||
	       (c & 0xfffe) == 0xfffe;
}

struct text_scan {
	struct diag_pos pos;
	bool indent; /* the line has had only blanks and tabs so far */
	struct diag_pos first_tab;
	unsigned n_tab_lines, last_tab_line;
};

static void scan_tab(struct text_scan *s)
{
	if (!s->indent || s->last_tab_line == s->pos.line)
		return;
	if (s->n_tab_lines++ == 0)
		s->first_tab = s->pos;
	s->last_tab_line = s->pos.line;
}

static void scan_advance(struct text_scan *s, uint32_t c, bool crlf)
{
	if (c == '\n' || (c == '\r' && !crlf)) {
		s->pos.line++;
		s->pos.column = 1;
		s->indent = true;
		return;
	}
	if (c != ' ' && c != '\t')
		s->indent = false;
	s->pos.column++;
}

static void report_tabs(const struct text_scan *s, struct diag *d)
{
	if (s->n_tab_lines == 1)
		diag_add(d, DIAG_ERROR, &s->first_tab, NULL,
			 "a tab is used for indentation; write spaces instead");
	else
		diag_add(d, DIAG_ERROR, &s->first_tab, NULL,
			 "a tab is used for indentation here and on %u further line%s; write "
			 "spaces instead",
			 s->n_tab_lines - 1, s->n_tab_lines == 2 ? "" : "s");
}

static void report_character(const struct diag_pos *pos, uint32_t c, struct diag *d)
{
	if (c == 0)
		diag_add(d, DIAG_ERROR, pos, NULL,
			 "a NUL byte was found; write the file as UTF-8 text");
	else if (c == 0xfeff)
		diag_add(d, DIAG_ERROR, pos, NULL,
			 "a byte order mark was found; write the file as UTF-8 without one");
	else
		diag_add(d, DIAG_ERROR, pos, NULL,
			 "the character U+%04X is not allowed; remove the character", (unsigned)c);
}

int spec_text_check(const char *file, const char *text, size_t len, struct diag *d)
{
	const unsigned char *bytes = (const unsigned char *)text;
	struct text_scan s = {.pos = {file, 1, 1}, .indent = true};

	for (size_t i = 0, n; i < len; i += n) {
		uint32_t c;

		n = text_utf8_read(bytes + i, len - i, &c);
		if (n == 0) {
			diag_add(d, DIAG_ERROR, &s.pos, NULL,
				 "the byte 0x%02x is not UTF-8; write the file as UTF-8 text",
				 bytes[i]);
			return -EINVAL;
		}
		if (is_refused(c)) {
			report_character(&s.pos, c, d);
			return -EINVAL;
		}
		if (c == '\t')
			scan_tab(&s);
		scan_advance(&s, c, i + 1 < len && bytes[i + 1] == '\n');
	}
	if (s.n_tab_lines == 0)
		return 0;
	report_tabs(&s, d);
	return -EINVAL;
}
