/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Leases for writing: a mount that has the lease of a file may acknowledge writes to programs
 * before it sends them to the server. Requests of other mounts that would show or change the file
 * wait until the lease is returned (see server_write_lease.c).
 */
#ifndef PLENUM_SERVER_WRITE_LEASE_H
#define PLENUM_SERVER_WRITE_LEASE_H

#include "dataplane/fuse/server/objects/server_types.h"

/* Call when the WRITE of q has succeeded. If the client has asked for the lease of the file, and no
 * other mount uses the file, grants the lease and returns its number. Otherwise returns 0. */
uint32_t server_write_lease_take(struct server_req *q);
/* Returns whether the WRITE of q may write held data: the mount still has the lease with this
 * number. The file must be marked as being changed (server_lease_change()). */
bool server_write_lease_holds(struct server_req *q, uint32_t number);
/* Ends the mount's lease on the file of q. number: as in fuse_proto.h. Returns false if a change of
 * the file is in progress: the request must be tried again later. */
bool server_write_lease_return(struct server_req *q, uint32_t number);
/* Ends all leases of a mount that has ended. */
void server_write_leases_drop(struct server_mount *m);
/* Returns whether the mount of c has the lease of the first file that the request names. */
bool server_write_lease_is_held(const struct fuse_server_client *c,
				const struct fuse_server_args *args);
/* Returns whether the request must wait because another mount has the lease of an object that the
 * request names, or that server_write_lease_awaits() has found. */
bool server_write_lease_waits(struct server_req *q);
/* Returns whether another mount has any lease. */
bool server_write_lease_any(const struct server_req *q);
/* Grants a lease on names and attributes (server_lease_grant()), unless another mount has the lease
 * for writing. */
bool server_write_lease_grant_read(struct server_req *q, const uint8_t *handle, size_t len,
				   const struct fuse_attr *attr);
/* The request has found the file with this handle by its name. Returns whether the request must not
 * show the file's attributes: another mount has the lease, or had it when the request began.
 * server_write_lease_awaits() also makes the request wait until the lease is returned, and then try
 * again. */
bool server_write_lease_hides(struct server_req *q, const uint8_t *handle, size_t len);
bool server_write_lease_awaits(struct server_req *q, const uint8_t *handle, size_t len);

#endif
