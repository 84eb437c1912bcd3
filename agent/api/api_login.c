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

/* The files of the web page need no token: they are not secret, and the page itself asks for the
 * token. */
bool api_login_is_needed(const struct api *a, const struct api_call *c)
{
	const char *accept = c->head.fields[API_FIELD_ACCEPT], *url = c->head.path;

	return a->role == PRIVSEP_API_TLS && !page_find(url) &&
	       !(strcmp(url, "/") == 0 && accept && strstr(accept, "text/html"));
}

/* Returns the token of "Bearer TOKEN" (RFC 6750), or NULL if the text has another form. */
static const char *token_of(const struct api_call *c)
{
	static const char scheme[] = "bearer ";
	const char *text = c->head.fields[API_FIELD_AUTHORIZATION];

	if (!text || strncasecmp(text, scheme, sizeof(scheme) - 1) != 0)
		return NULL;
	text += sizeof(scheme) - 1;
	text += strspn(text, " ");
	return *text ? text : NULL;
}

/* Returns whether the monitor has given this token a role on this connection, and has reported no
 * event or change since then. A change of the tokens is reported. For each change, the monitor
 * checks the client again. */
static bool is_known(const struct api_call *c, const uint8_t *hash)
{
	const struct api_client *cl = c->client;

	return cl->login_role != ACCESS_NONE && cl->login_generation == cl->api->generation &&
	       strcmp(c->head.method, "GET") == 0 &&
	       memcmp(cl->login_hash, hash, sizeof(cl->login_hash)) == 0;
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
	if (is_known(c, m.login.hash)) {
		c->role = c->client->login_role;
		return 1;
	}
	c->client->login_role = ACCESS_NONE;
	memcpy(c->client->login_hash, m.login.hash, sizeof(m.login.hash));
	return api_tell(&m, -1);
}

int api_login_refuse(struct api_call *c)
{
	/* The connection ends, so that the limit of new connections also limits the attempts to
	 * guess a token. */
	c->client->closing = true;
	return api_answer_refuse(
		c, 401, "unauthorized",
		c->has_token ? "the agent does not know this token; after 'plenum token add' run "
			       "'systemctl reload plenumd'"
			     : "a token is needed: send the header 'Authorization: Bearer TOKEN' "
			       "with a token that 'plenum token add' made on this host");
}
