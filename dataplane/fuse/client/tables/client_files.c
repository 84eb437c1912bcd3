/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of open files. A file refers to its node; a node does not know its files. */
#include "dataplane/fuse/client/tables/client_files.h"

#include <stdlib.h>

static void free_push(struct client_files *t, uint32_t i)
{
	client_file_at(t, i)->next = t->free;
	t->free = i;
}

static void closing_push(struct client_files *t, uint32_t i)
{
	client_file_at(t, i)->next = CLIENT_FILE_NONE;
	if (t->closing_last == CLIENT_FILE_NONE)
		t->closing_first = i;
	else
		client_file_at(t, t->closing_last)->next = i;
	t->closing_last = i;
	t->n_closing++;
}

/* Changes a count of files. A count at its maximum never changes again, because the true number is
 * unknown. */
static void count(uint8_t *n, int by)
{
	if (*n < UINT8_MAX && (by > 0 || *n > 0))
		*n = (uint8_t)(*n + by);
}

static void open_count(struct client_files *t, const struct client_file *file, uint32_t by)
{
	if ((file->flags & CLIENT_FILE_USED) &&
	    !(file->flags & (CLIENT_FILE_CLOSING | CLIENT_FILE_DIR)))
		t->n_open += by;
}

static void node_count(struct client_node *node, const struct client_file *file, int by)
{
	if (file->flags & CLIENT_FILE_CACHED)
		count(&node->n_cached, by);
	if (file->flags & CLIENT_FILE_DIRECT)
		count(&node->n_direct, by);
}

/* ------------------------------------------------------------------ files of a predecessor */

static bool is_open(const struct client_file *file)
{
	return (file->flags & (CLIENT_FILE_USED | CLIENT_FILE_CLOSING)) == CLIENT_FILE_USED;
}

/* Returns the entry of the hash table at which a search begins. */
static uint32_t adopted_begin(const struct client_files *t, uint32_t opened_by)
{
	return (uint32_t)(opened_by * 0x9e3779b97f4a7c15ULL >> 32) & t->adopted_mask;
}

static void adopted_add(struct client_files *t, uint32_t i)
{
	uint32_t at = adopted_begin(t, client_file_at(t, i)->opened_by);

	while (t->adopted[at] != 0)
		at = (at + 1) & t->adopted_mask;
	t->adopted[at] = i + 1;
}

/* Makes the hash table of the files that a predecessor opened without the server. n: their number.
 * At least half of the table stays empty, so that searches are short and end. */
static int adopted_init(struct client_files *t, uint32_t n)
{
	uint32_t size = 1;

	if (n == 0)
		return 0;
	while (size < 2 * n)
		size *= 2;
	t->adopted = calloc(size, sizeof(t->adopted[0]));
	if (!t->adopted)
		return -ENOMEM;
	t->adopted_mask = size - 1;
	for (uint32_t i = 0; i < t->state->head->n_files; i++)
		if (is_open(client_file_at(t, i)) && client_file_at(t, i)->opened_by != 0)
			adopted_add(t, i);
	return 0;
}

struct client_file *client_file_opened_by(const struct client_files *t, uint64_t nodeid,
					  uint32_t opened_by)
{
	for (uint32_t at = adopted_begin(t, opened_by); t->adopted && t->adopted[at] != 0;
	     at = (at + 1) & t->adopted_mask) {
		struct client_file *file = client_file_at(t, t->adopted[at] - 1);

		if (is_open(file) && file->nodeid == nodeid && file->opened_by == opened_by)
			return file;
	}
	return NULL;
}

int client_files_init(struct client_files *t, struct client_state *s, struct client_nodes *nodes)
{
	uint32_t n_adopted = 0;

	*t = (struct client_files){.state = s,
				   .nodes = nodes,
				   .free = CLIENT_FILE_NONE,
				   .closing_first = CLIENT_FILE_NONE,
				   .closing_last = CLIENT_FILE_NONE};
	for (uint32_t i = s->head->n_files; i-- > 0;) {
		struct client_file *file = client_file_at(t, i);
		struct client_node *node = client_node_get(nodes, file->nodeid);

		if (!(file->flags & CLIENT_FILE_USED) || !node) {
			file->flags = 0;
			free_push(t, i);
			continue;
		}
		client_node_pin(node);
		open_count(t, file, 1);
		if (file->flags & CLIENT_FILE_CLOSING) {
			t->n_shut++;
			closing_push(t, i);
		} else {
			node_count(node, file, 1);
			n_adopted += file->opened_by != 0;
		}
	}
	return adopted_init(t, n_adopted);
}

void client_files_done(struct client_files *t)
{
	free(t->adopted);
	t->adopted = NULL;
}

/* ------------------------------------------------------------------ records */

struct client_file *client_file_at(const struct client_files *t, uint32_t i)
{
	return &t->state->files[i];
}

uint32_t client_file_index(const struct client_files *t, const struct client_file *file)
{
	return (uint32_t)(file - t->state->files);
}

uint64_t client_file_fh(const struct client_files *t, const struct client_file *file)
{
	return (uint64_t)file->reuse << 32 | client_file_index(t, file);
}

static uint32_t index_new(struct client_files *t)
{
	struct client_head *head = t->state->head;
	uint32_t i = t->free;

	if (i != CLIENT_FILE_NONE) {
		t->free = client_file_at(t, i)->next;
		return i;
	}
	if (head->n_files == CLIENT_FILES_MAX)
		return CLIENT_FILE_NONE;
	i = head->n_files;
	client_file_at(t, i)->reuse = head->reuse;
	client_publish(&head->n_files, i + 1);
	return i;
}

struct client_file *client_file_new(struct client_files *t, struct client_node *node,
				    const struct client_file *as)
{
	uint32_t i = index_new(t);
	struct client_file *file;

	if (i == CLIENT_FILE_NONE)
		return NULL;
	file = client_file_at(t, i);
	*file = (struct client_file){
		.nodeid = client_node_id(t->nodes, node),
		.server_fh = as->server_fh,
		.incarnation = as->incarnation,
		.reuse = file->reuse + 1,
		.open_flags = as->open_flags,
		.uid = as->uid,
		.gid = as->gid,
		.lost = client_node_lost_sample(node),
		.opened_by = as->opened_by,
	};
	client_publish(&file->flags,
		       CLIENT_FILE_USED | (as->flags & (CLIENT_FILE_DIR | CLIENT_FILE_CACHED |
							CLIENT_FILE_DIRECT)));
	node_count(node, file, 1);
	open_count(t, file, 1);
	client_node_pin(node);
	return file;
}

struct client_file *client_file_of_server_fh(const struct client_files *t, uint64_t server_fh,
					     uint64_t incarnation)
{
	for (uint32_t i = 0; i < t->state->head->n_files; i++) {
		struct client_file *file = client_file_at(t, i);

		if (file->flags & CLIENT_FILE_USED && file->server_fh == server_fh &&
		    file->incarnation == incarnation)
			return file;
	}
	return NULL;
}

struct client_file *client_file_get(const struct client_files *t, uint64_t fh)
{
	uint32_t i = (uint32_t)fh;

	if (i >= t->state->head->n_files || !(client_file_at(t, i)->flags & CLIENT_FILE_USED) ||
	    client_file_at(t, i)->reuse != fh >> 32)
		return NULL;
	return client_file_at(t, i);
}

void client_file_reopened(struct client_file *file, uint64_t server_fh, uint64_t incarnation)
{
	/* Clear the incarnation first. Otherwise a successor could find the old handle with the new
	 * incarnation. */
	client_publish(&file->incarnation, 0);
	client_publish(&file->server_fh, server_fh);
	client_publish(&file->incarnation, incarnation);
}

void client_file_kill(struct client_file *file, int error)
{
	if (file->incarnation == 0)
		client_publish(&file->server_fh, (uint64_t)-error);
	client_publish(&file->flags, file->flags | CLIENT_FILE_DEAD);
}

uint32_t client_file_next_stale(const struct client_files *t, uint32_t from, uint64_t incarnation)
{
	for (uint32_t i = from; i < t->state->head->n_files; i++) {
		const struct client_file *file = client_file_at(t, i);

		if ((file->flags & CLIENT_FILE_USED) && file->incarnation != incarnation &&
		    !(file->flags & (CLIENT_FILE_DEAD | CLIENT_FILE_CLOSING)))
			return i;
	}
	return CLIENT_FILE_NONE;
}

void client_file_keep(struct client_files *t, struct client_file *file)
{
	struct client_node *node = client_node_get(t->nodes, file->nodeid);

	if (node && !(file->flags & CLIENT_FILE_CLOSING))
		node_count(node, file, -1);
	t->n_shut += !(file->flags & CLIENT_FILE_CLOSING);
	open_count(t, file, -1U);
	client_publish(&file->flags, file->flags | CLIENT_FILE_CLOSING);
}

void client_file_close(struct client_files *t, struct client_file *file)
{
	client_file_keep(t, file);
	closing_push(t, client_file_index(t, file));
}

void client_file_reuse(struct client_files *t, struct client_file *file, uint32_t opened_by)
{
	struct client_node *node = client_node_get(t->nodes, file->nodeid);

	/* Change the handle first: the kernel may resend the RELEASE of the former open, which must
	 * not close the file again. Until the flags are published, a successor closes the file. */
	client_publish(&file->reuse, file->reuse + 1);
	file->opened_by = opened_by;
	if (node) {
		file->lost = client_node_lost_sample(node);
		node_count(node, file, 1);
	}
	t->n_shut--;
	client_publish(&file->flags, file->flags & ~(uint32_t)CLIENT_FILE_CLOSING);
	open_count(t, file, 1);
}

struct client_file *client_file_closing_take(struct client_files *t)
{
	uint32_t i = t->closing_first;

	if (i == CLIENT_FILE_NONE)
		return NULL;
	t->closing_first = client_file_at(t, i)->next;
	if (t->closing_first == CLIENT_FILE_NONE)
		t->closing_last = CLIENT_FILE_NONE;
	t->n_closing--;
	return client_file_at(t, i);
}

void client_file_drop(struct client_files *t, struct client_file *file)
{
	struct client_node *node = client_node_get(t->nodes, file->nodeid);

	open_count(t, file, -1U);
	if (file->flags & CLIENT_FILE_CLOSING)
		t->n_shut--;
	t->n_dropped++;
	client_publish(&file->flags, 0);
	free_push(t, client_file_index(t, file));
	if (node)
		client_node_unpin(t->nodes, node);
}
