/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of open files, apart from the nodes because files hold those and not the reverse. */
#include "dataplane/fuse/client/fuse_front_files.h"

static void free_push(struct front_files *t, uint32_t i)
{
	front_file_at(t, i)->next = t->free;
	t->free = i;
}

static void closing_push(struct front_files *t, uint32_t i)
{
	front_file_at(t, i)->next = FRONT_FILE_NONE;
	if (t->closing_last == FRONT_FILE_NONE)
		t->closing_first = i;
	else
		front_file_at(t, t->closing_last)->next = i;
	t->closing_last = i;
	t->n_closing++;
}

/* Where the count has come to its end nobody knows any more how many there are: it stays. */
static void count(uint8_t *n, int by)
{
	if (*n < UINT8_MAX && (by > 0 || *n > 0))
		*n = (uint8_t)(*n + by);
}

static void node_count(struct front_node *node, const struct front_file *file, int by)
{
	if (file->flags & FRONT_FILE_CACHED)
		count(&node->n_cached, by);
	if (file->flags & FRONT_FILE_DIRECT)
		count(&node->n_direct, by);
}

void front_files_init(struct front_files *t, struct front_state *s, struct front_nodes *nodes)
{
	*t = (struct front_files){.state = s,
				  .nodes = nodes,
				  .free = FRONT_FILE_NONE,
				  .closing_first = FRONT_FILE_NONE,
				  .closing_last = FRONT_FILE_NONE};
	for (uint32_t i = s->head->n_files; i-- > 0;) {
		struct front_file *file = front_file_at(t, i);
		struct front_node *node = front_node_get(nodes, file->nodeid);

		if (!(file->flags & FRONT_FILE_USED) || !node) {
			file->flags = 0;
			free_push(t, i);
			continue;
		}
		front_node_pin(node);
		if (file->flags & FRONT_FILE_CLOSING)
			closing_push(t, i);
		else
			node_count(node, file, 1);
	}
}

struct front_file *front_file_at(const struct front_files *t, uint32_t i)
{
	return &t->state->files[i];
}

uint32_t front_file_index(const struct front_files *t, const struct front_file *file)
{
	return (uint32_t)(file - t->state->files);
}

uint64_t front_file_fh(const struct front_files *t, const struct front_file *file)
{
	return (uint64_t)file->reuse << 32 | front_file_index(t, file);
}

static uint32_t index_new(struct front_files *t)
{
	struct front_head *head = t->state->head;
	uint32_t i = t->free;

	if (i != FRONT_FILE_NONE) {
		t->free = front_file_at(t, i)->next;
		return i;
	}
	if (head->n_files == FRONT_FILES_MAX)
		return FRONT_FILE_NONE;
	i = head->n_files;
	front_file_at(t, i)->reuse = head->reuse;
	front_publish(&head->n_files, i + 1);
	return i;
}

struct front_file *front_file_new(struct front_files *t, struct front_node *node,
				  const struct front_file *as)
{
	uint32_t i = index_new(t);
	struct front_file *file;

	if (i == FRONT_FILE_NONE)
		return NULL;
	file = front_file_at(t, i);
	*file = (struct front_file){
		.nodeid = front_node_id(t->nodes, node),
		.server_fh = as->server_fh,
		.incarnation = as->incarnation,
		.reuse = file->reuse + 1,
		.open_flags = as->open_flags,
		.uid = as->uid,
		.gid = as->gid,
		.lost = front_node_lost_sample(node),
		.listed = as->listed,
	};
	front_publish(&file->flags,
		      FRONT_FILE_USED | (as->flags &
					 (FRONT_FILE_DIR | FRONT_FILE_CACHED | FRONT_FILE_DIRECT)));
	node_count(node, file, 1);
	front_node_pin(node);
	return file;
}

struct front_file *front_file_twin(const struct front_files *t, uint64_t server_fh,
				   uint64_t incarnation)
{
	for (uint32_t i = 0; i < t->state->head->n_files; i++) {
		struct front_file *file = front_file_at(t, i);

		if (file->flags & FRONT_FILE_USED && file->server_fh == server_fh &&
		    file->incarnation == incarnation)
			return file;
	}
	return NULL;
}

struct front_file *front_file_listed(const struct front_files *t, uint64_t nodeid, uint32_t listed)
{
	for (uint32_t i = 0; i < t->state->head->n_files; i++) {
		struct front_file *file = front_file_at(t, i);

		if (file->flags & FRONT_FILE_USED && !(file->flags & FRONT_FILE_CLOSING) &&
		    file->nodeid == nodeid && file->listed == listed)
			return file;
	}
	return NULL;
}

struct front_file *front_file_get(const struct front_files *t, uint64_t fh)
{
	uint32_t i = (uint32_t)fh;

	if (i >= t->state->head->n_files || !(front_file_at(t, i)->flags & FRONT_FILE_USED) ||
	    front_file_at(t, i)->reuse != fh >> 32)
		return NULL;
	return front_file_at(t, i);
}

void front_file_reopened(struct front_file *file, uint64_t server_fh, uint64_t incarnation)
{
	/* Never the old handle with the new incarnation. */
	front_publish(&file->incarnation, 0);
	front_publish(&file->server_fh, server_fh);
	front_publish(&file->incarnation, incarnation);
}

void front_file_kill(struct front_file *file, int error)
{
	if (file->incarnation == 0)
		front_publish(&file->server_fh, (uint64_t)-error);
	front_publish(&file->flags, file->flags | FRONT_FILE_DEAD);
}

uint32_t front_file_next_stale(const struct front_files *t, uint32_t from, uint64_t incarnation)
{
	for (uint32_t i = from; i < t->state->head->n_files; i++) {
		const struct front_file *file = front_file_at(t, i);

		if ((file->flags & FRONT_FILE_USED) && file->incarnation != incarnation &&
		    !(file->flags & (FRONT_FILE_DEAD | FRONT_FILE_CLOSING)))
			return i;
	}
	return FRONT_FILE_NONE;
}

void front_file_close(struct front_files *t, struct front_file *file)
{
	struct front_node *node = front_node_get(t->nodes, file->nodeid);

	if (node && !(file->flags & FRONT_FILE_CLOSING))
		node_count(node, file, -1);
	front_publish(&file->flags, file->flags | FRONT_FILE_CLOSING);
	closing_push(t, front_file_index(t, file));
}

struct front_file *front_file_closing_take(struct front_files *t)
{
	uint32_t i = t->closing_first;

	if (i == FRONT_FILE_NONE)
		return NULL;
	t->closing_first = front_file_at(t, i)->next;
	if (t->closing_first == FRONT_FILE_NONE)
		t->closing_last = FRONT_FILE_NONE;
	t->n_closing--;
	return front_file_at(t, i);
}

void front_file_drop(struct front_files *t, struct front_file *file)
{
	struct front_node *node = front_node_get(t->nodes, file->nodeid);

	front_publish(&file->flags, 0);
	free_push(t, front_file_index(t, file));
	if (node)
		front_node_unpin(t->nodes, node);
}
