/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Error answers of the REST API in the form of RFC 9457 (application/problem+json). `title` and
 * `status` are those of HTTP, and `detail` is a sentence for people. This API adds `code` for
 * programs and `details`, a list of lines. `type` is omitted, which means about:blank, because a
 * URL would add nothing to the code.
 */
#ifndef PLENUM_AGENT_API_PROBLEM_H
#define PLENUM_AGENT_API_PROBLEM_H

#include <jansson.h>

#define PROBLEM_TYPE "application/problem+json"

/* Makes the JSON. Becomes the owner of the reference to details, a list of texts, which may be
 * NULL. Returns a new reference, or NULL if memory is short or a text is not UTF-8. */
json_t *problem_to_json(unsigned status, const char *code, const char *detail, json_t *details);
/* Returns HTTP's reason phrase, or "Error" if no answer has that status. */
const char *problem_title(unsigned status);

#endif
