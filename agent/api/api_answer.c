/* SPDX-License-Identifier: BSD-3-Clause */
/* Passes the answer of a request to the HTTP library: a reply of the monitor, a document that this
 * process makes, or an error. */
#include "agent/api/api_internal.h"
#include "agent/api/rest/openapi.h"
#include "agent/api/rest/problem.h"
#include "netcfg/base/hash.h"
#include "netcfg/base/os/memfd.h"
#include <stdio.h>
#include <string.h>

bool api_call_is_change(const struct api_call *c)
{
	return privsep_is_change((enum privsep_type)c->question.type);
}

void api_answer_headers(struct MHD_Response *rsp, const char *type, const char *allow,
			uint64_t etag)
{
	char text[24];

	if (type)
		MHD_add_response_header(rsp, "Content-Type", type);
	/* A cache must ask this server each time. With the ETag it gets the status 304 if nothing
	 * has changed. */
	MHD_add_response_header(rsp, "Cache-Control", "no-cache");
	MHD_add_response_header(rsp, "Connection", "close");
	if (allow)
		MHD_add_response_header(rsp, "Allow", allow);
	snprintf(text, sizeof(text), "\"%016llx\"", (unsigned long long)etag);
	if (etag)
		MHD_add_response_header(rsp, "ETag", text);
}

enum MHD_Result api_answer_queue(struct api_call *c, unsigned status, struct MHD_Response *rsp,
				 const char *type, const char *allow)
{
	enum MHD_Result r;

	if (!rsp)
		return MHD_NO;
	c->stage = API_ANSWERED;
	api_answer_headers(rsp, type, allow, c->reply.etag);
	if (status == 401)
		MHD_add_response_header(rsp, "WWW-Authenticate",
					c->has_token
						? "Bearer realm=\"plenum\", error=\"invalid_token\""
						: "Bearer realm=\"plenum\"");
	if (c->reply.location[0])
		MHD_add_response_header(rsp, "Location", c->reply.location);
	if (c->link[0])
		MHD_add_response_header(rsp, "Link", c->link);
	r = MHD_queue_response(c->connection, status, rsp);
	MHD_destroy_response(rsp);
	return r;
}

enum MHD_Result api_answer_empty(struct api_call *c, unsigned status, const char *type,
				 const char *allow)
{
	return api_answer_queue(c, status,
				MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT),
				type, allow);
}

enum MHD_Result api_answer_error(struct api_call *c)
{
	char *text = api_error_to_json(&c->error);

	c->stage = API_ANSWERED;
	if (!text)
		return MHD_NO;
	return api_answer_queue(
		c, c->error.http_status,
		MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE),
		PROBLEM_TYPE, *c->error.allow ? c->error.allow : NULL);
}

uint64_t api_answer_hash(const char *text, size_t len)
{
	const uint64_t key[2] = {0};

	return MAX_OF(hash_keyed(key, text, len), 1);
}

/* Returns an ETag made from the content of the file, or 0 if the file cannot be read. */
static uint64_t content_hash(int fd, size_t len)
{
	autofree char *text = NULL;

	return privsep_read_memfd(fd, len, &text) < 0 ? 0 : api_answer_hash(text, len);
}

bool api_answer_is_known(const struct api_call *c, uint64_t etag)
{
	const char *known =
		MHD_lookup_connection_value(c->connection, MHD_HEADER_KIND, "If-None-Match");
	char text[24];

	snprintf(text, sizeof(text), "\"%016llx\"", (unsigned long long)etag);
	return known && etag && (strcmp(known, "*") == 0 || strstr(known, text));
}

enum MHD_Result api_answer_page(struct api_call *c, const char *text, size_t len, uint64_t etag)
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
	return api_answer_queue(c, 200,
				MHD_create_response_from_buffer(len, page, MHD_RESPMEM_MUST_FREE),
				resource_media_type(PRIVSEP_JSON), NULL);
}

/*
 * Answers with the monitor's reply. If the object has no version, the ETag is a hash of the
 * content. The status 304 is not used for objects with a version, a leg or the staged
 * configuration: their answers also have state that the version does not cover.
 */
enum MHD_Result api_answer_reply(struct api_call *c)
{
	const bool is_error = c->reply.http_status >= 400;
	const char *type = is_error && c->reply.content == PRIVSEP_JSON
				   ? PROBLEM_TYPE
				   : resource_media_type(c->reply.content);

	if (c->reply.http_status == 200 && c->list.row) {
		autofree char *text = NULL;

		return privsep_read_memfd(c->reply_fd, c->reply.len, &text) < 0
			       ? api_answer_refuse(c, 503, "busy", "out of memory for the answer")
			       : api_answer_page(c, text, c->reply.len, c->reply.etag);
	}
	if (c->reply.http_status == 200 && !api_call_is_change(c) && !c->reply.etag) {
		c->reply.etag = content_hash(c->reply_fd, c->reply.len);
		if (api_answer_is_known(c, c->reply.etag))
			return api_answer_empty(c, 304, NULL, NULL);
	}
	return api_answer_queue(c, c->reply.http_status,
				MHD_create_response_from_fd(c->reply.len, fd_take(c->reply_fd)),
				type, NULL);
}

enum MHD_Result api_answer_refuse(struct api_call *c, unsigned status, const char *code,
				  const char *text)
{
	c->error = (struct api_error){.http_status = status, .code = code};
	snprintf(c->error.message, sizeof(c->error.message), "%s", text);
	return api_answer_error(c);
}

/* Returns the rights of the client as a role. The role of a client of this host depends on the
 * process: `admin` serves clients that may make changes, `api` the others. */
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

enum MHD_Result api_answer_local(struct api_call *c, enum resource_local local)
{
	autofree char *text = openapi_document(local, role_of(c));
	int fd = text ? memfd_new_sealed("plenum-document", text, strlen(text)) : -ENOMEM;

	if (fd < 0)
		return api_answer_refuse(c, 503, "busy", "out of memory for the answer");
	c->reply_fd = fd;
	c->reply = (struct privsep_reply){
		.http_status = 200, .content = PRIVSEP_JSON, .len = strlen(text)};
	return api_answer_reply(c);
}
