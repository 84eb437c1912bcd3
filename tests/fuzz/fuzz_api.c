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

/* The head is split as a connection splits it. */
static void check_request(char *text, size_t len, const char *body, size_t body_len)
{
	struct api_head head;
	struct api_request rq = {.body = body, .body_len = body_len};
	struct api_error e = {0};
	const char *query = NULL, *value;
	struct privsep_msg m;
	unsigned wait_s;

	api_head_split(text, len, &head);
	CHECK(head.method[0] && head.path[0] == '/' && head.body_len <= PRIVSEP_TEXT_MAX);
	CHECK(!head.is_old || !head.expects_continue);
	for (size_t i = 0; i < API_FIELD_MAX; i++)
		CHECK(!head.fields[i] || (head.fields[i] > text && head.fields[i] < text + len));
	rq.method = head.method;
	while ((rq.unknown = api_head_next_argument(&head.query, &value)))
		query = value;
	if (query) {
		rq.since = rq.wait = rq.instance = query;
		rq.severity = rq.from = rq.until = rq.source = rq.limit = query;
	}
	rq.path = head.path;
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
		char *head = malloc((size_t)good); /* lets the sanitizer see a read past the end */

		CHECK(head);
		memcpy(head, text, (size_t)good);
		check_request(head, (size_t)good, text + good, size - (size_t)good);
		free(head);
	}
	check_message(data, size);
	return 0;
}
