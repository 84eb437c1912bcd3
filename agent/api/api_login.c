/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clients of the network show a token with each request. This file hashes the token and asks the
 * monitor, which has the table of tokens, for the client's role. It asks before the body is read,
 * so that a client without a valid token cannot use up memory.
 */
#include "agent/api/api_internal.h"
#include "agent/api/tls/tls_server.h"
#include "agent/page/page.h"
#include <string.h>
#include <strings.h>

#define TOKEN_CHARS_MAX 512

static const char *header(const struct api_call *c, const char *name)
{
	return MHD_lookup_connection_value(c->connection, MHD_HEADER_KIND, name);
}

/* The files of the web page need no token: they are not secret, and the page itself asks for the
 * token. */
bool api_login_is_needed(const struct api *a, const struct api_call *c, const char *url)
{
	const char *accept = header(c, "Accept");

	return a->role == PRIVSEP_API_TLS && !page_find(url) &&
	       !(strcmp(url, "/") == 0 && accept && strstr(accept, "text/html"));
}

/* Returns the token of "Bearer TOKEN" (RFC 6750), or NULL if there is none. */
static const char *token_of(const struct api_call *c)
{
	static const char scheme[] = "bearer ";
	const char *text = header(c, "Authorization");

	if (!text || strncasecmp(text, scheme, sizeof(scheme) - 1) != 0)
		return NULL;
	text += sizeof(scheme) - 1;
	text += strspn(text, " ");
	return *text ? text : NULL;
}

int api_login_ask(struct api_call *c)
{
	struct privsep_msg m = {.type = PRIVSEP_LOGIN, .connection = c->client->id};
	const char *token = token_of(c);
	const size_t len = token ? strlen(token) : 0;

	c->has_token = token;
	/* Hashing only the beginning of a token that is too long does not make the token valid: the
	 * tokens of `plenum token add` are much shorter. */
	if (token && !tls_hash_token(token, MIN_OF(len, TOKEN_CHARS_MAX), m.login.hash))
		return -EIO;
	m.login.has_token = token ? 1 : 0;
	return api_tell(&m, -1);
}

enum MHD_Result api_login_refuse(struct api_call *c)
{
	return api_answer_refuse(
		c, 401, "unauthorized",
		c->has_token ? "the agent does not know this token; after 'plenum token add' run "
			       "'systemctl reload plenumd'"
			     : "a token is needed: send the header 'Authorization: Bearer TOKEN' "
			       "with one that 'plenum token add' made on this host");
}
