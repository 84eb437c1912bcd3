/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Error answers of the REST API in the form of RFC 9457 (application/problem+json): `title` and
 * `status` of HTTP, `detail` for people, and as members of our own `code` for programs and
 * `details`, a list of lines. `type` is left out, which means about:blank: the code says more than
 * a URL could.
 */
#ifndef PLENUM_AGENT_API_PROBLEM_H
#define PLENUM_AGENT_API_PROBLEM_H

#include <jansson.h>

#define PROBLEM_TYPE "application/problem+json"

/* Takes details, a list of texts; NULL: none. A new reference; NULL: out of memory, or a text is
 * not UTF-8. */
json_t *problem_to_json(unsigned status, const char *code, const char *detail, json_t *details);
/* The reason phrase of HTTP; "Error" for a status that no answer has. */
const char *problem_title(unsigned status);

#endif
