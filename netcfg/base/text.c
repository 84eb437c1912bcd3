/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides which characters of text from outside are displayed. */
#include "netcfg/base/text.h"
#include <string.h>

size_t text_utf8_read(const unsigned char *text, size_t len, uint32_t *ret)
{
	static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t c = text[0];
	size_t n;

	if (c < 0x80)
		n = 1;
	else if (c >= 0xc2 && c < 0xe0)
		n = 2;
	else if (c >= 0xe0 && c < 0xf0)
		n = 3;
	else if (c >= 0xf0 && c < 0xf5)
		n = 4;
	else
		return 0;
	if (n > len)
		return 0;
	if (n > 1)
		c &= 0x7fU >> n;
	for (size_t i = 1; i < n; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (text[i] & 0x3f);
	}
	if (c < lowest[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*ret = c;
	return n;
}

bool text_is_shown(uint32_t c)
{
	if (c < ' ' || (c >= 0x7f && c < 0xa0))
		return false;
	return c != 0xad && c != 0x61c &&
	       /* soft hyphen, zero-width characters, direction marks */
	       !(c >= 0x200b && c <= 0x200f) &&
	       !(c >= 0x2028 && c <= 0x202e) && /* line separators, direction embeddings */
	       !(c >= 0x2060 && c <= 0x206f) && /* direction isolates */
	       c != 0xfeff && !(c >= 0xfff9 && c <= 0xfffb) && (c & 0xfffe) != 0xfffe &&
	       !(c >= 0xe0000 && c <= 0xe0fff); /* language tags */
}

static bool is_text(const char *text, size_t size, bool shown)
{
	const char *end = memchr(text, '\0', size);
	uint32_t c;
	size_t n;

	for (; end && text < end; text += n) {
		n = text_utf8_read((const unsigned char *)text, (size_t)(end - text), &c);
		if (n == 0 || (shown && !text_is_shown(c)))
			return false;
	}
	return end != NULL;
}

bool text_is_utf8(const char *text, size_t size)
{
	return is_text(text, size, false);
}

bool text_is_clean(const char *text, size_t size)
{
	return is_text(text, size, true);
}

void text_clean(char *text)
{
	unsigned char *at = (unsigned char *)text;
	size_t left = strlen(text);

	while (left > 0) {
		uint32_t c;
		size_t n = text_utf8_read(at, left, &c);

		if (n == 0 || !text_is_shown(c)) {
			n = MAX_OF(n, (size_t)1);
			memset(at, '?', n);
		}
		at += n;
		left -= n;
	}
}

void text_trim(char *text)
{
	size_t len = strlen(text), n = 1;
	uint32_t c;

	while (n < len && n < 4 && ((unsigned char)text[len - n] & 0xc0) == 0x80)
		n++;
	if (n <= len && text_utf8_read((unsigned char *)text + len - n, n, &c) == 0)
		text[len - n] = '\0';
}
