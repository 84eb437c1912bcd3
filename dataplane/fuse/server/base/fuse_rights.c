/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Evaluates the rules of exports, and squashes and maps ids, as in exports(5). It does not depend
 * on the rest of the server, so that tests can cover every combination without a file system.
 */
#include "dataplane/fuse/server/base/fuse_rights.h"
#include "netcfg/base/host_name.h"

#include <endian.h>
#include <string.h>

static bool network_fits(const struct launch_client *rule, const struct ip_addr *addrs,
			 unsigned n_addrs)
{
	for (unsigned i = 0; rule->network.addr.family && i < n_addrs; i++)
		if (ip_prefix_contains(&rule->network, &addrs[i]))
			return true;
	return false;
}

/* Checks whether the client may use the name that it claims. With a cluster key, the handshake has
 * proved that the client is a host of the cluster. Without a key any host can claim any name, so
 * the client must also have an address that is listed for the name. The transport has validated the
 * address of a session. */
static int name_prove(const struct launch_config *cfg, const struct launch_client *rule,
		      const struct ip_addr *addrs, unsigned n_addrs)
{
	const struct ip_addr *listed = &cfg->client_addrs[rule->first_addr];

	if (cfg->security != LAUNCH_SECURITY_NONE)
		return 0;
	for (uint32_t i = 0; i < rule->n_addrs; i++)
		for (unsigned j = 0; j < n_addrs; j++)
			if (ip_addr_equal(&listed[i], &addrs[j]))
				return 0;
	return rule->n_addrs ? -EADDRNOTAVAIL : -EDESTADDRREQ;
}

/* Returns whether the client's name is the rule's. A name that the client has proven must be equal:
 * host-c and host-c.lan may have certificates of two hosts. */
static bool name_fits(const struct launch_config *cfg, const char *name, const char *host)
{
	return cfg->identity == LAUNCH_IDENTITY_REQUIRE ? strcmp(name, host) == 0
							: host_name_matches(name, host);
}

/* Returns 1 if the rule matches, 0 if it does not, or a negative errno if the client claims the
 * name of the rule without proof. */
static int rule_fits(const struct launch_config *cfg, const struct launch_client *rule,
		     const char *host, const struct ip_addr *addrs, unsigned n_addrs)
{
	int r;

	if (!rule->host[0] && rule->network.addr.family == 0)
		return 1;
	if (network_fits(rule, addrs, n_addrs))
		return 1;
	if (!rule->host[0] || !name_fits(cfg, rule->host, host))
		return 0;
	r = name_prove(cfg, rule, addrs, n_addrs);
	return r < 0 ? r : 1;
}

int fuse_rights_for(const struct launch_config *cfg, const struct launch_export *e,
		    const char *host, const struct ip_addr *addrs, unsigned n_addrs,
		    struct fuse_rights *ret)
{
	int r;

	for (uint32_t i = 0; i < e->n_clients; i++) {
		const struct launch_client *rule = &cfg->clients[e->first_client + i];

		r = rule_fits(cfg, rule, host, addrs, n_addrs);
		if (r == 0)
			continue;
		if (r < 0)
			return r;
		*ret = (struct fuse_rights){
			.read_only = rule->read_only || e->read_only,
			.squash = rule->squash,
			.anonuid = rule->anonuid,
			.anongid = rule->anongid,
			.uids = &cfg->ids[rule->first_ids],
			.gids = &cfg->ids[rule->first_ids] + rule->n_uids,
			.n_uids = rule->n_uids,
			.n_gids = rule->n_gids,
		};
		return 0;
	}
	return -EACCES;
}

/* Maps an id of the client to an id of this host. Returns false if the map does not contain it.
 * Without a map, ids stay the same. */
static bool map_in(const struct launch_ids *map, uint32_t n, uint32_t id, uint32_t *ret)
{
	for (uint32_t i = 0; i < n; i++)
		if (id >= map[i].client && id - map[i].client < map[i].count) {
			*ret = map[i].server + (id - map[i].client);
			return true;
		}
	*ret = id;
	return n == 0;
}

static bool map_out(const struct launch_ids *map, uint32_t n, uint32_t id, uint32_t *ret)
{
	for (uint32_t i = 0; i < n; i++)
		if (id >= map[i].server && id - map[i].server < map[i].count) {
			*ret = map[i].client + (id - map[i].server);
			return true;
		}
	*ret = id;
	return n == 0;
}

static bool is_squashed(const struct fuse_rights *r, uint32_t id)
{
	return r->squash == LAUNCH_SQUASH_ALL || (r->squash == LAUNCH_SQUASH_ROOT && id == 0);
}

struct fuse_rights_ids fuse_rights_ids(const struct fuse_rights *r, uint32_t uid, uint32_t gid)
{
	struct fuse_rights_ids ids;

	if (is_squashed(r, uid) || !map_in(r->uids, r->n_uids, uid, &ids.uid))
		return (struct fuse_rights_ids){r->anonuid, r->anongid, true, true};
	if (is_squashed(r, gid) || !map_in(r->gids, r->n_gids, gid, &ids.gid))
		ids.gid = r->anongid;
	/* The server must check permissions. The client's kernel has checked them for the identity
	 * before the mapping, and root at the client can act as any user in the map. Root of this
	 * host needs no check, because it passes every check. */
	ids.checked = r->squash != LAUNCH_SQUASH_NONE ||
		      ((r->n_uids > 0 || r->n_gids > 0) && ids.uid != 0);
	ids.squashed = false;
	return ids;
}

uint32_t fuse_rights_uid_out(const struct fuse_rights *r, uint32_t uid)
{
	uint32_t id;

	return map_out(r->uids, r->n_uids, uid, &id) ? id : FUSE_RIGHTS_NOBODY;
}

uint32_t fuse_rights_gid_out(const struct fuse_rights *r, uint32_t gid)
{
	uint32_t id;

	return map_out(r->gids, r->n_gids, gid, &id) ? id : FUSE_RIGHTS_NOBODY;
}

int fuse_rights_uid_in(const struct fuse_rights *r, uint32_t uid, uint32_t *ret)
{
	uint32_t id;

	if (!map_in(r->uids, r->n_uids, uid, &id))
		return -EINVAL;
	*ret = id;
	return 0;
}

int fuse_rights_gid_in(const struct fuse_rights *r, uint32_t gid, uint32_t *ret)
{
	uint32_t id;

	if (!map_in(r->gids, r->n_gids, gid, &id))
		return -EINVAL;
	*ret = id;
	return 0;
}

/* ------------------------------------------------------------------ access control lists */

/* Values of linux/posix_acl_xattr.h, which the kernel does not offer to user space. */
#define ACL_VERSION 2
#define ACL_TAG_USER 0x02
#define ACL_TAG_GROUP 0x08

struct acl_entry { /* all members are little endian */
	uint16_t tag, perm;
	uint32_t id;
};

bool fuse_rights_may_set(const char *name)
{
	return strncmp(name, "security.", 9) != 0 || strcmp(name, "security.capability") == 0;
}

bool fuse_rights_is_acl(const char *name)
{
	return strcmp(name, "system.posix_acl_access") == 0 ||
	       strcmp(name, "system.posix_acl_default") == 0;
}

static int acl_map(const struct fuse_rights *r, uint8_t *value, size_t len, bool out)
{
	uint32_t version, id;
	struct acl_entry e;

	if (r->n_uids == 0 && r->n_gids == 0)
		return 0;
	if (len < sizeof(version) || (len - sizeof(version)) % sizeof(e) != 0)
		return -EINVAL;
	memcpy(&version, value, sizeof(version));
	if (le32toh(version) != ACL_VERSION)
		return -EINVAL;
	for (size_t at = sizeof(version); at < len; at += sizeof(e)) {
		bool is_user;

		memcpy(&e, value + at, sizeof(e));
		is_user = le16toh(e.tag) == ACL_TAG_USER;
		if (!is_user && le16toh(e.tag) != ACL_TAG_GROUP)
			continue;
		id = le32toh(e.id);
		if (out)
			id = is_user ? fuse_rights_uid_out(r, id) : fuse_rights_gid_out(r, id);
		else if ((is_user ? fuse_rights_uid_in(r, id, &id)
				  : fuse_rights_gid_in(r, id, &id)) < 0)
			return -EINVAL;
		e.id = htole32(id);
		memcpy(value + at, &e, sizeof(e));
	}
	return 0;
}

int fuse_rights_acl_in(const struct fuse_rights *r, void *value, size_t len)
{
	return acl_map(r, value, len, false);
}

int fuse_rights_acl_out(const struct fuse_rights *r, void *value, size_t len)
{
	return acl_map(r, value, len, true);
}
