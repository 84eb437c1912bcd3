/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A strict parser of request heads. It needs no socket and no library, so that the fuzzer can pass
 * it bytes.
 */
#include "agent/api/api_head.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct head {
	const char *at, *end; /* end: after the last header line and before the empty line */
	unsigned n_fields;
	bool has_length, has_host;
	int minor;
	struct api_error *error;
};

static int fail(struct head *h, unsigned status, const char *code, const char *fmt, ...)
	PLENUM_PRINTF(4, 5);
static int fail(struct head *h, unsigned status, const char *code, const char *fmt, ...)
{
	va_list ap;

	*h->error = (struct api_error){.http_status = status, .code = code};
	va_start(ap, fmt);
	vsnprintf(h->error->message, sizeof(h->error->message), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* Returns whether HTTP allows the character in a token, such as a header name (RFC 9110, section
 * 5.6.2). */
static bool is_token_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("!#$%&'*+-.^_`|~", c));
}

static unsigned count(const char *s, size_t len, char c)
{
	unsigned n = 0;

	for (size_t i = 0; i < len; i++)
		n += s[i] == c;
	return n;
}

static int check_target(struct head *h, const char *s, size_t len)
{
	if (len > API_TARGET_BYTES_MAX)
		return fail(h, 414, "too-large", "the path is longer than %d bytes",
			    API_TARGET_BYTES_MAX);
	if (len == 0 || s[0] != '/')
		return fail(h, 400, "bad-request", "the path does not begin with '/'");
	for (size_t i = 0; i < len; i++)
		if (s[i] <= ' ' || s[i] > '~')
			return fail(h, 400, "bad-request",
				    "the path contains a character that must be escaped");
	h->n_fields += count(s, len, '&') + count(s, len, '?');
	return 0;
}

/* Checks "METHOD SP target SP HTTP/1.x". */
static int check_request_line(struct head *h, const char *s, size_t len)
{
	const char *target = memchr(s, ' ', len), *version;
	size_t n = target ? (size_t)(target - s) : 0;
	int r;

	if (n == 0 || n > 16)
		return fail(h, 400, "bad-request", "the first line is not an HTTP request");
	for (size_t i = 0; i < n; i++)
		if (!is_token_char(s[i]))
			return fail(h, 400, "bad-request",
				    "the method contains invalid characters");
	target++;
	version = memchr(target, ' ', len - n - 1);
	if (!version)
		return fail(h, 400, "bad-request", "the first line has no HTTP version");
	r = check_target(h, target, (size_t)(version - target));
	if (r < 0)
		return r;
	version++;
	len -= (size_t)(version - s);
	if (len != 8 || memcmp(version, "HTTP/", 5) != 0)
		return fail(h, 400, "bad-request", "the first line is not an HTTP request");
	if (memcmp(version, "HTTP/1.", 7) != 0 || version[7] < '0' || version[7] > '1')
		return fail(h, 505, "bad-request", "only HTTP/1.0 and HTTP/1.1 are supported");
	h->minor = version[7] - '0';
	return 0;
}

static int check_length(struct head *h, const char *value, size_t len)
{
	uint64_t v = 0;

	if (h->has_length || len == 0 || len > 18)
		return fail(h, 400, "bad-request", "Content-Length is not a single number");
	for (size_t i = 0; i < len; i++) {
		if (value[i] < '0' || value[i] > '9')
			return fail(h, 400, "bad-request", "Content-Length is not a single number");
		v = v * 10 + (uint64_t)(value[i] - '0');
	}
	h->has_length = true;
	if (v > PRIVSEP_TEXT_MAX)
		return fail(h, 413, "too-large", "the body is larger than 1 MiB");
	return 0;
}

static bool is_named(const char *name, const char *s, size_t len)
{
	return strlen(name) == len && strncasecmp(name, s, len) == 0;
}

static int check_field(struct head *h, const char *s, size_t len)
{
	const char *colon = memchr(s, ':', len), *value;
	size_t n = colon ? (size_t)(colon - s) : 0;

	if (n == 0)
		return fail(h, 400, "bad-request", "a header line has no name followed by a colon");
	for (size_t i = 0; i < n; i++)
		if (!is_token_char(s[i]))
			return fail(h, 400, "bad-request",
				    "a header name contains an invalid character");
	value = colon + 1;
	len -= n + 1;
	while (len > 0 && (*value == ' ' || *value == '\t')) {
		value++;
		len--;
	}
	while (len > 0 && (value[len - 1] == ' ' || value[len - 1] == '\t'))
		len--;
	h->n_fields += 1 + (is_named("Cookie", s, n) ? count(value, len, ';') : 0);
	if (is_named("Content-Length", s, n))
		return check_length(h, value, len);
	if (is_named("Transfer-Encoding", s, n))
		return fail(h, 501, "bad-request",
			    "Transfer-Encoding is not supported; send a Content-Length");
	if (is_named("Expect", s, n) && !is_named("100-continue", value, len))
		return fail(h, 417, "bad-request", "only 'Expect: 100-continue' is supported");
	if (is_named("Host", s, n)) {
		if (h->has_host)
			return fail(h, 400, "bad-request",
				    "the request has more than one Host header");
		h->has_host = true;
	}
	return 0;
}

static int check_lines(struct head *h)
{
	bool first = true;
	int r = 0;

	while (r >= 0 && h->at < h->end) {
		const char *cr = memchr(h->at, '\r', (size_t)(h->end - h->at));
		size_t len = (size_t)(cr - h->at); /* each line of a head ends with CR LF */

		r = first ? check_request_line(h, h->at, len) : check_field(h, h->at, len);
		first = false;
		h->at = cr + 2;
	}
	if (r >= 0 && h->n_fields > API_FIELDS_MAX)
		return fail(h, 431, "too-large",
			    "the request has more than %d headers and arguments", API_FIELDS_MAX);
	if (r >= 0 && h->minor == 1 && !h->has_host)
		return fail(h, 400, "bad-request", "HTTP/1.1 requires a Host header");
	return r;
}

/* Finds the end of the head. Control characters other than the CR LF at line ends are errors.
 * *ret_end: end of the last header line, before the empty line; NULL: the head is incomplete. */
static int find_end(struct head *h, const char *data, size_t len, const char **ret_end)
{
	*ret_end = NULL;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)data[i];

		if (c == '\r') {
			if (i + 1 == len)
				return 0;
			if (data[i + 1] != '\n')
				return fail(h, 400, "bad-request", "a line does not end in CR LF");
			if (i >= 2 && data[i - 1] == '\n') {
				*ret_end = data + i;
				return 0;
			}
			if (i == 0)
				return fail(h, 400, "bad-request", "the first line is empty");
			i++;
		} else if ((c < ' ' && c != '\t') || c == 0x7f) {
			return fail(h, 400, "bad-request",
				    "the head contains a control character, or a line without CR");
		}
	}
	return 0;
}

ssize_t api_head_check(const char *data, size_t len, struct api_error *ret_error)
{
	struct head h = {.at = data, .error = ret_error};
	size_t look = MIN_OF(len, (size_t)API_HEAD_BYTES_MAX);
	int r = find_end(&h, data, look, &h.end);

	if (r < 0)
		return r;
	if (!h.end) {
		if (len < API_HEAD_BYTES_MAX)
			return 0;
		if (!memchr(data, '\r', look))
			return fail(&h, 414, "too-large", "the path is longer than %d bytes",
				    API_TARGET_BYTES_MAX);
		return fail(&h, 431, "too-large", "the head is larger than %d bytes",
			    API_HEAD_BYTES_MAX);
	}
	r = check_lines(&h);
	return r < 0 ? r : h.end + 2 - data;
}

/* ---- splitting a valid head ---- */

static const char *const field_names[API_FIELD_MAX] = {
	[API_FIELD_ACCEPT] = "Accept",
	[API_FIELD_AUTHORIZATION] = "Authorization",
	[API_FIELD_CONNECTION] = "Connection",
	[API_FIELD_CONTENT_LENGTH] = "Content-Length",
	[API_FIELD_CONTENT_TYPE] = "Content-Type",
	[API_FIELD_EXPECT] = "Expect",
	[API_FIELD_HOST] = "Host",
	[API_FIELD_IF_MATCH] = "If-Match",
	[API_FIELD_IF_NONE_MATCH] = "If-None-Match",
	[API_FIELD_LAST_EVENT_ID] = "Last-Event-ID",
	[API_FIELD_ORIGIN] = "Origin",
	[API_FIELD_PREFER] = "Prefer",
	[API_FIELD_SEC_FETCH_SITE] = "Sec-Fetch-Site",
};

static int hex_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes %xx. An invalid escape stays as it is, and so does %00, which would end the text. */
static void decode(char *s, bool plus_is_space)
{
	char *to = s;

	for (; *s; s++) {
		const int high = *s == '%' ? hex_of(s[1]) : -1;
		const int low = high >= 0 ? hex_of(s[2]) : -1;

		if (low >= 0 && high + low > 0) {
			*to++ = (char)(high * 16 + low);
			s += 2;
		} else {
			*to++ = plus_is_space && *s == '+' ? ' ' : *s;
		}
	}
	*to = '\0';
}

/* Returns whether a list of words, separated by commas, has the word. */
static bool list_has(const char *list, const char *word)
{
	const size_t len = strlen(word);

	for (const char *s = list; s && *s;) {
		size_t n;

		s += strspn(s, " \t,");
		n = strcspn(s, " \t,");
		if (n == len && strncasecmp(s, word, len) == 0)
			return true;
		s += n;
	}
	return false;
}

/* If a header occurs twice, the first value counts. For Connection, the words of all values
 * count. */
static void split_field(char *line, struct api_head *h)
{
	char *value = strchr(line, ':'), *end;

	*value++ = '\0';
	value += strspn(value, " \t");
	for (end = value + strlen(value); end > value && (end[-1] == ' ' || end[-1] == '\t'); end--)
		;
	*end = '\0';
	if (strcasecmp(line, field_names[API_FIELD_CONNECTION]) == 0) {
		h->closes |= list_has(value, "close");
		h->keeps |= list_has(value, "keep-alive");
	}
	for (size_t i = 0; i < API_FIELD_MAX; i++)
		if (!h->fields[i] && strcasecmp(line, field_names[i]) == 0) {
			h->fields[i] = value;
			return;
		}
}

void api_head_split(char *head, size_t len, struct api_head *ret)
{
	static char none[] = "";
	char *line = head, *end = head + len - 2, *path, *version;

	*ret = (struct api_head){.method = head, .query = none};
	for (char *next; line < end; line = next) {
		char *cr = memchr(line, '\r', (size_t)(end - line));

		*cr = '\0';
		next = cr + 2;
		if (line != head)
			split_field(line, ret);
	}
	path = strchr(head, ' ');
	*path++ = '\0';
	version = strchr(path, ' ');
	*version++ = '\0';
	ret->path = path;
	path = strchr(path, '?');
	if (path) {
		*path++ = '\0';
		ret->query = path;
	}
	decode((char *)(uintptr_t)ret->path, false);
	if (ret->fields[API_FIELD_CONTENT_LENGTH])
		ret->body_len = strtoul(ret->fields[API_FIELD_CONTENT_LENGTH], NULL, 10);
	ret->is_old = version[7] == '0';
	ret->expects_continue = !ret->is_old && ret->fields[API_FIELD_EXPECT];
	ret->keeps = !ret->closes && (ret->keeps || !ret->is_old);
}

const char *api_head_next_argument(char **query, const char **ret_value)
{
	char *name = *query, *value;

	if (!*name)
		return NULL;
	*query = name + strcspn(name, "&");
	if (**query)
		*(*query)++ = '\0';
	value = strchr(name, '=');
	*ret_value = "";
	if (value) {
		*value++ = '\0';
		decode(value, true);
		*ret_value = value;
	}
	decode(name, true);
	return name;
}
