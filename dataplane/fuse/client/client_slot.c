/* SPDX-License-Identifier: BSD-3-Clause */
/* Manages the slots of requests in flight, and finds the slot of a request by its number, for
 * INTERRUPT. */
#include "dataplane/fuse/client/fuse_client_internal.h"

#include <string.h>
#include <sys/mman.h>

#define REQ_SMALL_BYTES (CLIENT_SMALL_BYTES - FUSE_PROTO_REQ_TAIL_MAX)
#define SMALL_AREA_BYTES ((size_t)CLIENT_SLOTS * 2 * CLIENT_SMALL_BYTES)

/* Bit in the numbers of requests that the client itself makes: the kernel's numbers never get so
 * large. */
#define SLOT_UNIQUE_INTERNAL (1ULL << 62)

static void slot_push(struct fuse_client *f, struct client_slot *s)
{
	struct client_slot **stack =
		s - f->slots < CLIENT_SLOTS - CLIENT_SLOTS_INTERNAL ? &f->free : &f->free_internal;

	s->next = *stack;
	*stack = s;
}

int client_slots_init(struct fuse_client *f, bool takes_rdma)
{
	void *area = mmap(NULL, SMALL_AREA_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int r;

	if (area == MAP_FAILED)
		return -ENOMEM;
	(void)madvise(area, SMALL_AREA_BYTES, MADV_NOHUGEPAGE);
	f->small_area = area;
	r = client_pool_init(&f->pool, takes_rdma);
	if (r == 0)
		r = client_pool_init(&f->parsed, false);
	if (r < 0)
		return r;
	f->read_buf = f->request = client_slot_req_buf(f);
	/* Allocate the buffer's pages now, for the reason that client_slot_take() gives. */
	client_pool_populate(&f->pool, f->read_buf, REQ_SMALL_BYTES);
	f->pending.next = f->pending.prev = &f->pending;
	f->oldest.newer = f->oldest.older = &f->oldest;
	for (unsigned i = CLIENT_SLOTS; i-- > 0;) {
		struct client_slot *s = &f->slots[i];

		s->small = f->small_area + (size_t)i * 2 * CLIENT_SMALL_BYTES;
		slot_push(f, s);
	}
	return 0;
}

void client_slots_done(struct fuse_client *f)
{
	client_pool_done(&f->pool);
	client_pool_done(&f->parsed);
	if (f->small_area)
		munmap(f->small_area, SMALL_AREA_BYTES);
	f->small_area = NULL;
}

/* Resets the slot, but keeps its serial and increments it, so that the next use of the slot has
 * another cookie. */
static void slot_reset(struct client_slot *s)
{
	*s = (struct client_slot){.small = s->small, .serial = (uint16_t)(s->serial + 1)};
}

/* Takes the first free slot for a request. */
static void slot_begin(struct fuse_client *f, struct client_slot *s, uint32_t len, uint64_t now_ns)
{
	f->free = s->next;
	f->n_used++;
	slot_reset(s);
	s->req_len = len;
	s->arrived_ns = now_ns;
	f->n_unanswered++;
	s->newer = &f->oldest;
	s->older = f->oldest.older;
	s->older->newer = s;
	f->oldest.older = s;
}

void client_slots_warm(struct fuse_client *f)
{
	f->largest = MIN_OF(f->state.head->largest, (uint32_t)CLIENT_POOL_BUF_BYTES);
	client_pool_populate(&f->pool, f->read_buf, f->largest);
}

uint8_t *client_slot_req_buf(struct fuse_client *f)
{
	return client_pool_get(&f->pool, 0, FUSE_PROTO_WRITE_DATA);
}

bool client_slot_resp_get(struct fuse_client *f, struct client_slot *s)
{
	s->resp = s->opcode == FUSE_READ
			  ? client_pool_get(&f->pool, CLIENT_READ_RESERVE, FUSE_PROTO_READ_DATA)
			  : client_pool_get(&f->parsed, 0, FUSE_PROTO_READ_DATA);
	return s->resp;
}

static void resp_put(struct fuse_client *f, struct client_slot *s)
{
	if (s->opcode == FUSE_READ)
		client_pool_put(&f->pool, s->resp, 0);
	else
		client_pool_put(&f->parsed, s->resp, s->resp_max);
	s->resp = NULL;
}

void client_slot_request_copy(struct fuse_client *f, size_t n)
{
	f->request = f->read_buf;
	if (n > REQ_SMALL_BYTES || !f->free)
		return;
	f->request = f->free->small;
	memcpy(f->request, f->read_buf, n);
}

struct client_slot *client_slot_take(struct fuse_client *f, uint32_t len, uint64_t now_ns)
{
	struct client_slot *s = f->free;
	void *next_buf = NULL;

	if (!s)
		return NULL;
	if (len > REQ_SMALL_BYTES) {
		next_buf = client_slot_req_buf(f);
		if (!next_buf)
			return NULL;
	}
	slot_begin(f, s, len, now_ns);
	if (next_buf) {
		s->req = f->read_buf;
		f->read_buf = next_buf;
		/* If a worker is killed while the kernel copies a request into memory without
		 * pages, the program gets an error. So allocate the pages of the next buffer up to
		 * the length of the largest request so far. */
		if (len > f->largest)
			f->largest = f->state.head->largest = len;
		client_pool_populate(&f->pool, f->read_buf, f->largest);
	} else {
		s->req = s->small;
		if (f->request != s->req) /* the request was copied into the slot that was free
					     first then, but a stage has freed another slot since */
			memcpy(s->req, f->request, len);
	}
	return s;
}

struct client_slot *client_slot_borrow(struct fuse_client *f, uint8_t *req, uint32_t len,
				       uint64_t now_ns)
{
	struct client_slot *s = f->free;

	slot_begin(f, s, len, now_ns);
	s->req = req;
	return s;
}

struct client_slot *client_slot_internal(struct fuse_client *f, enum client_slot_kind kind,
					 uint32_t opcode, const void *arg, size_t arg_len)
{
	struct client_slot *s = f->free_internal;
	struct fuse_in_header in = {.len = (uint32_t)(sizeof(in) + arg_len), .opcode = opcode};

	if (!s)
		return NULL;
	f->free_internal = s->next;
	f->n_used++;
	slot_reset(s);
	/* Store the new count before its number is used, so that a successor never uses the same
	 * number. */
	client_publish(&f->state.head->internal_requests, f->state.head->internal_requests + 1);
	in.unique = SLOT_UNIQUE_INTERNAL | f->state.head->internal_requests << 1;
	s->kind = kind;
	s->opcode = opcode;
	s->unique = in.unique;
	s->req = s->small;
	s->req_len = in.len;
	s->answered = true; /* the kernel gets no reply */
	memcpy(s->req, &in, sizeof(in));
	memcpy(s->req + sizeof(in), arg, arg_len);
	s->resp_max = fuse_proto_resp_max(opcode, 0);
	return s;
}

void client_slot_answered(struct fuse_client *f, struct client_slot *s)
{
	if (s->answered)
		return;
	s->answered = true;
	f->n_unanswered--;
	s->older->newer = s->newer;
	s->newer->older = s->older;
	s->older = s->newer = NULL;
	if (s->interrupted)
		f->n_interrupted--;
}

void client_slot_free(struct fuse_client *f, struct client_slot *s)
{
	client_slot_answered(f, s);
	if (s->state == CLIENT_SLOT_PENDING)
		client_slot_unqueue(f, s);
	else if (s->state == CLIENT_SLOT_SENT)
		f->n_sent--;
	if (f->area && s->worker_slot)
		client_mount_worker_end(f, s);
	else if (s->req && s->req != s->small && s->kind != CLIENT_SLOT_WRITE_BACK)
		client_pool_put(&f->pool, s->req, s->req_len + FUSE_PROTO_REQ_TAIL_MAX);
	if (s->resp)
		resp_put(f, s);
	for (unsigned i = 0; i < ARRAY_SIZE(s->nodes); i++)
		if (s->nodes[i])
			client_node_unpin(&f->nodes, s->nodes[i]);
	s->req = NULL;
	s->state = CLIENT_SLOT_FREE;
	slot_push(f, s);
	f->n_used--;
	f->flush_wanted = true;
}

void client_slot_queue(struct fuse_client *f, struct client_slot *s)
{
	if (s->state == CLIENT_SLOT_SENT)
		f->n_sent--;
	s->state = CLIENT_SLOT_PENDING;
	s->next = &f->pending;
	s->prev = f->pending.prev;
	s->prev->next = s;
	f->pending.prev = s;
	f->n_pending++;
	f->flush_wanted = true;
}

void client_slot_unqueue(struct fuse_client *f, struct client_slot *s)
{
	s->prev->next = s->next;
	s->next->prev = s->prev;
	s->prev = s->next = NULL;
	f->n_pending--;
}

/* A linear search is fast enough, because only INTERRUPT needs it. */
struct client_slot *client_slot_find(struct fuse_client *f, uint64_t unique)
{
	uint64_t mask = ~FUSE_PROTO_UNIQUE_RESEND;

	for (unsigned i = 0; i < CLIENT_SLOTS; i++)
		if (f->slots[i].state != CLIENT_SLOT_FREE && !f->slots[i].answered &&
		    (f->slots[i].unique & mask) == (unique & mask))
			return &f->slots[i];
	return NULL;
}

uint64_t client_slot_cookie(const struct fuse_client *f, const struct client_slot *s)
{
	return ((uint64_t)s->serial << 16) | (uint64_t)(s - f->slots);
}

struct client_slot *client_slot_from_cookie(struct fuse_client *f, uint64_t cookie)
{
	uint64_t i = cookie & 0xffff;

	if (i >= CLIENT_SLOTS || f->slots[i].state != CLIENT_SLOT_SENT ||
	    client_slot_cookie(f, &f->slots[i]) != cookie)
		return NULL;
	return &f->slots[i];
}
