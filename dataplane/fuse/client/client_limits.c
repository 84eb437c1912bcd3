/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Holds back the requests of a mount that exceed its limits of throughput and of operations. They
 * wait in this client, in the order in which they came, and use nothing of the server. All workers
 * of the mount share the limits and the buckets, which are in the head of the mount's state.
 */
#include "dataplane/fuse/client/fuse_client_internal.h"

#include <fcntl.h>
#include <string.h>

/* Interval of checks while requests are held back. */
#define LOOK_NS (100 * NSEC_PER_MSEC)

static struct client_shared_limits *shared_of(const struct fuse_client *f)
{
	return f->owner ? &f->owner->limits : &f->state.head->limits;
}

/* Bytes and operations have one bucket each. */
static struct client_rate bytes_rate(const struct client_shared_limits *l)
{
	return (struct client_rate){.per_s = __atomic_load_n(&l->bytes_per_s, __ATOMIC_RELAXED),
				    .most = CLIENT_POOL_BUF_BYTES};
}

static struct client_rate operations_rate(const struct client_shared_limits *l)
{
	return (struct client_rate){
		.per_s = __atomic_load_n(&l->operations_per_s, __ATOMIC_RELAXED), .most = 1};
}

/* Returns the bytes of file data of a READ or WRITE. */
static uint32_t data_bytes(const struct client_slot *s)
{
	struct fuse_read_in read;

	if (s->opcode == FUSE_WRITE)
		return s->req_len - MIN_OF(s->req_len, (uint32_t)FUSE_PROTO_WRITE_DATA);
	if (s->opcode != FUSE_READ || s->req_len < sizeof(struct fuse_in_header) + sizeof(read))
		return 0;
	memcpy(&read, s->req + sizeof(struct fuse_in_header), sizeof(read));
	return read.size;
}

static bool unlocks(const struct client_slot *s)
{
	struct fuse_lk_in lk;

	if ((s->opcode != FUSE_SETLK && s->opcode != FUSE_SETLKW) ||
	    s->req_len < sizeof(struct fuse_in_header) + sizeof(lk))
		return false;
	memcpy(&lk, s->req + sizeof(struct fuse_in_header), sizeof(lk));
	return lk.lk.type == F_UNLCK;
}

/* Returns whether the limits apply to the request. A program that ends, or frees something for
 * others, never waits for them. */
static bool is_limited(const struct client_slot *s)
{
	switch (s->opcode) {
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
	case FUSE_DESTROY:
		return false;
	case FUSE_WRITE:
		return true;
	default:
		return s->kind == CLIENT_SLOT_KERNEL && !unlocks(s);
	}
}

bool client_limits_hold(const struct client_slot *s)
{
	return s->held_ns != 0;
}

static int hold(struct fuse_client *f, struct client_slot *s, uint64_t due_ns)
{
	struct client_shared_limits *l = shared_of(f);
	const uint64_t until_ns = MAX_OF(due_ns, f->limits.now_ns) + CLIENT_LIMITS_SHOWN_NS;

	if (s->held_ns == 0)
		s->held_ns = f->limits.now_ns;
	/* The owner of the mount may raise the limits before that time. */
	due_ns = MIN_OF(due_ns, f->limits.now_ns + LOOK_NS);
	f->limits.due_ns = MIN_OF(f->limits.due_ns, due_ns);
	if (__atomic_load_n(&l->held_until_ns, __ATOMIC_RELAXED) < until_ns)
		__atomic_store_n(&l->held_until_ns, until_ns, __ATOMIC_RELAXED);
	return -ENOMEM;
}

static int limits_holds(struct fuse_client *f, struct client_slot *s)
{
	struct client_shared_limits *l = shared_of(f);
	const struct client_rate bytes = bytes_rate(l), operations = operations_rate(l);
	const uint64_t now_ns = f->limits.now_ns;
	uint64_t due_ns;

	if (s->paid || (bytes.per_s == 0 && operations.per_s == 0 && s->held_ns == 0) ||
	    !is_limited(s))
		return 0;
	due_ns = client_rate_due(&operations, &l->operations_paid_ns, now_ns);
	if (data_bytes(s) > 0)
		due_ns = MAX_OF(due_ns, client_rate_due(&bytes, &l->bytes_paid_ns, now_ns));
	if (due_ns > 0)
		return hold(f, s, due_ns);
	client_rate_take(&operations, &l->operations_paid_ns, 1, now_ns);
	if (data_bytes(s) > 0)
		client_rate_take(&bytes, &l->bytes_paid_ns, data_bytes(s), now_ns);
	s->paid = true;
	if (s->held_ns == 0)
		return 0;
	__atomic_fetch_add(&l->waited_ns, now_ns - MIN_OF(s->held_ns, now_ns), __ATOMIC_RELAXED);
	/* The request begins now: timeouts and leases count from here. */
	s->arrived_ns = now_ns;
	s->held_ns = 0;
	return 0;
}

/* A READ at the end of a file returns less than it asked for, and must not count for more. */
static void limits_reply(struct fuse_client *f, struct client_slot *s, void *msg, size_t len)
{
	struct client_shared_limits *l = shared_of(f);
	const struct client_rate bytes = bytes_rate(l);
	const size_t got = len - MIN_OF(len, sizeof(struct fuse_out_header));

	(void)msg;
	if (s->paid && s->opcode == FUSE_READ && got < data_bytes(s))
		client_rate_return(&bytes, &l->bytes_paid_ns, data_bytes(s) - got);
	s->paid = false;
}

static void limits_flush(struct fuse_client *f, uint64_t now_ns)
{
	f->limits.now_ns = now_ns;
	if (now_ns >= f->limits.due_ns)
		f->flush_wanted = true;
	if (f->flush_wanted) /* the requests that stay behind set it again */
		f->limits.due_ns = UINT64_MAX;
}

static uint64_t limits_due(struct fuse_client *f, uint64_t now_ns)
{
	return f->limits.due_ns == UINT64_MAX ? UINT64_MAX : MAX_OF(f->limits.due_ns, now_ns);
}

static void set(struct fuse_client *f, const struct launch_limits *to)
{
	struct client_shared_limits *l = shared_of(f);

	__atomic_store_n(&l->bytes_per_s, to->bytes_per_s, __ATOMIC_RELAXED);
	__atomic_store_n(&l->operations_per_s, to->operations_per_s, __ATOMIC_RELAXED);
}

/* The owner sets the limits, because only its configuration has them. */
static int limits_init(struct fuse_client *f)
{
	f->limits.due_ns = UINT64_MAX;
	f->limits.is_on =
		f->area || f->mount->limits.bytes_per_s || f->mount->limits.operations_per_s;
	if (!f->area)
		set(f, &f->mount->limits);
	return 0;
}

static bool limits_is_on(const struct fuse_client *f)
{
	return f->limits.is_on;
}

void fuse_client_set_limits(struct fuse_client *f, const struct launch_limits *to)
{
	set(f, to);
	/* The stage stays on when the limits go, for the requests that it holds. */
	f->limits.is_on = true;
	f->limits.due_ns = 0;
	client_stages_select(f);
}

void fuse_client_get_limited(const struct fuse_client *f, uint64_t now_ns, bool *ret_now,
			     uint64_t *ret_waited_ns)
{
	const struct client_shared_limits *l = shared_of(f);

	*ret_now = now_ns < __atomic_load_n(&l->held_until_ns, __ATOMIC_RELAXED) &&
		   (l->bytes_per_s || l->operations_per_s);
	*ret_waited_ns = __atomic_load_n(&l->waited_ns, __ATOMIC_RELAXED);
}

const struct client_stage client_limits_stage = {
	.is_on = limits_is_on,
	.init = limits_init,
	.holds = limits_holds,
	.reply = limits_reply,
	.flush = limits_flush,
	.due = limits_due,
};
