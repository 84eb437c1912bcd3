/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the answer of a request: a reply of the monitor, a document that this process makes, or an
 * error. api_send.c sends it. */
#include "agent/api/api_internal.h"
#include "agent/api/rest/openapi.h"
#include "agent/api/rest/problem.h"
#include "netcfg/base/hash.h"
#include "netcfg/base/os/memfd.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Enough for all header lines; Link is the longest of them. */
#define HEAD_BYTES_MAX (API_LIST_LINK_MAX + PRIVSEP_LOCATION_MAX + 1024)

bool api_call_is_change(const struct api_call *c)
{
	return privsep_is_change((enum privsep_type)c->question.type);
}

struct head { /* header lines that are being made */
	char text[HEAD_BYTES_MAX];
	size_t len;
};

static void add(struct head *h, const char *fmt, ...) PLENUM_PRINTF(2, 3);
static void add(struct head *h, const char *fmt, ...)
{
	const size_t room = sizeof(h->text) - h->len;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(h->text + h->len, room, fmt, ap);
	va_end(ap);
	h->len += n < 0 ? 0 : MIN_OF((size_t)n, room - 1);
}

/* Returns the value of the header Date. */
static const char *date_now(void)
{
	static char text[40];
	static time_t of;
	const time_t now = time(NULL);
	struct tm tm;

	if (now != of && gmtime_r(&now, &tm))
		strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	of = now;
	return text;
}

/* Decides whether the connection carries another request after this answer. A change ends the
 * connection, so that a compromised process cannot make further changes in this client's name
 * (privsep.h). A body that was not read also ends the connection, because its bytes would be read
 * as the next request. */
static bool is_last(const struct api_call *c)
{
	const struct api_client *cl = c->client;

	return cl->closing || !c->head.keeps || cl->barred || cl->n_requests >= API_REQUESTS_MAX ||
	       c->body_len < c->head.body_len || api_call_is_change(c);
}

/* body_len SIZE_MAX: the answer has no length, and ends when the connection is closed. */
static void add_headers(struct head *h, struct api_call *c, unsigned status, const char *type,
			const char *allow, size_t body_len)
{
	struct api_client *cl = c->client;

	add(h, "HTTP/1.1 %u %s\r\nDate: %s\r\n", status, problem_title(status), date_now());
	if (type)
		add(h, "Content-Type: %s\r\n", type);
	if (body_len != SIZE_MAX && status != 204 && status != 304)
		add(h, "Content-Length: %zu\r\n", body_len);
	/* A cache must ask again each time. With the ETag it gets 304 if nothing has changed. */
	add(h, "Cache-Control: no-cache\r\n");
	if (c->reply.etag)
		add(h, "ETag: \"%016llx\"\r\n", (unsigned long long)c->reply.etag);
	if (allow)
		add(h, "Allow: %s\r\n", allow);
	if (status == 401)
		add(h, "WWW-Authenticate: Bearer realm=\"plenum\"%s\r\n",
		    c->has_token ? ", error=\"invalid_token\"" : "");
	if (c->reply.location[0])
		add(h, "Location: %s\r\n", c->reply.location);
	if (c->link[0])
		add(h, "Link: %s\r\n", c->link);
	cl->closing = is_last(c) || body_len == SIZE_MAX;
	if (cl->closing)
		add(h, "Connection: close\r\n");
	else if (c->head.is_old)
		add(h, "Connection: keep-alive\r\n");
}

/* more: further header lines, each with its CR LF. */
static int answer(struct api_call *c, unsigned status, const char *type, const char *allow,
		  const char *more, struct api_text *text, const char *body, size_t len)
{
	const bool has_body = !c->head_only && len != SIZE_MAX;
	struct head h;
	char *copy;

	h.len = 0;
	add_headers(&h, c, status, type, allow, len);
	add(&h, "%s\r\n", more);
	copy = strdup(h.text);
	if (!copy)
		return -ENOMEM;
	c->stage = API_ANSWERED;
	api_send_begin(c->client, copy, has_body ? text : NULL, body, has_body ? len : 0);
	return 0;
}

int api_answer_text(struct api_call *c, unsigned status, const char *type, struct api_text *text)
{
	return text ? answer(c, status, type, NULL, "", text, text->text, text->len) : -ENOMEM;
}

int api_answer_static(struct api_call *c, unsigned status, const char *type, const char *headers,
		      const char *body, size_t len)
{
	return answer(c, status, type, NULL, headers, NULL, body, len);
}

int api_answer_stream(struct api_call *c, const char *type)
{
	return answer(c, 200, type, NULL, "", NULL, "", SIZE_MAX);
}

int api_answer_empty(struct api_call *c, unsigned status, const char *type, const char *allow)
{
	return answer(c, status, type, allow, "", NULL, "", 0);
}

/* Answers with a text on the heap, which this takes; NULL: out of memory. */
static int answer_heap(struct api_call *c, unsigned status, const char *type, const char *allow,
		       char *text, size_t len)
{
	struct api_text *t = text ? api_text_new(text, len) : NULL;
	int r = t ? answer(c, status, type, allow, "", t, t->text, t->len) : -ENOMEM;

	api_text_unref(t);
	return r;
}

int api_answer_error(struct api_call *c)
{
	char *text = api_error_to_json(&c->error);

	return answer_heap(c, c->error.http_status, PROBLEM_TYPE,
			   *c->error.allow ? c->error.allow : NULL, text, text ? strlen(text) : 0);
}

uint64_t api_answer_hash(const char *text, size_t len)
{
	const uint64_t key[2] = {0};

	return MAX_OF(hash_keyed(key, text, len), 1);
}

bool api_answer_is_known(const struct api_call *c, uint64_t etag)
{
	const char *known = c->head.fields[API_FIELD_IF_NONE_MATCH];
	char text[24];

	snprintf(text, sizeof(text), "\"%016llx\"", (unsigned long long)etag);
	return known && etag && (strcmp(known, "*") == 0 || strstr(known, text));
}

int api_answer_page(struct api_call *c, const char *text, size_t len, uint64_t etag)
{
	char *page = NULL;
	int r = api_list_cut(&c->list, text, len, &page, c->link);

	if (r == -ENOMEM)
		return api_answer_refuse(c, 503, "busy", "out of memory for the answer");
	if (r < 0)
		return api_answer_refuse(c, 500, "failed", "the answer has no list");
	len = strlen(page);
	c->reply.etag = etag ? etag : api_answer_hash(page, len);
	if (!etag && api_answer_is_known(c, c->reply.etag)) {
		free(page);
		return api_answer_empty(c, 304, NULL, NULL);
	}
	return answer_heap(c, 200, resource_media_type(PRIVSEP_JSON), NULL, page, len);
}

/*
 * Answers with the monitor's reply. If the object has no version, the ETag is a hash of the
 * content. The status 304 is not used for objects with a version, a leg or the staged
 * configuration: their answers also have state that the version does not cover.
 */
int api_answer_reply(struct api_call *c)
{
	const bool is_error = c->reply.http_status >= 400;
	const char *type = is_error && c->reply.content == PRIVSEP_JSON
				   ? PROBLEM_TYPE
				   : resource_media_type(c->reply.content);

	char *text = NULL;
	int r;

	if (privsep_read_memfd(c->reply_fd, c->reply.len, &text) < 0)
		return api_answer_refuse(c, 503, "busy", "out of memory for the answer");
	if (c->reply.http_status == 200 && c->list.row) {
		r = api_answer_page(c, text, c->reply.len, c->reply.etag);
		free(text);
		return r;
	}
	if (c->reply.http_status == 200 && !api_call_is_change(c) && !c->reply.etag) {
		c->reply.etag = api_answer_hash(text, c->reply.len);
		if (api_answer_is_known(c, c->reply.etag)) {
			free(text);
			return api_answer_empty(c, 304, NULL, NULL);
		}
	}
	return answer_heap(c, c->reply.http_status, type, NULL, text, c->reply.len);
}

int api_answer_refuse(struct api_call *c, unsigned status, const char *code, const char *text)
{
	c->error = (struct api_error){.http_status = status, .code = code};
	snprintf(c->error.message, sizeof(c->error.message), "%s", text);
	return api_answer_error(c);
}

/* Returns the rights of the client as a role. The role of a client of this host depends on the
 * process: `admin` serves clients that may make changes, and `api` serves clients that may only
 * read. */
static enum access_role role_of(const struct api_call *c)
{
	switch (c->client->api->role) {
	case PRIVSEP_API_TLS:
		return c->role;
	case PRIVSEP_ADMIN:
		return ACCESS_ADMIN;
	default:
		return c->client->barred ? ACCESS_NONE : ACCESS_VIEW;
	}
}

int api_answer_local(struct api_call *c, enum resource_local local)
{
	char *text = openapi_document(local, role_of(c));
	const size_t len = text ? strlen(text) : 0;

	if (!text)
		return api_answer_refuse(c, 503, "busy", "out of memory for the answer");
	c->reply.etag = api_answer_hash(text, len);
	if (api_answer_is_known(c, c->reply.etag)) {
		free(text);
		return api_answer_empty(c, 304, NULL, NULL);
	}
	return answer_heap(c, 200, resource_media_type(PRIVSEP_JSON), NULL, text, len);
}
