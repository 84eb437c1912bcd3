/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Holds back the requests of a mount that exceed its limits of throughput and of operations. They
 * wait in the client in their order of arrival, so they occupy no memory and no processor at the
 * server. All workers of the mount share the limits and the buckets, which are in the head of the
 * mount's state.
 */
#include "dataplane/fuse/client/fuse_client_internal.h"

#include <fcntl.h>
#include <string.h>

/* Interval of checks while requests are held back. */
#define LOOK_NS (100 * NSEC_PER_MSEC)
/* Slots and large buffers that requests which wait for a limit leave free for other requests. */
#define FREE_SLOTS CLIENT_READ_RESERVE
#define FREE_BUFS CLIENT_READ_RESERVE

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

/* Returns whether the limits apply to the request. They do not apply to requests that end a use,
 * such as close and unlock, because other programs may wait for these. */
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
	const uint64_t until_ns = f->limits.now_ns + CLIENT_LIMITS_SHOWN_NS;

	if (s->held_ns == 0)
		s->held_ns = f->limits.now_ns;
	/* The owner of the mount may raise the limits before that time. */
	due_ns = MIN_OF(due_ns, f->limits.now_ns + LOOK_NS);
	f->limits.due_ns = MIN_OF(f->limits.due_ns, due_ns);
	if (__atomic_load_n(&l->held_until_ns, __ATOMIC_RELAXED) < until_ns)
		__atomic_store_n(&l->held_until_ns, until_ns, __ATOMIC_RELAXED);
	return -ENOMEM;
}

/* Returns whether the request starts before the limit allows it. Later requests then wait longer,
 * so the average rate stays the same. */
static bool starts_unpaid(const struct fuse_client *f, const struct client_slot *s, uint64_t due_ns)
{
	/* The predecessor may have sent this request, or this client may have sent it in the former
	 * session. The server recognises the repetition only while the request is among its latest
	 * ones. So a late repetition would be executed twice. */
	if (client_slot_is_resent(s))
		return true;
	/* The worker ends now. If the kernel cannot resend requests to its successor, the program
	 * would never get a reply. */
	if (f->limits.stopping)
		return true;
	return f->limits.n_too_many > 0 && due_ns < f->limits.now_ns + CLIENT_RATE_AHEAD_NS;
}

/* Counts how many held requests must start in spite of the limit, so that free slots and buffers
 * remain. Without them the kernel could pass no request to the client, not even one without a
 * limit. */
static void count_too_many(struct fuse_client *f)
{
	const unsigned slots = CLIENT_SLOTS - CLIENT_SLOTS_INTERNAL - FREE_SLOTS;
	const unsigned bufs =
		CLIENT_POOL_BUFS - 1 - FREE_BUFS; /* one buffer is for the next read */
	unsigned n = 0, n_large = 0;

	for (const struct client_slot *s = f->pending.next; s != &f->pending; s = s->next) {
		const bool waits = s->kind == CLIENT_SLOT_KERNEL && !s->paid && is_limited(s);

		n += waits;
		n_large += waits && !f->area && s->req != s->small;
	}
	f->limits.n_too_many = MAX_OF(n - MIN_OF(n, slots), n_large - MIN_OF(n_large, bufs));
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
	if (due_ns > 0 && !starts_unpaid(f, s, due_ns))
		return hold(f, s, due_ns);
	f->limits.n_too_many -= f->limits.n_too_many > 0;
	client_rate_take(&operations, &l->operations_paid_ns, 1, now_ns);
	if (data_bytes(s) > 0)
		client_rate_take(&bytes, &l->bytes_paid_ns, data_bytes(s), now_ns);
	s->paid = true;
	if (s->held_ns == 0)
		return 0;
	__atomic_fetch_add(&l->waited_ns, now_ns - MIN_OF(s->held_ns, now_ns), __ATOMIC_RELAXED);
	/* The request starts now, so its timeout and its leases count from now. */
	s->arrived_ns = now_ns;
	s->held_ns = 0;
	return 0;
}

/* A READ at the end of a file returns fewer bytes than it requests, so gives back the units of the
 * rest. */
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
	if (!f->flush_wanted)
		return;
	f->limits.due_ns = UINT64_MAX; /* the requests that must still wait set it again */
	count_too_many(f);
}

/* Without a session no request can start. A due time would only make the loop call the client again
 * and again. */
static uint64_t limits_due(struct fuse_client *f, uint64_t now_ns)
{
	if (f->link != CLIENT_READY)
		return UINT64_MAX;
	return f->limits.due_ns == UINT64_MAX ? UINT64_MAX : MAX_OF(f->limits.due_ns, now_ns);
}

/* Sets one limit. Requests that have started under the former limit do not delay later requests at
 * the new rate. */
static void set_rate(struct client_shared_limits *l, uint64_t *per_s, uint64_t *paid_ns,
		     uint64_t to, uint64_t now_ns)
{
	if (__atomic_load_n(per_s, __ATOMIC_RELAXED) == to)
		return;
	__atomic_store_n(per_s, to, __ATOMIC_RELAXED);
	if (__atomic_load_n(paid_ns, __ATOMIC_RELAXED) > now_ns)
		__atomic_store_n(paid_ns, now_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&l->held_until_ns, 0, __ATOMIC_RELAXED);
}

static void set(struct fuse_client *f, const struct launch_limits *to, uint64_t now_ns)
{
	struct client_shared_limits *l = shared_of(f);

	set_rate(l, &l->bytes_per_s, &l->bytes_paid_ns, to->bytes_per_s, now_ns);
	set_rate(l, &l->operations_per_s, &l->operations_paid_ns, to->operations_per_s, now_ns);
}

static bool is_some(const struct launch_limits *l)
{
	return l->bytes_per_s > 0 || l->operations_per_s > 0;
}

/* Only the owner of the mount sets the limits, because mount workers do not have them in their
 * configuration. */
void client_limits_start(struct fuse_client *f, uint64_t now_ns)
{
	f->limits.now_ns = now_ns;
	f->limits.due_ns = UINT64_MAX;
	f->limits.is_on = f->area || is_some(&f->mount->limits);
	if (!f->area)
		set(f, &f->mount->limits, now_ns);
}

static bool limits_is_on(const struct fuse_client *f)
{
	return f->limits.is_on;
}

unsigned client_limits_held(const struct fuse_client *f)
{
	unsigned n = 0;

	if (!f->limits.is_on)
		return 0;
	for (const struct client_slot *s = f->pending.next; s != &f->pending; s = s->next)
		n += s->held_ns != 0;
	return n;
}

void fuse_client_set_limits(struct fuse_client *f, const struct launch_limits *to)
{
	const bool was_on = f->limits.is_on;

	set(f, to, client_clock_refresh(f, f->limits.now_ns));
	/* The stage stays active after an apply has removed the limits, because this worker or a
	 * mount worker may still hold requests. */
	f->limits.is_on = is_some(to) || client_limits_held(f) > 0 || (was_on && f->dispatch);
	f->limits.due_ns = f->limits.is_on ? 0 : UINT64_MAX;
	client_stages_select(f);
}

void client_limits_stop(struct fuse_client *f)
{
	if (f->limits.stopping)
		return;
	f->limits.stopping = true;
	f->limits.due_ns = 0;
}

void client_limits_count(struct fuse_client *f, uint64_t bytes, uint64_t now_ns)
{
	struct client_shared_limits *l = shared_of(f);
	const struct client_rate rate = bytes_rate(l);

	if (f->limits.is_on)
		client_rate_take(&rate, &l->bytes_paid_ns, bytes, now_ns);
}

bool client_limits_exceeded(const struct fuse_client *f, uint64_t now_ns)
{
	struct client_shared_limits *l = shared_of(f);
	const struct client_rate bytes = bytes_rate(l), operations = operations_rate(l);

	return f->limits.is_on &&
	       (client_rate_due(&bytes, &l->bytes_paid_ns, now_ns) > 0 ||
		client_rate_due(&operations, &l->operations_paid_ns, now_ns) > 0);
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
	.holds = limits_holds,
	.reply = limits_reply,
	.flush = limits_flush,
	.due = limits_due,
};
