/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes everything from a client's bytes to the message to the monitor. A head gets the same
 * verdict however its bytes arrive; a good request becomes one valid message, a bad one a JSON
 * error; a read-only client gets no message that makes a change. The same bytes also serve as a
 * message of a compromised child.
 */
#include "agent/api/api_head.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

#define CHECK(x)                 \
	do {                     \
		if (!(x))        \
			abort(); \
	} while (0)

static void check_error(const struct api_error *e)
{
	char *text = api_error_to_json(e);
	json_t *o = text ? json_loads(text, 0, NULL) : NULL;

	CHECK(e->http_status >= 400 && e->http_status < 600 && e->code && e->message[0]);
	CHECK(json_is_string(json_object_get(o, "detail")));
	json_decref(o);
	free(text);
}

/* The verdict on the first bytes holds when more have arrived. */
static ssize_t check_head(const char *data, size_t size)
{
	struct api_error whole = {0}, part = {0};
	ssize_t good = api_head_check(data, size, &whole);

	for (size_t len = 0; len < size && len < 4096; len += 1 + len / 8) {
		char *exact =
			malloc(len ? len : 1); /* lets the sanitizer see a read past the end */
		ssize_t r;

		CHECK(exact);
		memcpy(exact, data, len);
		r = api_head_check(exact, len, &part);
		CHECK(r <= 0 || r == good);
		CHECK(r >= 0 || good < 0);
		free(exact);
	}
	CHECK(good <= (ssize_t)size);
	if (good < 0)
		check_error(&whole);
	return good;
}

/* Passes the path without the library's decoding: a decoded %xx makes a path like any other. */
static void check_request(char *head, const char *body, size_t body_len)
{
	char *path = strchr(head, ' '), *query, *end;
	struct api_request rq = {.method = head, .body = body, .body_len = body_len};
	struct api_error e = {0};
	struct privsep_msg m;
	unsigned wait_s;

	*path++ = '\0';
	end = strchr(path, ' ');
	*end = '\0';
	query = strchr(path, '?');
	if (query) {
		*query++ = '\0';
		rq.since = rq.wait = rq.instance = query;
		rq.severity = rq.from = rq.until = rq.source = rq.limit = query;
		rq.unknown = strchr(query, '=') ? NULL : query;
	}
	rq.path = path;
	for (int i = 0; i < 3; i++) {
		rq.read_only = i == 1;
		rq.host = rq.origin = rq.fetch_site = i == 1 ? query : NULL;
		if (i == 2) { /* a stream */
			rq.accept = "text/event-stream";
			rq.last_event_id = query;
			rq.wait = rq.from = rq.until = rq.limit = NULL;
		}
		if (api_route(&rq, &m, &wait_s, &e) < 0) {
			check_error(&e);
			continue;
		}
		CHECK(m.type > 0 && m.type < PRIVSEP_TYPE_MAX && wait_s <= API_WAIT_S_MAX);
		CHECK(!rq.read_only || !privsep_is_change((enum privsep_type)m.type));
	}
}

static void check_message(const uint8_t *data, size_t size)
{
	struct privsep_msg m = {0};
	const char *why = NULL;

	memcpy(&m, data, MIN_OF(size, sizeof(m)));
	for (int fd = 0; fd < 2; fd++)
		for (enum privsep_role r = 0; r < PRIVSEP_ROLE_MAX; r++) {
			if (privsep_check(r, &m, size, fd, &why) < 0)
				CHECK(why);
			else
				CHECK(r == PRIVSEP_ADMIN || r == PRIVSEP_API_TLS ||
				      !privsep_is_change((enum privsep_type)m.type));
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	ssize_t good = check_head(text, size);

	if (good > 0) {
		char *head = strndup(text, (size_t)good);

		CHECK(head && strlen(head) == (size_t)good);
		check_request(head, text + good, size - (size_t)good);
		free(head);
	}
	check_message(data, size);
	return 0;
}
