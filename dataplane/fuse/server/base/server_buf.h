/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Message buffers of the server: slots of three sizes in address space that is reserved once. The
 * pages of a slot are allocated when it is first written, and return to the system when the slot is
 * unused for a while. The slot that was freed last is used first, so that as few slots as possible
 * need memory. After buf_pool_init() the pool never grows and never calls malloc. One thread uses
 * it.
 */
#ifndef PLENUM_SERVER_BUF_H
#define PLENUM_SERVER_BUF_H

#include "netcfg/base/base.h"

#define BUF_CLASSES 3
#define BUF_PEERS 16384 /* count of peer numbers; larger than the maximum number of sessions */
/* Number of ranges of message sizes. Messages in the same range can use the same classes of slots,
 * with the same limits. */
#define BUF_SIZES 4
#define BUF_NOBODY 0 /* peer number for buffers without a limit */
/* Space before the data of each buffer, for the user of the buffer. */
#define BUF_HEADROOM_BYTES 512

struct buf_class {
	size_t slot_bytes; /* size of a slot in bytes, including headroom */
	unsigned n_slots;
	uint8_t *base;
	uint16_t *stack; /* free slots; the slot freed last is on top */
	unsigned n_free;
	unsigned n_free_min; /* minimum of n_free since the last trim: this many slots were not
				needed */
	unsigned n_clean;    /* stack[0] to stack[n_clean - 1] have no pages */
	uint16_t *peers;     /* for each slot: the number of the peer that uses it, and two flags.
				PEER_LARGE: the slot has a large message; PEER_TRIAL: the peer is on
				trial */
	unsigned n_large;    /* count of slots with large messages */
	unsigned n_trial;    /* count of slots of peers on trial */
	bool pinned; /* the class is registered with an RDMA device, so its pages must not be
			freed */
};

struct buf_pool {
	struct buf_class classes[BUF_CLASSES];
	/* Count of slots that each peer uses, by class, for small and for large messages. */
	uint16_t (*held)[BUF_CLASSES][2];
};

/* Initialises a pool in memory: buf_pool_bytes() bytes of shared, reserved address space, which the
 * pool uses until buf_pool_done(). Returns 0 or -ENOMEM. */
int buf_pool_init(struct buf_pool *p, uint8_t *memory);
size_t buf_pool_bytes(void);
/* Returns the class with the smallest slots that hold len bytes of data; *ret_slots: how many slots
 * it has. */
unsigned buf_pool_class(size_t len, unsigned *ret_slots);
/* buf_pool_size: returns the range of sizes to which len belongs. buf_pool_size_bytes: returns the
 * largest size in a range. A peer that can get a buffer for one size of a range can get one for any
 * size of it. */
unsigned buf_pool_size(size_t len);
size_t buf_pool_size_bytes(unsigned size);
void buf_pool_done(struct buf_pool *p);
/* Returns a buffer for len bytes of data, aligned to 64; its BUF_HEADROOM_BYTES are before the
 * returned pointer. Returns NULL if none is free, or if len exceeds the largest slot. */
void *buf_pool_get(struct buf_pool *p, size_t len);
/* Like buf_pool_get(), but limits the buffers of each peer (numbers from 1), so that a peer that
 * never frees its buffers cannot use up a class. Messages above 16 KiB may use at most three
 * quarters of a class.
 */
void *buf_pool_get_for(struct buf_pool *p, unsigned peer, size_t len);
bool buf_pool_fits_for(const struct buf_pool *p, unsigned peer, size_t len);
/* Like buf_pool_get_for(). trial: the peer is on trial, because it has not shown yet that it frees
 * its buffers. All peers on trial together may use only half of a class. */
void *buf_pool_get_as(struct buf_pool *p, unsigned peer, bool trial, size_t len);
bool buf_pool_fits_as(const struct buf_pool *p, unsigned peer, bool trial, size_t len);
/* _is_scarce: returns whether a quarter of the buffers for len bytes is in use, so that they must
 * be shared among hosts. _is_short: returns whether less than an eighth of them is free or, if
 * `trial` is set, none of the half that peers on trial may use. */
bool buf_pool_is_scarce(const struct buf_pool *p, size_t len);
bool buf_pool_is_short(const struct buf_pool *p, bool trial, size_t len);
/* Gives a buffer back to the pool. data: what buf_pool_get() returned, or NULL. */
void buf_pool_put(struct buf_pool *p, void *data);
/* Returns in *ret_base and *ret_bytes the memory of the classes from `first` on, for the caller to
 * register with a device. The pool no longer frees pages of these classes. */
void buf_pool_pin(struct buf_pool *p, unsigned first, void **ret_base, size_t *ret_bytes);
/* Like buf_pool_get_for(), for a buffer of the largest class. */
void *buf_pool_get_largest(struct buf_pool *p, unsigned peer);
/* Frees the pages of slots that were not needed since the last call. */
void buf_pool_trim(struct buf_pool *p);

#endif
