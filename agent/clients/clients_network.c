/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles logins and refusals of network clients. network.c reads the files and opens the
 * socket. */
#include "agent/clients/clients_internal.h"
#include <stdio.h>
#include <string.h>

/* Returns whether the client is a network client that has not shown a valid token. */
bool clients_is_nameless(const struct client *cl)
{
	return cl->role == PRIVSEP_API_TLS && cl->access == ACCESS_NONE;
}

void clients_note_refusal(struct clients *c, const struct client *cl, const char *what)
{
	char by[REQUESTER_MAX], more[48] = "";
	unsigned others;

	if (!limits_report(&c->network.limits, &cl->peer.key, clock_now_ns(), &others))
		return;
	if (others > 0)
		snprintf(more, sizeof(more), " (and %u refusals before)", others);
	events_add(c->setup.events, LOG_LEVEL_WARNING, "api-tls", "refused %s: %s%s",
		   clients_describe(cl, by, sizeof(by)), what, more);
}

/* Adds events that count the refusals which got no event. */
void clients_report_refusals(struct clients *c)
{
	char buf[IP_ADDR_STR_MAX];
	struct ip_addr key;
	unsigned others;

	while (limits_next_unreported(&c->network.limits, clock_now_ns(), &key, &others))
		events_add(c->setup.events, LOG_LEVEL_WARNING, "api-tls",
			   "refused %u more requests of %s%s", others,
			   ip_addr_format(&key, buf, sizeof(buf)),
			   key.family == AF_INET6 ? "/64" : "");
}

/* Decides which role the client has. The api-tls process passes only the hash of the token that the
 * client showed. */
const char *clients_take_login(struct clients *c, struct client *cl, const struct privsep_msg *m)
{
	struct privsep_msg answer = {.type = PRIVSEP_ROLE, .connection = cl->id};
	const struct access_entry *e =
		m->login.has_token ? access_find(&c->network.access, m->login.hash) : NULL;

	if (cl->state != CLIENT_NEW)
		return "login after the request";
	cl->access = e ? e->role : ACCESS_NONE;
	snprintf(cl->name, sizeof(cl->name), "%s", e ? e->name : "");
	memcpy(cl->hash, m->login.hash, sizeof(cl->hash));
	answer.role_of.role = cl->access;
	if (e) {
		c->network.has_logins = true;
	} else {
		clients_note_refusal(c, cl, m->login.has_token ? "wrong token" : "no token");
		if (m->login.has_token)
			answer.role_of.delay_ms =
				(uint32_t)(limits_fail(&c->network.limits, &cl->peer.key,
						       clock_now_ns()) /
					   NSEC_PER_MSEC);
	}
	child_role_send(c->roles[cl->role], &answer, -1);
	return NULL;
}

void clients_offer_files(struct clients *c, struct child_role *r)
{
	struct privsep_msg m = {.type = PRIVSEP_TLS_FILES, .tls_files = c->network.offered.lens};

	if (c->network.offered.fd >= 0)
		child_role_send(r, &m, c->network.offered.fd);
}
