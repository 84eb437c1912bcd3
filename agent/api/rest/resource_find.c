/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds rows of the table of operations by path, message and command, and prints the manual's list
 * of routes; see resource.h. */
#include "agent/api/rest/resource.h"
#include "netcfg/base/file.h"

#include <stdio.h>
#include <string.h>

enum access_role resource_role(const struct resource *row)
{
	if (row->role != ACCESS_NONE)
		return row->role;
	return strcmp(row->method, "GET") == 0 ? ACCESS_VIEW : ACCESS_ADMIN;
}

enum access_role resource_role_of(const struct privsep_msg *m)
{
	/* A stream has the same events as PRIVSEP_GET_EVENTS in another format, so it has the same
	 * row. */
	const uint32_t type = m->type == PRIVSEP_STREAM ? PRIVSEP_GET_EVENTS : m->type;

	if (m->type == PRIVSEP_CAPTURE && m->capture.act == PRIVSEP_CAPTURE_BEGIN &&
	    m->capture.keys)
		return ACCESS_ADMIN;
	for (size_t i = 0; i < RESOURCE_MAX; i++)
		if (!resources[i].local && resources[i].type == type)
			return resource_role(&resources[i]);
	return ACCESS_ADMIN;
}

/* Returns whether a row without a name has the path, such as /v1/workers/stop, which is then not
 * the path of a worker. */
static bool is_whole_path(const char *path)
{
	for (size_t i = 0; i < RESOURCE_MAX; i++)
		if (!resources[i].name && strcmp(resources[i].path, path) == 0)
			return true;
	return false;
}

bool resource_has_path(const struct resource *row, const char *path)
{
	const size_t len = strlen(row->path);
	const char *slash;

	if (!row->name)
		return strcmp(row->path, path) == 0;
	if (strncmp(row->path, path, len) != 0 || is_whole_path(path))
		return false;
	slash = strchr(path + len, '/');
	return row->suffix ? slash && strcmp(slash, row->suffix) == 0 : !slash;
}

const char *resource_media_type(enum privsep_content content)
{
	static const char *const types[PRIVSEP_CONTENT_MAX] = {
		[PRIVSEP_JSON] = "application/json",
		[PRIVSEP_YAML] = "application/yaml",
		[PRIVSEP_PLAIN] = "text/plain; version=0.0.4",
		[PRIVSEP_PCAPNG] = "application/x-pcapng",
	};

	return types[content];
}

const struct resource_command *resource_find_command(const char *words)
{
	for (size_t i = 0; i < RESOURCE_MAX; i++)
		for (size_t j = 0; resources[i].commands[j].words; j++)
			if (strcmp(resources[i].commands[j].words, words) == 0)
				return &resources[i].commands[j];
	return NULL;
}

char *resource_man_table(void)
{
	static const char *const versions[] = {
		[RESOURCE_VERSION_NONE] = "",
		[RESOURCE_VERSION_OPTIONAL] = " optional",
		[RESOURCE_VERSION_REQUIRED] = " required",
	};
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (size_t i = 0; i < RESOURCE_MAX; i++)
		fprintf(f, ".It %s Ta %s%s%s Ta %s Ta %s Ta%s\n", resources[i].method,
			resources[i].path, resources[i].name_shown ? resources[i].name_shown : "",
			resources[i].suffix ? resources[i].suffix : "", resources[i].purpose,
			access_role_to_string(resource_role(&resources[i])),
			versions[resources[i].version]);
	return file_text_end(f, &text, 0);
}
