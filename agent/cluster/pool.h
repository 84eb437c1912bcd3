/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Address pools of the cluster. The key config below /plenum/CLUSTER/v1/ has all pools, so that one
 * comparison of its revision protects a change of any of them, and members that this version does
 * not know stay as they are. A key address/IP without a lease says which host owns an address; its
 * `index` is the worker id minus one. pool.c is pure; pool_take.c takes the addresses that this
 * host needs; pool_edit.c makes the changes that operators request.
 */
#ifndef PLENUM_AGENT_POOL_H
#define PLENUM_AGENT_POOL_H

#include "agent/cluster/member.h"
#include "netcfg/base/reason.h"

#define POOLS_MAX 256
#define POOL_OWNED_MAX 65536 /* addresses of a cluster */
#define POOL_ADDRESS_PAGE 1024

/* ---- pool.c ---- */

/* Write the key of the pools, of an address, and of the first and after the last address. */
void pool_config_key(const char *cluster, char buf[KV_KEY_MAX]);
void pool_address_key(const char *cluster, const struct ip_addr *ip, char buf[KV_KEY_MAX]);
void pool_address_keys(const char *cluster, char first[KV_KEY_MAX], char end[KV_KEY_MAX]);
/* Sets `next` to after the last key of a page that can be the begin of the next one. Returns false
 * if there is none: the store does not name its keys in order, or all keys of the page are too
 * long.
 */
bool pool_next_page(const struct kv_answer *a, char next[KV_KEY_MAX]);
/* Returns whether the key is that of an address. */
bool pool_key_address(const char *cluster, const char *key, struct ip_addr *ret);

/* Makes a pool of texts; gateway "": none. Returns 0, or -EINVAL with the error in why. */
int pool_make(const char *name, const char *range, const char *gateway, uint32_t mtu, uint32_t vlan,
	      struct cluster_pool *ret, struct reason *why);
/* Parses the value of the key config, also "" for a key that does not exist. Returns the object
 * with a list "pools", a new reference; or NULL if it has another form. */
json_t *pools_parse(const char *text, size_t len);
/* Finds a valid pool. Returns 0, -ENOENT, or -EBADMSG with the reason in why. */
int pools_find(const json_t *config, const char *name, struct cluster_pool *ret,
	       struct reason *why);
/* Returns pool number i of the list, if it is valid. If not, ret has only its name, or "" if that
 * is not valid either. */
bool pools_at(const json_t *config, size_t i, struct cluster_pool *ret);
bool pools_are_equal(const struct cluster_pool *a, const struct cluster_pool *b);
/* Change the object. Return 0; -EEXIST, -ENOENT or -E2BIG with the reason in why; or -ENOMEM. */
int pools_add(json_t *config, const struct cluster_pool *p, struct reason *why);
int pools_remove(json_t *config, const char *name, struct reason *why);

struct pool_owned { /* an address that has a key */
	struct ip_addr ip;
	char host[PLENUM_NAME_MAX];
	char id[CLUSTER_ID_MAX]; /* of the host's state directory */
	uint32_t index;
	uint64_t revision; /* of the key */
};

/* Returns the value of an address's key on the heap, or NULL if memory is short. */
char *pool_address_format(const char *pool, const char *host, const struct record_owner *self,
			  uint32_t index);
/* Takes an address with its value. A value of another form leaves the address owned by the host
 * "?", which no host can be called, so that it is not given twice. Returns false if the key is not
 * that of an address. */
bool pool_take_pair(const char *cluster, const struct kv_pair *p, struct pool_owned *ret);

struct pool_choice {
	/* By their index; family 0: none is free for this one. */
	struct ip_addr addrs[CLUSTER_POOL_ADDRS_MAX];
	bool is_new[CLUSTER_POOL_ADDRS_MAX];   /* the host does not own it yet */
	bool is_known[CLUSTER_POOL_ADDRS_MAX]; /* a new one that the host had before */
	size_t n, n_new, n_again;	       /* n_again: new ones that the host had before */
	size_t n_missing;		       /* needed addresses for which none is free */
	uint64_t n_range, n_owned;	       /* addresses in the pool, and those of all hosts */
	size_t n_hosts;			       /* that own them; only if some are missing */
};
/*
 * Chooses addresses of a pool: those that the host owns keep their index; a missing one gets the
 * address that the host had before (`known`, by index) if it is free, else the first free one. The
 * host owns addresses with its name and its id: another host may have had the name. The owned
 * addresses are sorted by this function.
 */
void pool_choose(const struct cluster_pool *p, struct pool_owned *owned, size_t n_owned,
		 const char *host, const char *id, const struct ip_addr *known, size_t n_known,
		 size_t need, struct pool_choice *ret);
/* Takes the new addresses that the host did not have before out of a choice: they are missing. */
void pool_choose_known_only(struct pool_choice *c);

/* ---- pool_take.c ---- */

struct pool_take;
struct pool_take_setup {
	struct loop *loop;
	const struct kv_ops *ops;
	struct kv *kv; /* borrowed */
	const char *cluster, *host;
	const struct record_owner *self;
	const struct member *member; /* borrowed; addresses are taken while it is registered */
	uint64_t check_ns;	     /* how often the addresses are read again */
	/* Called with each part of a report, in order. */
	void (*on_pool)(void *user, const struct cluster_pool_report *r);
	void *user;
};
#define POOL_CHECK_NS (60 * NSEC_PER_SEC)
#define POOL_RETRY_NS (2 * NSEC_PER_SEC) /* while addresses are missing */
/* After the store has lost addresses of this host, no others are taken for this long: each host
 * finds the loss when it reads its addresses again, and takes back what it had. */
#define POOL_HOLD_NS (3 * POOL_CHECK_NS)

int pool_take_new(const struct pool_take_setup *setup, struct pool_take **ret);
struct pool_take *pool_take_free(struct pool_take *t); /* accepts NULL, returns NULL */
/* Sets which pools this host needs: a list of {"name", "need", "known": [IP...]}. */
void pool_take_want(struct pool_take *t, const json_t *pools);
/* Call when the registration of this host has changed. */
void pool_take_look(struct pool_take *t);

/* ---- pool_edit.c ---- */

enum pool_edit_op { POOL_ADD, POOL_REMOVE, POOL_FORGET, POOL_LEAVE, POOL_EDIT_OP_MAX };
struct pool_edit;
struct pool_edit_setup {
	const struct kv_ops *ops;
	struct kv *kv; /* borrowed */
	const char *cluster, *self;
	const struct record_owner *owner; /* this host */
	const struct member *member;	  /* borrowed; POOL_LEAVE demands a registration */
	uint64_t id;			  /* of the request */
	enum pool_edit_op op;
	bool force;
	struct cluster_pool pool; /* of POOL_REMOVE only the name counts */
	const char *host;	  /* of POOL_FORGET */
	/* Called at the end with the answer's JSON, or with text NULL and the trouble; frees the
	 * object afterwards. */
	void (*on_end)(void *user, struct pool_edit *e, const char *text,
		       enum cluster_trouble trouble, const char *why);
	void *user;
};
#define POOL_NOT_REGISTERED                                                                     \
	"this host is not registered in the cluster, so its addresses are not known for sure; " \
	"see "                                                                                  \
	"'plenum cluster status'"
/* Begins a change. Returns 0; -EPERM for POOL_LEAVE if this host is not registered; or another
 * negative errno. */
int pool_edit_new(const struct pool_edit_setup *setup, struct pool_edit **ret);
/* Its requests must have ended, or the store must be closed. Accepts NULL, returns NULL. */
struct pool_edit *pool_edit_free(struct pool_edit *e);
uint64_t pool_edit_id(const struct pool_edit *e);

#endif
