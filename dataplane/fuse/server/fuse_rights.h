/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who may use an export, and as whom: from the rules of the configuration to one client's rights,
 * and from the users and groups of its requests to those under which they are executed here, and
 * back. Pure values and arithmetic: makes no system call, keeps nothing, allocates nothing. Called
 * by the server end of the file system protocol.
 */
#ifndef PLENUM_DATAPLANE_FUSE_RIGHTS_H
#define PLENUM_DATAPLANE_FUSE_RIGHTS_H

#include "dataplane/launch.h"

/* What a client is shown for an owner whom its map does not name. */
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
	/* The client's kernel has not made the check of permissions that counts: it let through
	 * somebody who is somebody else here, or it is not trusted to. To be executed without the
	 * privileges that pass over permissions. */
	bool checked;
	/* The anonymous user: in no other group than the one given. Else, where checked, the
	 * client is believed to be in the groups that it acts by, but for that of root: as NFS
	 * believes the list that it sends. */
	bool squashed;
};

/*
 * The rights of the first rule of the export that fits a client by this name or any of these
 * addresses, of which there may be none; cfg outlives *ret. 0; -EACCES: none fits.
 */
int fuse_rights_for(const struct launch_config *cfg, const struct launch_export *e,
		    const char *host, const struct ip_addr *addrs, unsigned n_addrs,
		    struct fuse_rights *ret);
/* As whom a request of this user is executed. */
struct fuse_rights_ids fuse_rights_ids(const struct fuse_rights *r, uint32_t uid, uint32_t gid);

/* Owners and groups of files, from here to the client; those that it has no name for are
 * FUSE_RIGHTS_NOBODY. */
uint32_t fuse_rights_uid_out(const struct fuse_rights *r, uint32_t uid);
uint32_t fuse_rights_gid_out(const struct fuse_rights *r, uint32_t gid);
/* And from the client to here, as chown(2) names them. 0; -EINVAL: nobody here. */
int fuse_rights_uid_in(const struct fuse_rights *r, uint32_t uid, uint32_t *ret);
int fuse_rights_gid_in(const struct fuse_rights *r, uint32_t gid, uint32_t *ret);

/* Whether an extended attribute holds users and groups: an access control list. */
bool fuse_rights_is_acl(const char *name);
/* The users and groups in the value of such an attribute, changed in place. 0; -EINVAL: no list, or
 * (in) one that names somebody who is nobody here; what it was is lost then. */
int fuse_rights_acl_in(const struct fuse_rights *r, void *value, size_t len);
int fuse_rights_acl_out(const struct fuse_rights *r, void *value, size_t len);

#endif
