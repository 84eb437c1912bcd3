/* SPDX-License-Identifier: BSD-3-Clause */
/* Media types: whether an answer matches Accept, and a body its Content-Type. */
#include "agent/api/rest/api_route_internal.h"
#include <string.h>
#include <strings.h>

/* Returns whether the media type at `text`, which ends at a comma or the end, is `type`. Parameters
 * are ignored. */
static bool is_type(const char *text, const char *type)
{
	const size_t len = strcspn(type, ";");

	return strncasecmp(text, type, len) == 0 && strchr(" \t;,", text[len]);
}

/* Returns whether the media range of `len` bytes has the quality 0, which excludes it, as in
 * "text/html;q=0.0". */
static bool is_excluded(const char *range, size_t len)
{
	const char *q = memmem(range, len, "q=0", 3);
	size_t digits;

	if (!q)
		return false;
	digits = (size_t)(q - range) + 3 + strspn(q + 3, ".0");
	return digits >= len || strchr(" \t;", range[digits]);
}

/* Returns whether a media range of Accept includes the type. Quality values have no effect, except
 * 0, which excludes a type. exact: the range must name the type, without wildcards. */
static bool range_accepts(const char *range, const char *type, bool exact)
{
	const size_t main_type = strcspn(type, "/") + 1;

	if (is_excluded(range, strcspn(range, ",")))
		return false;
	if (is_type(range, type))
		return true;
	return !exact && (is_type(range, "*/*") ||
			  (strncasecmp(range, type, main_type) == 0 && range[main_type] == '*'));
}

static bool accepts(const char *accept, const char *type, bool exact)
{
	for (;;) {
		accept += strspn(accept, " \t,");
		if (!*accept)
			return false;
		if (range_accepts(accept, type, exact))
			return true;
		accept += strcspn(accept, ",");
	}
}

bool api_prefers_async(const struct api_request *rq)
{
	return rq->prefer && accepts(rq->prefer, "respond-async", true);
}

bool api_wants_stream(const struct resource *row, const struct api_request *rq)
{
	return row->streams && rq->accept && accepts(rq->accept, RESOURCE_STREAM_TYPE, true);
}

bool api_wants_json(const struct resource *row, const struct api_request *rq)
{
	return row->as_json && rq->accept &&
	       accepts(rq->accept, resource_media_type(PRIVSEP_JSON), false) &&
	       (accepts(rq->accept, resource_media_type(PRIVSEP_JSON), true) ||
		!accepts(rq->accept, resource_media_type(row->content), false)) &&
	       !accepts(rq->accept, resource_media_type(row->content), true);
}

int api_check_accept(const struct resource *row, const struct api_request *rq, struct api_error *e)
{
	const char *type = resource_media_type(row->content);

	if (!rq->accept || accepts(rq->accept, type, false) || api_wants_stream(row, rq) ||
	    api_wants_json(row, rq))
		return 0;
	return api_fail(e, 406, "not-acceptable", "%.100s answers with %s%s, which Accept excludes",
			rq->path, type,
			row->streams   ? " or " RESOURCE_STREAM_TYPE
			: row->as_json ? " or application/json"
				       : "");
}

/* Also accepts the content type of a form, because curl -d sends every body with it. */
int api_check_content_type(const struct resource *row, const struct api_request *rq,
			   struct api_error *e)
{
	static const char *const json[] = {"application/json", "application/merge-patch+json",
					   "application/x-www-form-urlencoded", NULL};
	static const char *const yaml[] = {"application/yaml",
					   "application/x-yaml",
					   "text/yaml",
					   "text/x-yaml",
					   "text/plain",
					   "application/json",
					   "application/octet-stream",
					   "application/x-www-form-urlencoded",
					   NULL};
	const bool is_yaml = row->body == RESOURCE_BODY_YAML;

	if (!rq->content_type || rq->body_len == 0)
		return 0;
	for (const char *const *type = is_yaml ? yaml : json; *type; type++)
		if (is_type(rq->content_type, *type))
			return 0;
	return api_fail(e, 415, "media-type", "the body is '%.60s'; send %s", rq->content_type,
			is_yaml ? yaml[0] : json[0]);
}
