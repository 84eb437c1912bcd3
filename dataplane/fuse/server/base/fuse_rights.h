/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Access rights of clients: selects the first matching rule of an export, and maps the users and
 * groups of requests to those of this host and back. The functions make no system calls, have no
 * state and allocate nothing. The server calls them.
 */
#ifndef PLENUM_DATAPLANE_FUSE_RIGHTS_H
#define PLENUM_DATAPLANE_FUSE_RIGHTS_H

#include "dataplane/launch.h"

/* The owner that a client sees for an id that is not mapped. */
#define FUSE_RIGHTS_NOBODY 65534U

struct fuse_rights {
	bool read_only;
	enum launch_squash squash;
	uint32_t anonuid, anongid;
	const struct launch_ids *uids, *gids; /* point into the configuration, which must outlive
						 this struct */
	uint32_t n_uids, n_gids;
};

struct fuse_rights_ids {
	uint32_t uid, gid;
	/* The server must check permissions, because the client's kernel has checked them for
	 * another identity, or is not trusted. So the request runs without the privileges that
	 * bypass permission checks. */
	bool checked;
	/* The request runs as the anonymous user, whose only group is `gid`. If `checked` is set
	 * and `squashed` is not, the server assumes that the user belongs to the group of each
	 * object, except root's group. NFS trusts the list of groups in a request in the same
	 * way. */
	bool squashed;
};

/*
 * Finds the rights that the first matching rule of the export gives to a client with this name and
 * these addresses (n_addrs may be 0). cfg must outlive *ret. Returns 0, or -EACCES if no rule
 * matches. Without a cluster key, the client must also have one of the addresses that are listed
 * for the name in a rule. Returns -EADDRNOTAVAIL if the client has none of these addresses, or
 * -EDESTADDRREQ if no address is listed.
 */
int fuse_rights_for(const struct launch_config *cfg, const struct launch_export *e,
		    const char *host, const struct ip_addr *addrs, unsigned n_addrs,
		    struct fuse_rights *ret);
/* Returns the identity with which a request of this user of the client runs on this host. */
struct fuse_rights_ids fuse_rights_ids(const struct fuse_rights *r, uint32_t uid, uint32_t gid);

/* Map owners and groups of files to the client's ids. Ids that are not mapped become
 * FUSE_RIGHTS_NOBODY. */
uint32_t fuse_rights_uid_out(const struct fuse_rights *r, uint32_t uid);
uint32_t fuse_rights_gid_out(const struct fuse_rights *r, uint32_t gid);
/* Map the ids of a client's chown(2) to ids of this host. Return 0, or -EINVAL if the id is not
 * mapped. */
int fuse_rights_uid_in(const struct fuse_rights *r, uint32_t uid, uint32_t *ret);
int fuse_rights_gid_in(const struct fuse_rights *r, uint32_t gid, uint32_t *ret);

/* Returns whether a client may set or remove the extended attribute. Attributes named security.*
 * also affect programs of the export that are executed at the server. Of these attributes, clients
 * may change only security.capability. */
bool fuse_rights_may_set(const char *name);
/* Returns whether the extended attribute is an access control list, which contains users and
 * groups. */
bool fuse_rights_is_acl(const char *name);
/* Map the users and groups in an access control list in place: _in from the client's ids to this
 * host's, _out from this host's to the client's. Return 0, or -EINVAL if the value is malformed, or
 * (_in) if an id is not mapped; the value is then undefined. */
int fuse_rights_acl_in(const struct fuse_rights *r, void *value, size_t len);
int fuse_rights_acl_out(const struct fuse_rights *r, void *value, size_t len);

#endif
