/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Address pools of the cluster. The key `config` below /plenum/CLUSTER/v1/ has all pools. So one
 * comparison of the key's revision protects a change of any pool. Members that this version does
 * not know stay unchanged. A key address/IP, without a lease, says which host owns that address;
 * `index` in its value is the worker id minus one. If another host uses the address on the wire
 * without owning it, the host that found this gives the key its lease and the member `squatter`
 * with the MAC address of that host: no host takes the address until the key is gone. pool.c has
 * pure functions. pool_take.c takes the addresses that this host needs. pool_edit.c makes the
 * changes that operators request.
 */
#ifndef PLENUM_AGENT_POOL_H
#define PLENUM_AGENT_POOL_H

#include "agent/cluster/store/member.h"
#include "netcfg/base/reason.h"

#define POOLS_MAX 256
#define POOL_OWNED_MAX 65536 /* maximum number of owned addresses in a cluster */
#define POOL_ADDRESS_PAGE 1024

/* ---- pool.c ---- */

/* Write to buf the key of the pools and of an address; write to `first` and `end` the limits of the
 * keys of all addresses. */
void pool_config_key(const char *cluster, char buf[KV_KEY_MAX]);
void pool_address_key(const char *cluster, const struct ip_addr *ip, char buf[KV_KEY_MAX]);
void pool_address_keys(const char *cluster, char first[KV_KEY_MAX], char end[KV_KEY_MAX]);
/* Sets `next` to the smallest key after the last key of the page. Returns false if no further page
 * can be read: the store does not name its keys in order, or all keys of the page are too long. */
bool pool_next_page(const struct kv_answer *a, char next[KV_KEY_MAX]);
/* Returns whether the key is that of an address. */
bool pool_key_address(const char *cluster, const char *key, struct ip_addr *ret);

/* Makes a pool from texts; gateway "": the pool has no gateway. Returns 0, or -EINVAL with the
 * error in why. */
int pool_make(const char *name, const char *range, const char *gateway, uint32_t mtu, uint32_t vlan,
	      struct cluster_pool *ret, struct reason *why);
#define POOL_NO_GATEWAY "none"
/* Makes a change of a pool from texts; "" and 0 leave a member unchanged. Returns 0, or -EINVAL
 * with the error in why. */
int pool_change_make(const char *name, const char *range, const char *gateway, uint32_t mtu,
		     uint32_t vlan, struct cluster_pool *ret, struct reason *why);
/* Parses the value of the key `config`; "" if the key does not exist. Returns the object, which has
 * a list "pools", as a new reference. Returns NULL if the value has an unexpected form. */
json_t *pools_parse(const char *text, size_t len);
/* Finds the pool with that name. Returns 0, -ENOENT, or -EBADMSG with the reason in why if its
 * entry is invalid. */
int pools_find(const json_t *config, const char *name, struct cluster_pool *ret,
	       struct reason *why);
/* Returns pool number i of the list. If its entry is invalid, returns false, and ret has only the
 * name, or "" if that is invalid too. */
bool pools_at(const json_t *config, size_t i, struct cluster_pool *ret);
bool pools_are_equal(const struct cluster_pool *a, const struct cluster_pool *b);
/* Add or remove a pool of the object. Return 0; -EEXIST, -ENOENT or -E2BIG with the reason in why;
 * or -ENOMEM. */
int pools_add(json_t *config, const struct cluster_pool *p, struct reason *why);
/* Sets the members of a pool that `change` has; no_gateway: removes its gateway. *ret_was and
 * *ret_is are the pool before and after. Also returns -EINVAL if no pool can be so, and -EBADMSG if
 * the entry is not valid. */
int pools_set(json_t *config, const struct cluster_pool *change, bool no_gateway,
	      struct cluster_pool *ret_was, struct cluster_pool *ret_is, struct reason *why);
int pools_remove(json_t *config, const char *name, struct reason *why);

struct pool_owned { /* an owned address */
	struct ip_addr ip;
	char host[PLENUM_NAME_MAX];
	char id[CLUSTER_ID_MAX]; /* id of the owner's state directory */
	uint32_t index;
	uint64_t revision; /* revision of the address's key */
	/* MAC address of a host that uses the address without owning it; "": there is none. The
	 * address is then of no use, and `host` has found that. */
	char squatter[MAC_ADDR_STR_MAX];
};

/* Returns the value for an address's key on the heap, or NULL if memory is short. */
char *pool_address_format(const char *pool, const char *host, const struct record_owner *self,
			  uint32_t index);
/* The same for an address that another host uses. */
char *pool_squat_format(const char *pool, const char *host, const struct record_owner *self,
			const struct mac_addr *by);
/* Parses an address's key and value. If the value has an unexpected form, the owner becomes "?",
 * which cannot be a host's name, so that no host takes the address. Returns false if the key is not
 * that of an address. */
bool pool_take_pair(const char *cluster, const struct kv_pair *p, struct pool_owned *ret);

struct pool_choice {
	/* Entry i is the address with the index i; family 0: no address is free for it. */
	struct ip_addr addrs[CLUSTER_POOL_ADDRS_MAX];
	bool is_new[CLUSTER_POOL_ADDRS_MAX]; /* the host does not own it yet */
	/* of the addresses with is_new: the host had this one before */
	bool is_known[CLUSTER_POOL_ADDRS_MAX];
	/* numbers of chosen, of is_new and of is_known addresses */
	size_t n, n_new, n_again;
	/* count of needed addresses for which none is free */
	size_t n_missing;
	/* count of addresses in the pool, and of those that hosts own */
	uint64_t n_range, n_owned;
	/* count of hosts that own addresses; set only if n_missing is not 0 */
	size_t n_hosts;
};
/*
 * Chooses addresses of a pool for a host. An address that the host owns keeps its index. For a
 * missing index, the function chooses the address that the host had before (`known`, by index) if
 * it is free, otherwise the next free address after those of the host. If the host has none yet,
 * the search begins at a place that depends on its name. An address belongs to the host only if its
 * record has the host's name and the host's id, because another host may have had the same name.
 * Sorts `owned` by address.
 */
void pool_choose(const struct cluster_pool *p, struct pool_owned *owned, size_t n_owned,
		 const char *host, const char *id, const struct ip_addr *known, size_t n_known,
		 size_t need, struct pool_choice *ret);
/* Removes from a choice the addresses that the host does not own now and did not have earlier, and
 * counts them as missing. */
void pool_choose_known_only(struct pool_choice *c);

/* ---- pool_take.c ---- */

struct pool_take;
struct pool_take_setup {
	struct loop *loop;
	const struct kv_ops *ops;
	struct kv *kv; /* borrowed */
	const char *cluster, *host;
	const struct record_owner *self;
	/* borrowed; addresses are taken only while this host is registered */
	const struct member *member;
	uint64_t check_ns; /* interval at which the addresses are read again */
	/* Called for each part of a report; the parts arrive in order. */
	void (*on_pool)(void *user, const struct cluster_pool_report *r);
	void *user;
};
#define POOL_CHECK_NS (60 * NSEC_PER_SEC)
#define POOL_RETRY_NS (2 * NSEC_PER_SEC) /* interval while addresses are missing */
/* If the store has lost addresses of this host, the host takes only addresses that it had before,
 * for this time. Within this time, every host reads its addresses, finds the loss, and takes back
 * its own addresses. */
#define POOL_HOLD_NS (3 * POOL_CHECK_NS)

int pool_take_new(const struct pool_take_setup *setup, struct pool_take **ret);
struct pool_take *pool_take_free(struct pool_take *t); /* accepts NULL, returns NULL */
/* Sets which pools this host needs addresses from: a list of {"name", "need", "known": [IP...]}. */
void pool_take_want(struct pool_take *t, const json_t *pools);
/* Call when another host was found to use an address of this host: the host takes another address
 * in its place. The address can be taken again after POOL_SQUAT_NS, or when this process ends. */
void pool_take_squat(struct pool_take *t, const struct ip_addr *ip, const struct mac_addr *by);
#define POOL_SQUAT_NS (10 * 60 * NSEC_PER_SEC)
#define POOL_SQUATS_MAX                                                           \
	32 /* such addresses that a host knows at a time; it ignores further ones \
	    */
/* Call when the registration of this host has changed. */
void pool_take_look(struct pool_take *t);

/* ---- pool_edit.c ---- */

enum pool_edit_op { POOL_ADD, POOL_SET, POOL_REMOVE, POOL_FORGET, POOL_LEAVE, POOL_EDIT_OP_MAX };
struct pool_edit;
struct pool_edit_setup {
	const struct kv_ops *ops;
	struct kv *kv; /* borrowed */
	const char *cluster, *self;
	const struct record_owner *owner; /* identity of this host */
	/* borrowed; POOL_LEAVE needs this host to be registered */
	struct member *member;
	uint64_t id; /* id of the request */
	enum pool_edit_op op;
	bool force; /* for POOL_SET: removes the pool's gateway */
	/* for POOL_ADD, POOL_REMOVE, which uses only the name, and POOL_SET, which uses the name
	 * and the members that change */
	struct cluster_pool pool;
	const char *host; /* for POOL_FORGET */
	/* Called at the end with the answer as JSON, or with text NULL and the trouble. The callee
	 * frees the object afterwards. */
	void (*on_end)(void *user, struct pool_edit *e, const char *text,
		       enum cluster_trouble trouble, const char *why);
	void *user;
};
#define POOL_NOT_REGISTERED                                                                     \
	"this host is not registered in the cluster, so its addresses are not known for sure; " \
	"see "                                                                                  \
	"'plenum cluster status'"
/* Begins a change. Returns 0, -EPERM for POOL_LEAVE if this host is not registered, or another
 * negative errno. */
int pool_edit_new(const struct pool_edit_setup *setup, struct pool_edit **ret);
/* Call it only when the requests of e have ended or the store was closed. Accepts NULL, returns
 * NULL. */
struct pool_edit *pool_edit_free(struct pool_edit *e);
uint64_t pool_edit_id(const struct pool_edit *e);

#endif
