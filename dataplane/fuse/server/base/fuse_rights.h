/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Access rights of clients: selects the first matching rule of an export, and maps the users and
 * groups of requests to those of this host and back. Pure functions: no system calls, no state, no
 * allocation. Called by the server.
 */
#ifndef PLENUM_DATAPLANE_FUSE_RIGHTS_H
#define PLENUM_DATAPLANE_FUSE_RIGHTS_H

#include "dataplane/launch.h"

/* The owner that a client sees for an unmapped id. */
#define FUSE_RIGHTS_NOBODY 65534U

struct fuse_rights {
	bool read_only;
	enum launch_squash squash;
	uint32_t anonuid, anongid;
	const struct launch_ids *uids, *gids; /* borrowed from the configuration */
	uint32_t n_uids, n_gids;
};

struct fuse_rights_ids {
	uint32_t uid, gid;
	/* Permissions must be checked here: the client's kernel checked them for another
	 * identity, or is not trusted. The request then runs without the privileges that bypass
	 * permissions. */
	bool checked;
	/* The anonymous user, which is only in the given group. Otherwise, if check_perms is
	 * set, the server assumes that the user is in the groups of the objects, except root's,
	 * as NFS accepts the list in a request. */
	bool squashed;
};

/*
 * The rights by the first rule of the export that matches a client with this name or any of these
 * addresses (possibly none); cfg outlives *ret. 0; -EACCES: no rule matches. Without a cluster key
 * the rule of a name needs one of the addresses listed for it: -EADDRNOTAVAIL: it has others;
 * -EDESTADDRREQ: none is listed.
 */
int fuse_rights_for(const struct launch_config *cfg, const struct launch_export *e,
		    const char *host, const struct ip_addr *addrs, unsigned n_addrs,
		    struct fuse_rights *ret);
/* The identity with which a request of this user runs. */
struct fuse_rights_ids fuse_rights_ids(const struct fuse_rights *r, uint32_t uid, uint32_t gid);

/* Map owners and groups of files for the client; unmapped ids become FUSE_RIGHTS_NOBODY. */
uint32_t fuse_rights_uid_out(const struct fuse_rights *r, uint32_t uid);
uint32_t fuse_rights_gid_out(const struct fuse_rights *r, uint32_t gid);
/* Map a client's ids in chown(2) to this host's. 0; -EINVAL: unmapped. */
int fuse_rights_uid_in(const struct fuse_rights *r, uint32_t uid, uint32_t *ret);
int fuse_rights_gid_in(const struct fuse_rights *r, uint32_t gid, uint32_t *ret);

/* Whether a client may set or remove the extended attribute. The server's kernel applies security.*
 * to the server's own programs, so clients may change only security.capability there. */
bool fuse_rights_may_set(const char *name);
/* Whether the extended attribute is an access control list, which contains users and groups. */
bool fuse_rights_is_acl(const char *name);
/* Map the users and groups in the value of such an attribute in place. 0; -EINVAL: malformed, or
 * (in) an unmapped id; the value is then undefined. */
int fuse_rights_acl_in(const struct fuse_rights *r, void *value, size_t len);
int fuse_rights_acl_out(const struct fuse_rights *r, void *value, size_t len);

#endif
