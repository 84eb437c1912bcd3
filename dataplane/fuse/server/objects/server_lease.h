/* SPDX-License-Identifier: BSD-3-Clause */
/* Leases: the server's promises that a client may cache names and attributes without asking. A
 * request that changes an object waits until the leases of other clients on the object have expired
 * (see server_lease.c). */
#ifndef PLENUM_SERVER_LEASE_H
#define PLENUM_SERVER_LEASE_H

#include "dataplane/fuse/server/objects/server_types.h"

/* Returns the key of a file in the tables that all workers share; 0: it has none. The key does not
 * include the handle's signature, because the same file may be in several exports. */
uint64_t server_lease_key(const struct fuse_server *srv, const uint8_t *handle, size_t len);
/* Finds out which leases of a predecessor may be valid. Call it after the predecessor's mounts were
 * adopted. */
void server_leases_restore(struct fuse_server *srv);
/* Grants a lease on the file with this handle in the request's folder: for a second after the
 * client sent the request, no other client can change the file or its name there. Returns false if
 * no lease is possible now. Call only server_write_lease_grant_read(), which also looks for leases
 * for writing. */
bool server_lease_grant(struct server_req *q, const uint8_t *handle, size_t len,
			const struct fuse_attr *attr);
/* Grants a lease on a folder that the request has created: for a second, no other client creates a
 * name in it. */
bool server_lease_empty(struct server_req *q, const uint8_t *handle, size_t len);
/* Grants a lease on the set of names in the folder that the request has listed. */
bool server_lease_names(struct server_req *q);
/* Marks the objects that the request changes: they get no new leases until server_lease_changed().
 * Returns false if other clients still have leases on them; the request must then be tried again
 * later. */
bool server_lease_change(struct server_req *q);
void server_lease_changed(struct server_req *q);
/* For a lease for writing that the mount of q gets or has. server_lease_is_alone() returns whether
 * no other mount has a lease on the file or has changed it lately, and no change except q is in
 * progress. server_lease_is_changing() returns whether a request other than q is changing the file.
 * It ignores changes without an entry in the table, because none of them writes held data. The
 * caller must have issued a full fence. */
bool server_lease_is_alone(struct server_req *q, uint64_t key);
bool server_lease_is_changing(struct server_req *q, uint64_t key);

#endif
