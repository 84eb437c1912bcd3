/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of client hosts. It counts what each host uses of the server; see server_source.h. */
#include "dataplane/fuse/server/request/server_source.h"
#include <string.h>

static void key_of(const struct ip_addr *from, uint8_t key[SERVER_SOURCE_KEY_BYTES])
{
	memset(key, 0, SERVER_SOURCE_KEY_BYTES);
	if (!from)
		return;
	key[0] = from->family == AF_INET ? 4 : 6;
	memcpy(key + 1, from->bytes, from->family == AF_INET ? 4 : 8);
}

struct server_source *server_source_get(struct fuse_server *srv, const struct ip_addr *from)
{
	uint8_t key[SERVER_SOURCE_KEY_BYTES];
	struct server_source *h;

	key_of(from, key);
	for (struct list *l = srv->sources.next; l != &srv->sources; l = l->next) {
		h = list_entry(l, struct server_source, node);
		if (memcmp(h->key, key, sizeof(key)) == 0) {
			h->n_refs++;
			return h;
		}
	}
	h = calloc(1, sizeof(*h));
	if (!h)
		return NULL;
	memcpy(h->key, key, sizeof(key));
	h->n_refs = 1;
	h->server = srv;
	list_init(&h->waiting);
	list_init(&h->wait_node);
	list_init(&h->steps_node);
	for (unsigned i = 0; i < LAUNCH_EXPORTS_MAX; i++) {
		list_init(&h->call_waits[i].node);
		h->call_waits[i].source = h;
		for (unsigned k = 0; k < HELPERS_QUEUE_MAX; k++)
			list_init(&h->queues[i][k].node);
	}
	list_add_tail(&srv->sources, &h->node);
	return h;
}

void server_source_put(struct server_source *h)
{
	if (!h || --h->n_refs > 0)
		return;
	for (unsigned i = 0; i < LAUNCH_EXPORTS_MAX; i++)
		for (unsigned k = 0; k <= HELPERS_QUEUE_MAX; k++)
			if (h->server->fair[i][k].last == h)
				h->server->fair[i][k].last = NULL;
	for (unsigned i = 0; i < ARRAY_SIZE(h->server->latest); i++)
		if (h->server->latest[i].from == h)
			h->server->latest[i].from = NULL;
	list_del(&h->node);
	free(h);
}

void server_sources_done(struct fuse_server *srv)
{
	while (!list_empty(&srv->sources)) {
		struct server_source *h = list_entry(srv->sources.next, struct server_source, node);

		list_del(&h->node);
		free(h);
	}
}

void server_source_reply_take(struct server_source *h, unsigned class)
{
	h->n_refs++;
	h->n_replies[class]++;
}

void server_source_reply_give(struct server_source *h, unsigned class)
{
	h->n_replies[class]--;
	server_source_put(h);
}

static bool leaves_before(const struct fuse_server_client *a, const struct fuse_server_client *b)
{
	return a->n_reqs != b->n_reqs ? a->n_reqs < b->n_reqs : a->number > b->number;
}

void server_source_make_room(struct fuse_server *srv, const struct ip_addr *from)
{
	struct server_source *own = server_source_get(srv, from), *most = own;
	struct fuse_server_client *least = NULL;
	bool unfair;

	if (!own)
		return;
	for (struct list *l = srv->sources.next; l != &srv->sources; l = l->next) {
		struct server_source *h = list_entry(l, struct server_source, node);

		if (h->n_live > most->n_live)
			most = h;
	}
	unfair = most->n_live > own->n_live + 1;
	server_source_put(own);
	for (struct fuse_server_client *c = srv->clients; unfair && c; c = c->next)
		if (c->from == most && c->session &&
		    c->purpose != FUSE_HELLO_MOUNT_WORKER_FINISHING &&
		    (!least || leaves_before(c, least)))
			least = c;
	if (least)
		rudp_session_close(least->session, clock_now_ns());
}
