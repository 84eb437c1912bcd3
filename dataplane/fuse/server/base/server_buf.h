/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Message buffers of the server: slots of three sizes in address space that is reserved once. A
 * slot's pages are allocated at the first write; slots that are unused for a while return theirs.
 * The slot freed last is used first, so the working set stays small. After buf_pool_init the pool
 * never grows and never calls malloc. One thread uses it.
 */
#ifndef PLENUM_SERVER_BUF_H
#define PLENUM_SERVER_BUF_H

#include "netcfg/base/base.h"

#define BUF_CLASSES 3
#define BUF_PEERS 16384 /* must be more than the number of sessions */
#define BUF_SIZES 4	/* number of ranges of message sizes within which sizes are treated alike */
#define BUF_NOBODY 0	/* peer number for buffers without a limit */
/* Space before the data of each buffer, in which the owner of the buffer keeps its own data. */
#define BUF_HEADROOM_BYTES 512

struct buf_class {
	size_t slot_bytes; /* with headroom */
	unsigned n_slots;
	uint8_t *base;
	uint16_t *stack; /* free slots; the one freed last is on top */
	unsigned n_free;
	unsigned n_free_min; /* minimum of n_free since the last trim: so many slots were never
				needed */
	unsigned n_clean;    /* stack[0] to stack[n_clean - 1] have no pages */
	uint16_t *peers;  /* the peer that uses each slot, with two flags: PEER_LARGE: for a large
			     message; PEER_TRIAL: on trial */
	unsigned n_large; /* slots used by large messages */
	unsigned n_trial; /* slots used by peers on trial */
	bool pinned;	  /* registered with an RDMA device, so pages must stay */
};

struct buf_pool {
	struct buf_class classes[BUF_CLASSES];
	/* Slots used by each peer, for small and for large messages. */
	uint16_t (*held)[BUF_CLASSES][2];
};

/* memory: buf_pool_bytes() bytes of shared, reserved address space, which the pool uses until
 * buf_pool_done(). Returns 0 or -ENOMEM. */
int buf_pool_init(struct buf_pool *p, uint8_t *memory);
size_t buf_pool_bytes(void);
/* The class with the smallest slots for len bytes of data, and how many slots it has. */
unsigned buf_pool_class(size_t len, unsigned *ret_slots);
/* The range of sizes to which len belongs, and a range's largest size. If there is a buffer for one
 * size of a range, there is one for all of them. */
unsigned buf_pool_size(size_t len);
size_t buf_pool_size_bytes(unsigned size);
void buf_pool_done(struct buf_pool *p);
/* Returns a buffer for len bytes of data, aligned to 64; its BUF_HEADROOM_BYTES are before the
 * returned pointer. NULL: none is free, or len exceeds the largest slot. */
void *buf_pool_get(struct buf_pool *p, size_t len);
/* Like buf_pool_get, but with a limit for each peer (1 and up), so that a peer that never returns
 * buffers cannot exhaust a class. Messages above 16 KiB may use at most three quarters of a class.
 */
void *buf_pool_get_for(struct buf_pool *p, unsigned peer, size_t len);
bool buf_pool_fits_for(const struct buf_pool *p, unsigned peer, size_t len);
/* The same. trial: the peer may never return the buffer; all such peers together may use half of a
 * class. */
void *buf_pool_get_as(struct buf_pool *p, unsigned peer, bool trial, size_t len);
bool buf_pool_fits_as(const struct buf_pool *p, unsigned peer, bool trial, size_t len);
/* Whether so many buffers for len bytes are in use (a quarter of the class) that they must be
 * shared; and whether hardly any is free: an eighth of the class or, for peers on trial, none of
 * their half. */
bool buf_pool_is_scarce(const struct buf_pool *p, size_t len);
bool buf_pool_is_short(const struct buf_pool *p, bool trial, size_t len);
/* Gives a buffer back to the pool. data: what buf_pool_get() returned, or NULL. */
void buf_pool_put(struct buf_pool *p, void *data);
/* Returns the memory of the classes from `first` on; their pages stay allocated from now on. */
void buf_pool_pin(struct buf_pool *p, unsigned first, void **ret_base, size_t *ret_bytes);
/* Like buf_pool_get_for(), for a buffer of the largest class. */
void *buf_pool_get_largest(struct buf_pool *p, unsigned peer);
/* Returns the pages of slots that were not needed since the last call to the kernel. */
void buf_pool_trim(struct buf_pool *p);

#endif
