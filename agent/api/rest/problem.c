/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the JSON of error answers, for the monitor and its children. */
#include "agent/api/rest/problem.h"
#include "netcfg/base/base.h"

static const struct {
	unsigned status;
	const char *title;
} titles[] = {
	{200, "OK"},
	{201, "Created"},
	{202, "Accepted"},
	{204, "No Content"},
	{303, "See Other"},
	{304, "Not Modified"},
	{400, "Bad Request"},
	{401, "Unauthorized"},
	{403, "Forbidden"},
	{404, "Not Found"},
	{405, "Method Not Allowed"},
	{406, "Not Acceptable"},
	{409, "Conflict"},
	{412, "Precondition Failed"},
	{413, "Content Too Large"},
	{414, "URI Too Long"},
	{415, "Unsupported Media Type"},
	{417, "Expectation Failed"},
	{421, "Misdirected Request"},
	{422, "Unprocessable Content"},
	{428, "Precondition Required"},
	{429, "Too Many Requests"},
	{431, "Request Header Fields Too Large"},
	{500, "Internal Server Error"},
	{501, "Not Implemented"},
	{503, "Service Unavailable"},
	{504, "Gateway Timeout"},
	{505, "HTTP Version Not Supported"},
};

const char *problem_title(unsigned status)
{
	for (size_t i = 0; i < ARRAY_SIZE(titles); i++)
		if (titles[i].status == status)
			return titles[i].title;
	return "Error";
}

json_t *problem_to_json(unsigned status, const char *code, const char *detail, json_t *details)
{
	return json_pack("{s:s, s:i, s:s, s:s, s:o}", "title", problem_title(status), "status",
			 (int)status, "detail", detail, "code", code, "details",
			 details ? details : json_array());
}
