/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the files of the monitor's clients. From the lowest to the highest: clients_table.c has
 * the connections, clients_network.c logins of clients of the network, clients.c the sockets, the
 * children and their messages.
 */
#ifndef PLENUM_AGENT_CLIENTS_INTERNAL_H
#define PLENUM_AGENT_CLIENTS_INTERNAL_H

#include "agent/clients/clients.h"

#define SHARED_READ_IDS 1024 /* the numbers below are those of clients_shared_read_id() */

struct listener {
	struct clients *clients;
	enum privsep_role role;	  /* of the child that serves it */
	const char *path, *group; /* path NULL: by TCP */
	mode_t mode;
	dev_t dev; /* of the file at path */
	ino_t ino;
	int fd;
	struct loop_source *source; /* NULL: paused */
};

struct clients {
	struct clients_setup setup;
	struct clients_rights rights;
	struct child_role *roles[PRIVSEP_ROLE_MAX];
	struct listener listeners[PRIVSEP_ROLE_MAX];
	struct client *list; /* oldest first */
	struct network network;
	struct network_config next_network; /* replaces that of `network`, if network_changes */
	bool network_changes;
	bool network_is_ready; /* the process has a certificate */
	struct loop_source *timer, *network_timer;
	uint64_t next_event, instance;
};

/* ---- clients_table.c ---- */

struct client *clients_find(const struct clients *c, uint64_t id);
void clients_append(struct clients *c, struct client *cl);
void clients_client_free(struct client *cl);
/* Takes it out of the table, and frees it. */
void clients_forget(struct clients *c, struct client *cl);
void clients_forget_all(struct clients *c, enum privsep_role role);
void clients_set_state(struct client *cl, enum client_state state);
void clients_drop(struct clients *c, struct client *cl);
/* A random number that no connection has. */
int clients_new_id(const struct clients *c, uint64_t *ret);
/* The peer of a Unix socket. */
int clients_peer_of(int fd, struct clients_peer *ret);

/* ---- clients_network.c ---- */

/* Whether it is a client of the network that has not shown a token of the table. */
bool clients_is_nameless(const struct client *cl);
/* Returns NULL, or the rule that the message breaks. */
const char *clients_take_login(struct clients *c, struct client *cl, const struct privsep_msg *m);
/* Refusals that were not worth an event each. */
void clients_report_refusals(struct clients *c);
/* Sends the certificate to the process, if there is another one. */
void clients_offer_files(struct clients *c, struct child_role *r);
/* Ends streams whose token is not in the table any more. */
void clients_drop_strangers(struct clients *c);

#endif
