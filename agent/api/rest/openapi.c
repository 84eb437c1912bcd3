/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the documents that describe the REST API to programs: parameters, If-Match and the body of
 * an operation as api_route.c checks them. jansson returns NULL if it cannot make a member, and
 * also if it gets NULL as a member, so a single check at the end is enough.
 */
#include "agent/api/rest/openapi.h"
#include "agent/api/rest/answer.h"
#include "agent/api/rest/api_list.h"
#include "agent/api/rest/api_route.h"
#include "agent/api/rest/problem.h"
#include "netcfg/host/inventory.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- parameters ---- */

static json_t *integer(uint64_t min, uint64_t max)
{
	return json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum", (json_int_t)min,
			 "maximum", (json_int_t)MIN_OF(max, (uint64_t)INT64_MAX));
}

static json_t *text(size_t bytes)
{
	return json_pack("{s:s, s:I}", "type", "string", "maxLength", (json_int_t)bytes);
}

static json_t *parameter(const char *name, const char *in, bool required, const char *description,
			 json_t *schema)
{
	return json_pack("{s:s, s:s, s:b, s:s, s:o}", "name", name, "in", in, "required", required,
			 "description", description, "schema", schema);
}

static json_t *name_schema(const struct resource *row)
{
	switch (row->name) {
	case RESOURCE_NAME_NUMBER:
		return integer(1, UINT32_MAX);
	case RESOURCE_NAME_HEX:
		return json_pack("{s:s, s:s}", "type", "string", "pattern", "^[0-9a-f]{1,16}$");
	default:
		return text(PLENUM_NAME_MAX - 1);
	}
}

/* Adds the parameters that select events and that wait for new ones. */
static void add_filters(json_t *parameters)
{
	static const char when[] = "how long ago, such as 2h, or a time such as 2026-11-27T22:00";
	const struct {
		const char *name, *description;
		json_t *schema;
	} filters[] = {
		{"since", "events from this number on", integer(0, INT64_MAX)},
		{"wait", "seconds to wait for an event if there is none",
		 integer(0, API_WAIT_S_MAX)},
		{"instance", "the instance of the answer that `since` is from",
		 json_pack("{s:s, s:s}", "type", "string", "pattern", "^[0-9a-f]{1,16}$")},
		{"severity", "only events that are at least this severe",
		 json_pack("{s:s, s:[s,s,s,s]}", "type", "string", "enum", "error", "warning",
			   "notice", "info")},
		{"from", when, text(64)},
		{"until", when, text(64)},
		{"source", "only events of this source",
		 text(sizeof(((struct privsep_get_events *)NULL)->source) - 1)},
		{"limit", "only the latest events, at most this many",
		 integer(1, PRIVSEP_EVENTS_MAX)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(filters); i++)
		json_array_append_new(parameters,
				      parameter(filters[i].name, "query", false,
						filters[i].description, filters[i].schema));
}

/* Adds the parameters for pages. In an answer, the header Link has the parameters of the next
 * page. */
static void add_page(const struct resource *row, json_t *parameters)
{
	char after[128];

	snprintf(after, sizeof(after), "begin after the member of `%s` with this %s", row->list,
		 row->key);
	json_array_append_new(parameters,
			      parameter("limit", "query", false,
					"members per page, sorted by key; Link names the next page",
					integer(1, API_LIST_LIMIT_MAX)));
	json_array_append_new(parameters, parameter("after", "query", false, after,
						    row->key_type == RESOURCE_NAME_NUMBER
							    ? integer(0, INT64_MAX)
							    : text(API_LIST_KEY_MAX - 1)));
}

static json_t *parameters_of(const struct resource *row)
{
	json_t *list = json_array();

	if (row->name)
		json_array_append_new(list, parameter(row->name_shown, "path", true, "which one",
						      name_schema(row)));
	if (row->version != RESOURCE_VERSION_NONE)
		json_array_append_new(list,
				      parameter("If-Match", "header",
						row->version == RESOURCE_VERSION_REQUIRED,
						"the ETag of an earlier answer, or *",
						json_pack("{s:s, s:s}", "type", "string", "pattern",
							  "^(\\*|\"[0-9a-f]{16}\")$")));
	if (row->waits)
		add_filters(list);
	if (row->list)
		add_page(row, list);
	if (row->async)
		json_array_append_new(list, parameter("Prefer", "header", false,
						      "respond-async: do not wait for the end",
						      json_pack("{s:s}", "type", "string")));
	if (row->streams)
		json_array_append_new(
			list, parameter("Last-Event-ID", "header", false,
					"for a stream only: the id of the last event received",
					json_pack("{s:s, s:s}", "type", "string", "pattern",
						  "^[0-9a-f]{16}-[0-9]+$")));
	return list;
}

/* ---- bodies ---- */

static json_t *choices(const struct resource_field *f)
{
	json_t *list = json_array();

	for (size_t i = 0; f->choices[i]; i++)
		json_array_append_new(list, json_string(f->choices[i]));
	return json_pack("{s:s, s:o}", "type", "string", "enum", list);
}

static json_t *field_schema(const struct resource_field *f)
{
	json_t *item;

	switch (f->type) {
	case RESOURCE_NUMBER:
		return integer(f->min, f->max);
	case RESOURCE_BOOLEAN:
		return json_pack("{s:s}", "type", "boolean");
	case RESOURCE_CHOICE:
		return choices(f);
	case RESOURCE_LIST:
		item = f->only ? json_pack("{s:s, s:[s]}", "type", "string", "enum", f->only)
			       : text(f->size / PRIVSEP_FORCES_MAX - 1);
		return json_pack("{s:s, s:i, s:o}", "type", "array", "maxItems", PRIVSEP_FORCES_MAX,
				 "items", item);
	case RESOURCE_TEXT:
		break;
	}
	return text(f->size - 1);
}

static json_t *fields_schema(const struct resource *row)
{
	json_t *properties = json_object(), *required = json_array(), *one_of = json_array();
	json_t *schema = json_pack("{s:s, s:b, s:O}", "type", "object", "additionalProperties", 0,
				   "properties", properties);

	for (size_t i = 0; i < row->n_fields; i++) {
		const struct resource_field *f = &row->fields[i];

		json_object_set_new(properties, f->name, field_schema(f));
		if (f->required)
			json_array_append_new(required, json_string(f->name));
		if (f->one_of)
			json_array_append_new(one_of, json_pack("{s:[s]}", "required", f->name));
	}
	if (json_array_size(required) > 0)
		json_object_set(schema, "required", required);
	if (json_array_size(one_of) > 0)
		json_object_set(schema, "anyOf", one_of);
	json_decref(properties);
	json_decref(required);
	json_decref(one_of);
	return schema;
}

/* Returns the description of the operation's body, or NULL if the operation has none. */
static json_t *body_of(const struct resource *row)
{
	switch (row->body) {
	case RESOURCE_BODY_FIELDS:
		return json_pack("{s:{s:{s:o}}}", "content", "application/json", "schema",
				 fields_schema(row));
	case RESOURCE_BODY_LEG:
		return json_pack("{s:b, s:s, s:{s:{s:{s:s, s:i}}}}", "required", 1, "description",
				 "keys of an entry of net, see plenum.yaml(5)", "content",
				 "application/json", "schema", "type", "object", "minProperties",
				 1);
	case RESOURCE_BODY_YAML:
		return json_pack("{s:b, s:s, s:{s:{s:{s:s}}}}", "required", 1, "description",
				 "a whole configuration, see plenum.yaml(5)", "content",
				 "application/yaml", "schema", "type", "string");
	case RESOURCE_BODY_IGNORED:
	case RESOURCE_BODY_NONE:
		break;
	}
	return NULL;
}

/* ---- answers ---- */

static json_t *object_schema(const struct answer_member *members);

static json_t *value_schema(const struct answer_member *m)
{
	static const char *const types[] = {[ANSWER_TEXT] = "string",
					    [ANSWER_INTEGER] = "integer",
					    [ANSWER_NUMBER] = "number",
					    [ANSWER_BOOLEAN] = "boolean"};

	if (m->type == ANSWER_VALUE)
		return json_object();
	return m->type == ANSWER_OBJECT ? object_schema(m->of)
					: json_pack("{s:s}", "type", types[m->type]);
}

static json_t *member_schema(const struct answer_member *m)
{
	json_t *schema = value_schema(m);

	if (m->is_list)
		schema = json_pack("{s:s, s:o}", "type", "array", "items", schema);
	if (m->may_be_null)
		json_object_set_new(schema, "type",
				    json_pack("[O,s]", json_object_get(schema, "type"), "null"));
	return schema;
}

/* Other members are allowed, because later versions may add some to an answer. */
static json_t *object_schema(const struct answer_member *members)
{
	json_t *schema = json_pack("{s:s}", "type", "object");
	json_t *properties = json_object(), *required = json_array();

	for (const struct answer_member *m = members; m && m->name; m++) {
		json_object_set_new(properties, m->name, member_schema(m));
		if (!m->may_lack)
			json_array_append_new(required, json_string(m->name));
	}
	if (members)
		json_object_set(schema, "properties", properties);
	if (json_array_size(required) > 0)
		json_object_set(schema, "required", required);
	json_decref(properties);
	json_decref(required);
	return schema;
}

static json_t *answer_schema(const struct resource *row)
{
	autofree char *text = row == &resources[RESOURCE_INVENTORY] ? inv_json_schema() : NULL;

	return text ? json_loads(text, 0, NULL)
		    : object_schema(answer_of((enum resource_id)(row - resources)));
}

static json_t *success(const struct resource *row, const char *description)
{
	json_t *schema = row->content == PRIVSEP_JSON ? answer_schema(row)
						      : json_pack("{s:s}", "type", "string");

	json_t *o = json_pack("{s:s, s:{s:{s:o}}}", "description", description, "content",
			      resource_media_type(row->content), "schema", schema);

	if (row->success == 201)
		json_object_set_new(o, "headers",
				    json_pack("{s:{s:s, s:b, s:{s:s}}}", "Location", "description",
					      "path of what was created", "required", 1, "schema",
					      "type", "string"));
	if (row->as_json)
		json_object_set_new(
			json_object_get(o, "content"), resource_media_type(PRIVSEP_JSON),
			json_pack("{s:o}", "schema",
				  object_schema(answer_of((enum resource_id)(row - resources)))));
	if (row->streams)
		json_object_set_new(json_object_get(o, "content"), RESOURCE_STREAM_TYPE,
				    json_pack("{s:{s:s}}", "schema", "type", "string"));
	return o;
}

static json_t *responses_of(const struct resource *row)
{
	json_t *all = json_pack("{s:{s:s}}", "default", "$ref", "#/components/responses/Problem");
	char status[12];

	snprintf(status, sizeof(status), "%u", row->success ? row->success : 200);
	json_object_set_new(all, status, success(row, row->purpose));
	if (row->async)
		json_object_set_new(all, "202",
				    success(&resources[RESOURCE_OPERATION],
					    "with Prefer: respond-async: the operation, whose "
					    "path is in Location"));
	if (row->continues)
		json_object_set_new(all, "202", success(row, "not ended yet: repeat the request"));
	if (strcmp(row->path, "/") == 0)
		json_object_set_new(
			all, "303",
			json_pack("{s:s}", "description", "a browser is sent to the web page"));
	if (strcmp(row->method, "GET") == 0)
		json_object_set_new(all, "304",
				    json_pack("{s:s}", "description",
					      "the content has the ETag in If-None-Match"));
	return all;
}

static json_t *problem_schema(void)
{
	return json_pack("{s:s, s:[s,s,s,s,s], s:{s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s, "
			 "s:{s:s}}, s:{s:s, s:s, s:{s:s}}}}",
			 "type", "object", "required", "title", "status", "detail", "code",
			 "details", "properties", "title", "type", "string", "status", "type",
			 "integer", "detail", "type", "string", "code", "type", "string", "details",
			 "type", "array", "items", "type", "string", "users", "description",
			 "with the code in-use: the processes that use the mounts", "type", "array",
			 "items", "type", "object");
}

static json_t *components(void)
{
	return json_pack("{s:{s:o}, s:{s:{s:s, s:{s:{s:{s:s}}}}}}", "schemas", "Problem",
			 problem_schema(), "responses", "Problem", "description",
			 "an error, as in RFC 9457", "content", PROBLEM_TYPE, "schema", "$ref",
			 "#/components/schemas/Problem");
}

/* ---- operations ---- */

/* Writes the path in the form of OpenAPI, such as /v1/net/{name}. */
static const char *path_shown(const struct resource *row, char *buf, size_t size)
{
	if (row->name)
		snprintf(buf, size, "%s{%s}%s", row->path, row->name_shown,
			 row->suffix ? row->suffix : "");
	else
		snprintf(buf, size, "%s", row->path);
	return buf;
}

/* Makes a name for generated code, such as "get-v1-net-name". */
static json_t *operation_id(const struct resource *row)
{
	char path[80], whole[96], id[96];
	size_t len = 0;

	snprintf(whole, sizeof(whole), "%s%s", row->method, path_shown(row, path, sizeof(path)));
	for (const char *c = whole; *c; c++)
		if (isalnum((unsigned char)*c))
			id[len++] = (char)tolower((unsigned char)*c);
		else if (isalnum((unsigned char)c[1]))
			id[len++] = '-';
	id[len] = '\0';
	return json_string(id);
}

static json_t *operation(const struct resource *row)
{
	json_t *body = body_of(row);
	json_t *o =
		json_pack("{s:o, s:s, s:s, s:o, s:o}", "operationId", operation_id(row), "summary",
			  row->purpose, "x-plenum-role", access_role_to_string(resource_role(row)),
			  "parameters", parameters_of(row), "responses", responses_of(row));

	if (body)
		json_object_set_new(o, "requestBody", body);
	return o;
}

static json_t *paths(void)
{
	json_t *all = json_object();

	for (size_t i = 0; i < RESOURCE_MAX; i++) {
		char path[80], method[8];
		json_t *item;

		path_shown(&resources[i], path, sizeof(path));
		item = json_object_get(all, path);
		if (!item && json_object_set_new(all, path, item = json_object()) < 0)
			continue;
		snprintf(method, sizeof(method), "%s", resources[i].method);
		for (char *c = method; *c; c++)
			*c = (char)tolower((unsigned char)*c);
		json_object_set_new(item, method, operation(&resources[i]));
	}
	return all;
}

static json_t *description(void)
{
	return json_pack("{s:s, s:{s:s, s:s, s:s}, s:[{s:s, s:s}], s:o, s:o}", "openapi", "3.1.0",
			 "info", "title", "Plenum", "version", PLENUM_VERSION, "description",
			 "The agent of one host. Reading needs the socket plenumd.sock, changes "
			 "need plenumd-admin.sock; over the network both need a token with the "
			 "role x-plenum-role. plenum-api(7) explains each operation.",
			 "servers", "url", "/", "description",
			 "the unix sockets in /run/plenum, by any host name without a dot", "paths",
			 paths(), "components", components());
}

static json_t *list_of_operations(enum access_role role)
{
	json_t *list = json_array();

	for (size_t i = 0; i < RESOURCE_MAX; i++) {
		char path[80];

		json_array_append_new(
			list, json_pack("{s:s, s:s, s:s, s:s, s:s}", "method", resources[i].method,
					"path", path_shown(&resources[i], path, sizeof(path)),
					"purpose", resources[i].purpose, "role",
					access_role_to_string(resource_role(&resources[i])),
					"content", resource_media_type(resources[i].content)));
	}
	return json_pack("{s:s, s:o}", "role", access_role_to_string(role), "operations", list);
}

static json_t *root(void)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", "plenum", "version", PLENUM_VERSION,
			 "operations", "/v1", "description", "/openapi.json", "manual",
			 "plenum-api(7)");
}

char *openapi_document(enum resource_local local, enum access_role role)
{
	json_t *o = local == RESOURCE_LOCAL_ROOT    ? root()
		    : local == RESOURCE_LOCAL_INDEX ? list_of_operations(role)
						    : description();
	char *document = json_dumps(o, JSON_COMPACT | JSON_PRESERVE_ORDER);

	json_decref(o);
	return document;
}
