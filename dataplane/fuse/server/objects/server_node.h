/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects of exports: their handles and cached descriptors (see server_node.c). */
#ifndef PLENUM_SERVER_NODE_H
#define PLENUM_SERVER_NODE_H

#include "dataplane/fuse/server/objects/server_types.h"

int server_nodes_init(struct fuse_server *srv);
void server_nodes_done(struct fuse_server *srv);
/* Closes half of the cached descriptors, because the table is full. */
void server_nodes_shrink(struct fuse_server *srv);
int server_export_init(struct fuse_server *srv, unsigned i, const struct launch_export *cfg);
/* Stores the export's root node. */
int server_root_init(struct server_export *e, const struct helper_result *r);
/* Returns the node of the request's i-th handle, or NULL if it is not cached. */
struct server_node *server_req_node(const struct server_req *q, unsigned i);
/* Returns the node's O_PATH descriptor, which is valid until the next call of a function that
 * returns a node. Returns -1 if only a helper can open the object. */
int server_node_fd(struct server_node *n);
/* Like server_node_fd(), for the node of the request's i-th handle. */
int server_req_fd(const struct server_req *q, unsigned i);
/* Adds or removes a reference. A node with references stays cached. */
void server_node_ref(struct server_node *n);
void server_node_put(struct server_node *n);
/* Returns the node with this handle, or NULL if it is not cached. len: length without the
 * signature. */
struct server_node *server_node_find(const struct server_export *e, const uint8_t *handle,
				     size_t len);
/* Returns the node with this signed handle, or NULL if it is not cached. */
struct server_node *server_node_signed(const struct server_export *e, const uint8_t *handle,
				       size_t len);
/* Call when an object has lost a name. fd: its O_PATH descriptor, which this function then owns, or
 * -1. Frees the node of an unlinked file. Keeps the nodes of unlinked pipes and directories for a
 * while, because clients may still use these without an open file at the server. */
void server_node_removed(struct server_export *e, const struct helper_result *r, int fd);
/* Call once a second: closes descriptors that were not used lately, because they may hold unlinked
 * files. */
void server_nodes_idle(struct fuse_server *srv);
/* Returns the node of an object that a helper has found or created, and creates it if necessary.
 * fd: the object's O_PATH descriptor, which this function then owns; -1: only searches for a node
 * with the object's handle. Returns NULL if memory is short, or if there is neither a handle nor
 * fd. */
struct server_node *server_node_of(struct server_export *e, const struct helper_result *r, int fd);
/* Looks up the name if that needs no disk access. Returns -EAGAIN if a helper must look it up. */
int server_node_cached(struct server_node *dir, const char *name, struct server_entry *ret);
/* Returns whether the open file has no extended attributes, if that is known without a disk
 * access. */
bool server_has_no_xattrs(const struct server_export *e, int fd);
/* Makes a path to the object of the descriptor fd, for system calls that take no descriptor. fd may
 * be an O_PATH descriptor. If the object is a symbolic link, the path does not follow it. */
#define SERVER_FD_PATH_MAX 32
const char *server_fd_path(int fd, char path[SERVER_FD_PATH_MAX]);

#endif
