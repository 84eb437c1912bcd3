/* SPDX-License-Identifier: BSD-3-Clause */
/* Slots of requests in flight, and the index by which an INTERRUPT finds the request it means. */
#include "dataplane/fuse/fuse_front_internal.h"

#include <string.h>
#include <sys/mman.h>

#define SMALL_AREA_BYTES ((size_t)FRONT_SLOTS * 2 * FRONT_SMALL_BYTES)

int front_slots_init(struct fuse_front *f)
{
	void *area = mmap(NULL, SMALL_AREA_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int r;

	if (area == MAP_FAILED)
		return -ENOMEM;
	(void)madvise(area, SMALL_AREA_BYTES, MADV_NOHUGEPAGE);
	f->small_area = area;
	r = front_pool_init(&f->pool);
	if (r < 0)
		return r;
	f->read_buf = front_pool_get(&f->pool, 0);
	f->pending.next = f->pending.prev = &f->pending;
	for (unsigned i = FRONT_SLOTS; i-- > 0;) {
		struct front_slot *s = &f->slots[i];

		s->small = f->small_area + (size_t)i * 2 * FRONT_SMALL_BYTES;
		s->next = f->free;
		f->free = s;
	}
	return 0;
}

void front_slots_done(struct fuse_front *f)
{
	front_pool_done(&f->pool);
	if (f->small_area)
		munmap(f->small_area, SMALL_AREA_BYTES);
	f->small_area = NULL;
}

struct front_slot *front_slot_take(struct fuse_front *f, uint32_t len)
{
	struct front_slot *s = f->free;
	void *next_buf = NULL;

	if (!s)
		return NULL;
	if (len > FRONT_SMALL_BYTES) {
		next_buf = front_pool_get(&f->pool, 0);
		if (!next_buf)
			return NULL;
	}
	f->free = s->next;
	f->n_used++;
	s->prev = s->next = NULL;
	s->req_len = len;
	s->resp = NULL;
	s->resp_lent = false;
	s->orphan = false;
	s->serial++;
	if (next_buf) {
		s->req = f->read_buf;
		f->read_buf = next_buf;
	} else {
		s->req = s->small;
		memcpy(s->req, f->read_buf, len);
	}
	return s;
}

void front_slot_free(struct fuse_front *f, struct front_slot *s)
{
	if (s->state == FRONT_SLOT_PENDING)
		front_slot_unqueue(f, s);
	else if (s->state == FRONT_SLOT_SENT)
		f->n_sent--;
	if (s->req != s->small)
		front_pool_put(&f->pool, s->req, s->req_len);
	if (s->resp)
		front_pool_put(&f->pool, s->resp, 0);
	if (s->orphan)
		f->n_orphans--;
	s->req = s->resp = NULL;
	s->state = FRONT_SLOT_FREE;
	s->next = f->free;
	f->free = s;
	f->n_used--;
	f->flush_wanted = true;
}

void front_slot_queue(struct fuse_front *f, struct front_slot *s)
{
	if (s->state == FRONT_SLOT_SENT)
		f->n_sent--;
	s->state = FRONT_SLOT_PENDING;
	s->next = &f->pending;
	s->prev = f->pending.prev;
	s->prev->next = s;
	f->pending.prev = s;
	f->n_pending++;
	f->flush_wanted = true;
}

void front_slot_unqueue(struct fuse_front *f, struct front_slot *s)
{
	s->prev->next = s->next;
	s->next->prev = s->prev;
	s->prev = s->next = NULL;
	f->n_pending--;
}

/* Only an INTERRUPT asks, so a walk is good enough. */
struct front_slot *front_slot_find(struct fuse_front *f, uint64_t unique)
{
	uint64_t mask = ~FUSE_PROTO_UNIQUE_RESEND;

	for (unsigned i = 0; i < FRONT_SLOTS; i++)
		if (f->slots[i].state != FRONT_SLOT_FREE &&
		    (f->slots[i].unique & mask) == (unique & mask))
			return &f->slots[i];
	return NULL;
}

uint64_t front_slot_cookie(const struct fuse_front *f, const struct front_slot *s)
{
	return ((uint64_t)s->serial << 16) | (uint64_t)(s - f->slots);
}

struct front_slot *front_slot_from_cookie(struct fuse_front *f, uint64_t cookie)
{
	uint64_t i = cookie & 0xffff;

	if (i >= FRONT_SLOTS || f->slots[i].state != FRONT_SLOT_SENT ||
	    front_slot_cookie(f, &f->slots[i]) != cookie)
		return NULL;
	return &f->slots[i];
}

/* Copies the struct behind the header, if the request is long enough for it. */
static bool slot_arg(const void *req, uint32_t len, void *ret, size_t size)
{
	if (len < sizeof(struct fuse_in_header) + size)
		return false;
	memcpy(ret, (const uint8_t *)req + sizeof(struct fuse_in_header), size);
	return true;
}

uint32_t front_slot_resp_max(const void *req, uint32_t len)
{
	struct fuse_in_header h;
	struct fuse_read_in read;
	struct fuse_getxattr_in xattr;
	struct fuse_ioctl_in ioctl;
	uint32_t data = FRONT_SMALL_BYTES - sizeof(struct fuse_out_header);

	memcpy(&h, req, sizeof(h));
	switch (h.opcode) {
	case FUSE_READ:
	case FUSE_READDIR:
	case FUSE_READDIRPLUS:
		if (slot_arg(req, len, &read, sizeof(read)))
			data = MAX_OF(data, read.size);
		break;
	case FUSE_GETXATTR:
	case FUSE_LISTXATTR:
		if (slot_arg(req, len, &xattr, sizeof(xattr)))
			data = MAX_OF(data, xattr.size);
		break;
	case FUSE_IOCTL:
		if (slot_arg(req, len, &ioctl, sizeof(ioctl)))
			data = MAX_OF(data, ioctl.out_size);
		break;
	default:
		break;
	}
	data = MIN_OF(data, (uint32_t)(RUDP_MSG_BYTES_MAX - sizeof(struct fuse_out_header)));
	return data + (uint32_t)sizeof(struct fuse_out_header);
}

bool front_opcode_has_reply(uint32_t opcode)
{
	return opcode != FUSE_FORGET && opcode != FUSE_BATCH_FORGET && opcode != FUSE_INTERRUPT;
}
