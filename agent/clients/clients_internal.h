/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the files that serve clients in the monitor. In order from the lowest: clients_table.c
 * keeps the table of connections. clients_network.c handles the logins of network clients.
 * clients.c keeps the sockets and the children, and handles their messages.
 */
#ifndef PLENUM_AGENT_CLIENTS_INTERNAL_H
#define PLENUM_AGENT_CLIENTS_INTERNAL_H

#include "agent/clients/clients.h"

#define SHARED_READ_IDS 1024 /* lower ids belong to shared reads, see clients_shared_read_id() */

struct listener {
	struct clients *clients;
	enum privsep_role role;	  /* the child that serves the socket's clients */
	const char *path, *group; /* path NULL: a TCP socket */
	mode_t mode;
	dev_t dev; /* identity of the file at path */
	ino_t ino;
	int fd;
	struct loop_source *source; /* NULL: accepting is paused */
};

struct clients {
	struct clients_setup setup;
	struct clients_rights rights;
	struct child_role *roles[PRIVSEP_ROLE_MAX];
	struct listener listeners[PRIVSEP_ROLE_MAX];
	struct client *list; /* clients in order of age, the oldest first */
	struct network network;
	/* The configuration that replaces `network`, if network_changes is set. */
	struct network_config next_network;
	bool network_changes;
	bool network_is_ready; /* the api-tls process has a certificate */
	struct loop_source *timer, *network_timer;
	uint64_t next_event, instance;
};

/* ---- clients_table.c ---- */

struct client *clients_find(const struct clients *c, uint64_t id);
void clients_append(struct clients *c, struct client *cl);
void clients_client_free(struct client *cl);
/* Removes the client from the table and frees it. */
void clients_forget(struct clients *c, struct client *cl);
void clients_forget_all(struct clients *c, enum privsep_role role);
void clients_set_state(struct client *cl, enum client_state state);
void clients_drop(struct clients *c, struct client *cl);
/* Makes a random number that no connection has. */
int clients_new_id(const struct clients *c, uint64_t *ret);
/* Gets the identity of the peer of a Unix socket. */
int clients_peer_of(int fd, struct clients_peer *ret);

/* ---- clients_network.c ---- */

/* Returns whether the client is a network client that has not shown a valid token. */
bool clients_is_nameless(const struct client *cl);
/* Handles a message with a client's token. Returns NULL, or the rule that the message breaks. */
const char *clients_take_login(struct clients *c, struct client *cl, const struct privsep_msg *m);
/* Adds events that count the refusals which got no event. */
void clients_report_refusals(struct clients *c);
/* Sends the certificate to the api-tls process if the certificate has changed. */
void clients_offer_files(struct clients *c, struct child_role *r);

#endif
