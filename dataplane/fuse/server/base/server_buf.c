/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The buffer pool of the server. Slots that were used recently keep their memory, because
 * allocating it for each message would slow the server down.
 */
#include "dataplane/fuse/server/base/server_buf.h"
#include "dataplane/rudp/rudp.h"
#include <sys/mman.h>

/* Number of data bytes in a slot of each class. The largest class is for a message of 1 MiB and its
 * headers.
 */
#define CLASS_0_BYTES (8192 - BUF_HEADROOM_BYTES)
#define CLASS_1_BYTES ((128 << 10) + 4096 - BUF_HEADROOM_BYTES)
#define CLASS_2_BYTES ((1 << 20) + 8192 - BUF_HEADROOM_BYTES)

static const struct {
	size_t data_bytes;
	unsigned n_slots;
} buf_sizes[BUF_CLASSES] = {{CLASS_0_BYTES, 8192}, {CLASS_1_BYTES, 512}, {CLASS_2_BYTES, 64}};

/* The largest message of each range of sizes. A class has two ranges if it limits messages above
 * RUDP_SMALL_BYTES. */
static const size_t buf_range_bytes[BUF_SIZES] = {CLASS_0_BYTES, RUDP_SMALL_BYTES, CLASS_1_BYTES,
						  CLASS_2_BYTES};

/* Flags in buf_class.peers, see there. */
#define PEER_LARGE 0x8000U
#define PEER_TRIAL 0x4000U
_Static_assert(BUF_PEERS <= PEER_TRIAL, "a peer number and two flags fit 16 bits");

size_t buf_pool_bytes(void)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < BUF_CLASSES; i++)
		bytes += (buf_sizes[i].data_bytes + BUF_HEADROOM_BYTES) * buf_sizes[i].n_slots;
	return bytes;
}

int buf_pool_init(struct buf_pool *p, uint8_t *memory)
{
	*p = (struct buf_pool){.held = calloc(BUF_PEERS, sizeof(*p->held))};
	if (!p->held)
		return -ENOMEM;
	for (unsigned i = 0; i < BUF_CLASSES; i++) {
		struct buf_class *c = &p->classes[i];

		c->slot_bytes = buf_sizes[i].data_bytes + BUF_HEADROOM_BYTES;
		c->n_slots = buf_sizes[i].n_slots;
		c->stack = malloc(c->n_slots * sizeof(c->stack[0]));
		c->peers = calloc(c->n_slots, sizeof(c->peers[0]));
		c->base = memory;
		memory += c->slot_bytes * c->n_slots;
		if (!c->stack || !c->peers) {
			buf_pool_done(p);
			return -ENOMEM;
		}
		for (unsigned k = 0; k < c->n_slots; k++)
			c->stack[k] = (uint16_t)(c->n_slots - 1 - k);
		c->n_free = c->n_free_min = c->n_clean = c->n_slots;
	}
	return 0;
}

void buf_pool_done(struct buf_pool *p)
{
	for (unsigned i = 0; i < BUF_CLASSES; i++) {
		struct buf_class *c = &p->classes[i];

		free(c->stack);
		free(c->peers);
		*c = (struct buf_class){};
	}
	free(p->held);
	p->held = NULL;
}

/* Returns how many slots of a class are free for a large message, or (not large) for a small
 * one. */
static unsigned buf_class_free(const struct buf_pool *p, unsigned class, bool large)
{
	const struct buf_class *c = &p->classes[class];
	unsigned most = class == BUF_CLASSES - 1 ? c->n_slots : c->n_slots - c->n_slots / 4;

	if (!large)
		return c->n_free;
	return c->n_large < most ? MIN_OF(c->n_free, most - c->n_large) : 0;
}

/* Returns the number of a class's free slots on which the limit of a peer is based. */
static unsigned buf_class_share(const struct buf_pool *p, unsigned class, bool large, bool trial)
{
	const struct buf_class *c = &p->classes[class];
	unsigned n_free = buf_class_free(p, class, large), most = c->n_slots / 2;

	if (!trial)
		return n_free;
	return c->n_trial < most ? MIN_OF(n_free, most - c->n_trial) : 0;
}

/* Returns the class that can give the peer a buffer of len bytes now, or BUF_CLASSES if no class
 * can. If the smallest class that fits is full, the next larger class is used. But the largest
 * class is reserved for messages that fit no other. */
static unsigned buf_class_for(const struct buf_pool *p, unsigned peer, bool trial, size_t len)
{
	bool large = len > RUDP_SMALL_BYTES;

	for (unsigned i = 0; i < BUF_CLASSES; i++) {
		unsigned n_free = peer == BUF_NOBODY ? p->classes[i].n_free
						     : buf_class_share(p, i, large, trial);

		if (len > p->classes[i].slot_bytes - BUF_HEADROOM_BYTES)
			continue;
		if (i == BUF_CLASSES - 1 &&
		    len <= p->classes[i - 1].slot_bytes - BUF_HEADROOM_BYTES)
			break;
		if (peer == BUF_NOBODY ? n_free > 0
				       : rudp_incast_allows(p->held[peer % BUF_PEERS][i][large],
							    n_free, p->classes[i].n_slots))
			return i;
	}
	return BUF_CLASSES;
}

bool buf_pool_fits_for(const struct buf_pool *p, unsigned peer, size_t len)
{
	return buf_class_for(p, peer, false, len) < BUF_CLASSES;
}

void *buf_pool_get(struct buf_pool *p, size_t len)
{
	return buf_pool_get_for(p, BUF_NOBODY, len);
}

bool buf_pool_fits_as(const struct buf_pool *p, unsigned peer, bool trial, size_t len)
{
	return buf_class_for(p, peer, trial, len) < BUF_CLASSES;
}

unsigned buf_pool_class(size_t len, unsigned *ret_slots)
{
	unsigned i = 0;

	while (i + 1 < BUF_CLASSES && len > buf_sizes[i].data_bytes)
		i++;
	*ret_slots = buf_sizes[i].n_slots;
	return i;
}

unsigned buf_pool_size(size_t len)
{
	unsigned i = 0;

	while (i + 1 < BUF_SIZES && len > buf_range_bytes[i])
		i++;
	return i;
}

size_t buf_pool_size_bytes(unsigned size)
{
	return buf_range_bytes[size];
}

static const struct buf_class *buf_class_of(const struct buf_pool *p, size_t len)
{
	unsigned n;

	return &p->classes[buf_pool_class(len, &n)];
}

bool buf_pool_is_scarce(const struct buf_pool *p, size_t len)
{
	const struct buf_class *c = buf_class_of(p, len);

	return c->n_free < c->n_slots - c->n_slots / 4;
}

bool buf_pool_is_short(const struct buf_pool *p, bool trial, size_t len)
{
	const struct buf_class *c = buf_class_of(p, len);

	return c->n_free < c->n_slots / 8 || (trial && c->n_trial >= c->n_slots / 2);
}

void *buf_pool_get_for(struct buf_pool *p, unsigned peer, size_t len)
{
	return buf_pool_get_as(p, peer, false, len);
}

void *buf_pool_get_as(struct buf_pool *p, unsigned peer, bool trial, size_t len)
{
	unsigned i = buf_class_for(p, peer, trial, len), slot;
	bool large = len > RUDP_SMALL_BYTES;
	struct buf_class *c;

	if (i == BUF_CLASSES)
		return NULL;
	c = &p->classes[i];
	c->n_free--;
	c->n_free_min = MIN_OF(c->n_free_min, c->n_free);
	c->n_clean = MIN_OF(c->n_clean, c->n_free);
	c->n_large += large;
	c->n_trial += trial;
	slot = c->stack[c->n_free];
	c->peers[slot] =
		(uint16_t)(peer % BUF_PEERS | (large ? PEER_LARGE : 0) | (trial ? PEER_TRIAL : 0));
	p->held[peer % BUF_PEERS][i][large]++;
	return c->base + (size_t)slot * c->slot_bytes + BUF_HEADROOM_BYTES;
}

void buf_pool_pin(struct buf_pool *p, unsigned first, void **ret_base, size_t *ret_bytes)
{
	*ret_base = p->classes[first].base;
	*ret_bytes = 0;
	for (unsigned i = first; i < BUF_CLASSES; i++) {
		p->classes[i].pinned = true;
		*ret_bytes += p->classes[i].slot_bytes * p->classes[i].n_slots;
	}
}

void *buf_pool_get_largest(struct buf_pool *p, unsigned peer)
{
	return buf_pool_get_for(p, peer,
				p->classes[BUF_CLASSES - 1].slot_bytes - BUF_HEADROOM_BYTES);
}

void buf_pool_put(struct buf_pool *p, void *data)
{
	uint8_t *at = data;

	if (!data)
		return;
	for (unsigned i = 0; i < BUF_CLASSES; i++) {
		struct buf_class *c = &p->classes[i];
		unsigned slot;
		bool large;

		if (at < c->base || at >= c->base + c->slot_bytes * c->n_slots)
			continue;
		slot = (unsigned)((size_t)(at - c->base) / c->slot_bytes);
		large = c->peers[slot] & PEER_LARGE;
		c->n_large -= large;
		c->n_trial -= (c->peers[slot] & PEER_TRIAL) != 0;
		p->held[c->peers[slot] & (PEER_TRIAL - 1)][i][large]--;
		c->stack[c->n_free++] = (uint16_t)slot;
		return;
	}
}

void buf_pool_trim(struct buf_pool *p)
{
	for (unsigned i = 0; i < BUF_CLASSES; i++) {
		struct buf_class *c = &p->classes[i];

		if (c->pinned)
			continue;
		/* The slots at the bottom of the stack have not been used since the last trim, so
		 * free their pages. */
		for (; c->n_clean < c->n_free_min; c->n_clean++)
			madvise(c->base + (size_t)c->stack[c->n_clean] * c->slot_bytes,
				c->slot_bytes, MADV_REMOVE);
		c->n_free_min = c->n_free;
	}
}
