/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The other end of a lane: a front whose requests come from the mount's owner, if it does not read
 * them itself (fuse_front_reads.c). It has nodes and files of its own, those of the requests that
 * it gets, which the server takes for another mount's. Apart from fuse_front.c, which need not know
 * whom it serves.
 */
#include "dataplane/fuse/client/fuse_front_internal.h"

#include <string.h>
#include <sys/mman.h>

#define RESEND FUSE_PROTO_UNIQUE_RESEND
#define LANE_BACK_NS NSEC_PER_SEC /* a server that is away for so long is the owner's matter */
#define LANE_USELESS_NS (60 * NSEC_PER_SEC) /* so long one is that does not know lanes */

static struct lane_slot *slot_of(const struct fuse_front *f, const struct front_slot *s)
{
	return lane_slot_at(f->lane, f->reads, s->lane - 1);
}

/* ------------------------------------------------------------------ files */

static struct front_file *file_of(const struct fuse_front *f, const struct lane_file *lf)
{
	struct front_file *file;
	const struct front_node *node;

	if (lf->own == 0 || lf->own > f->state.head->n_files)
		return NULL;
	file = front_file_at(&f->files, lf->own - 1);
	if (!(file->flags & FRONT_FILE_USED) || file->flags & FRONT_FILE_CLOSING)
		return NULL;
	/* A lane of an earlier version in between, which knows not all records, may have given its
	 * number to another. */
	node = front_node_get(&f->nodes, file->nodeid);
	return node && node->handle_len == lf->handle_len &&
			       memcmp(node->handle, lf->handle, lf->handle_len) == 0
		       ? file
		       : NULL;
}

/* NULL: it cannot be had. */
static struct front_file *file_make(struct fuse_front *f, struct lane_file *lf)
{
	const struct front_file as = {.open_flags = lf->open_flags, .uid = lf->uid, .gid = lf->gid};
	struct front_node *node;
	struct front_file *file = file_of(f, lf);
	uint8_t len = lane_get(&lf->handle_len);

	if (file || len == 0 || len > FUSE_PROTO_HANDLE_MAX)
		return file;
	node = front_node_of(&f->nodes, lf->handle, len);
	file = node ? front_file_new(&f->files, node, &as) : NULL;
	if (file)
		front_publish(&lf->own, front_file_index(&f->files, file) + 1);
	else if (node)
		front_node_settle(&f->nodes, node);
	return file;
}

static void file_close(struct fuse_front *f, struct lane_file *lf, uint64_t now_ns)
{
	struct front_file *file = file_of(f, lf);

	if (file) {
		if (f->files.n_closing == 0)
			f->closing_ns = now_ns;
		front_file_close(&f->files, file);
	}
	lf->own = 0;
	lane_set(&lf->state, LANE_FILE_FREE);
}

static void files_close(struct fuse_front *f, uint64_t now_ns)
{
	uint64_t bits = lane_get(&f->lane->closing);

	if (PLENUM_LIKELY(bits == 0))
		return;
	/* Partner: front_deal_close(). */
	bits = __atomic_exchange_n(&f->lane->closing, 0, __ATOMIC_SEQ_CST);
	for (; bits; bits &= bits - 1)
		for (unsigned k = (unsigned)__builtin_ctzll(bits); k < LANE_FILES; k += 64) {
			struct lane_file *lf = lane_file_at(f->lane, f->more, k);

			if (lane_get(&lf->state) == LANE_FILE_CLOSING)
				file_close(f, lf, now_ns);
		}
}

/* A predecessor may have died between a file and its place. */
static void files_sweep(struct fuse_front *f)
{
	for (uint32_t i = 0; i < f->state.head->n_files; i++) {
		struct front_file *file = front_file_at(&f->files, i);
		bool named = false;

		if (!(file->flags & FRONT_FILE_USED) || file->flags & FRONT_FILE_CLOSING)
			continue;
		for (unsigned k = 0; k < LANE_FILES && !named; k++) {
			const struct lane_file *lf = lane_file_at(f->lane, f->more, k);

			named = lf->own == i + 1 && lane_get(&lf->state) != LANE_FILE_FREE;
		}
		if (!named)
			front_file_close(&f->files, file);
	}
}

/* ------------------------------------------------------------------ requests */

static void word_end(struct fuse_front *f, unsigned i, enum lane_state state)
{
	struct lane_area *a = f->lane;

	/* Partner: lane_reap() of the owner. */
	__atomic_fetch_or(&a->done, 1ULL << i, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (state == LANE_BACK || lane_get(&a->full))
		lane_ring(f->mount->bell_fd);
}

bool front_lane_again(struct fuse_front *f, unsigned i, uint32_t word)
{
	struct lane_slot *slot = lane_slot_at(f->lane, f->reads, i);
	bool is_read = i >= LANE_SLOTS;

	if (!(word & LANE_AGAIN) || word & LANE_CANCELLED)
		return false;
	/* What the kernel did not want then it wants now: the server is asked again, which knows
	 * what it has done already. Unless the kernel has it from a predecessor, by that number:
	 * what was said is said again. */
	slot->unique |= RESEND;
	if (!lane_swap(&slot->word, word, LANE_HANDED | (word & LANE_SAID)))
		return false;
	__atomic_fetch_or(is_read ? &f->reads->posted : &f->lane->posted,
			  1ULL << (is_read ? i - LANE_SLOTS : i), __ATOMIC_SEQ_CST);
	return true;
}

void front_lane_end(struct fuse_front *f, const struct front_slot *s)
{
	struct lane_slot *slot = slot_of(f, s);
	enum lane_state state = s->back ? LANE_BACK : s->heard ? LANE_DONE : LANE_UNHEARD;

	if (s->lane > LANE_SLOTS) {
		front_reads_end(f, s->lane - 1 - LANE_SLOTS, state);
		return;
	}
	for (;;) {
		uint32_t word = lane_get(&slot->word);

		if (state == LANE_UNHEARD && front_lane_again(f, s->lane - 1, word))
			return;
		/* Partner: claim_slot() of the owner. */
		if (lane_swap(&slot->word, word, state))
			break;
	}
	word_end(f, s->lane - 1, state);
}

bool front_lane_is_over(const struct fuse_front *f, const struct front_slot *s)
{
	return f->lane && s->lane && lane_get(&slot_of(f, s)->word) & LANE_CANCELLED;
}

void front_lane_renumber(struct fuse_front *f, struct front_slot *s)
{
	if (f->lane && s->lane && lane_get(&slot_of(f, s)->word) & LANE_AGAIN)
		s->unique |= RESEND;
}

/* Numbers of the owner's become ours. Whether it may be the first time that it is asked shows in
 * the number that the server gets. */
static int slot_bind(struct fuse_front *f, struct front_slot *s, bool again)
{
	struct lane_slot *slot = slot_of(f, s);
	struct lane_file *lf = lane_file_at(f->lane, f->more, slot->file);
	const size_t fh_at = sizeof(struct fuse_in_header) + offsetof(struct fuse_read_in, fh);
	struct front_file *file;
	struct fuse_in_header in;
	uint64_t fh;
	int r;

	_Static_assert(offsetof(struct fuse_read_in, fh) == offsetof(struct fuse_write_in, fh),
		       "data requests begin with their file");
	if (s->req_len < FUSE_PROTO_WRITE_DATA || lf->fh != slot->fh ||
	    lane_get(&lf->state) != LANE_FILE_OPEN)
		return -ESTALE;
	file = file_make(f, lf);
	if (!file)
		return -ENOMEM;
	memcpy(&in, s->req, sizeof(in));
	in.nodeid = file->nodeid;
	in.unique = slot->unique | (again ? RESEND : 0);
	memcpy(s->req, &in, sizeof(in));
	fh = front_file_fh(&f->files, file);
	memcpy(s->req + fh_at, &fh, sizeof(fh));
	r = front_request_bind(f, s);
	s->unique = slot->unique;
	s->refs.nodeids[0] = slot->nodeid; /* what the kernel is told is of its number */
	return r;
}

void front_lane_take(struct fuse_front *f, unsigned i, bool again, uint64_t now_ns)
{
	struct lane_slot *slot = lane_slot_at(f->lane, f->reads, i);
	uint32_t len = lane_get(&slot->len);
	struct front_slot *s;
	int r;

	/* Its tail is written after it. */
	s = front_slot_lend(f, lane_buf_at(f->lane, f->reads, i),
			    MIN_OF(len, FRONT_POOL_BUF_BYTES - FUSE_PROTO_REQ_TAIL_MAX), now_ns);
	s->lane = i + 1;
	r = slot_bind(f, s, again || slot->unique & RESEND);
	front_slot_queue(f, s);
	if (r == 0 || (!again && front_lane_back(s))) {
		if (r < 0)
			front_slot_free(f, s);
		return;
	}
	front_slot_fail(f, s, r);
}

/* The kernel may have heard it from our predecessor, and then does not want it. */
static void slot_say(struct fuse_front *f, unsigned i, uint64_t now_ns)
{
	struct lane_slot *slot = lane_slot_at(f->lane, f->reads, i);
	struct front_slot *s = front_slot_lend(f, lane_buf_at(f->lane, f->reads, i), 0, now_ns);
	struct fuse_out_header out;

	s->lane = i + 1;
	s->unique = slot->unique;
	front_lane_renumber(f, s);
	memcpy(&out, slot->said, sizeof(out));
	out.unique = s->unique;
	memcpy(slot->said, &out, sizeof(out));
	s->heard = front_reply(f, slot->said, MIN_OF(out.len, (uint32_t)sizeof(slot->said)));
	front_slot_free(f, s);
}

bool front_lane_look(struct fuse_front *f, unsigned i, uint64_t now_ns)
{
	struct lane_slot *slot = lane_slot_at(f->lane, f->reads, i);
	uint32_t word;

	if (!f->free)
		return false;
	do { /* partner: lane_desert() of the owner */
		word = lane_get(&slot->word);
		if (LANE_STATE(word) != LANE_HANDED)
			return true;
	} while (!lane_swap(&slot->word, word, (word & ~0xffU) | LANE_TAKEN));
	if (i >= LANE_SLOTS)
		front_reads_begin(f, i - LANE_SLOTS);
	if (word & LANE_SAID)
		slot_say(f, i, now_ns);
	else
		front_lane_take(f, i, false, now_ns);
	return true;
}

bool front_lane_takes_new(const struct fuse_front *f)
{
	return f->link == FRONT_READY && f->features & FUSE_PROTO_FEATURE_LANES && !f->owing &&
	       !f->resting && !f->gone;
}

int front_lane_pull(struct fuse_front *f, bool all, uint64_t now_ns)
{
	struct lane_area *a = f->lane;
	uint64_t bits, left = 0;
	int taken = 0;

	/* Who looks at all may sleep next. Partner: post() of the owner. */
	if (lane_get(&a->asleep) != all)
		__atomic_store_n(&a->asleep, all, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (lane_get(&a->gone))
		f->gone = true;
	if (f->gone) {
		front_goodbye(f);
		return -ENODEV;
	}
	bits = front_lane_takes_new(f) ? lane_get(&a->posted) : 0;
	if (bits)
		bits = __atomic_exchange_n(&a->posted, 0, __ATOMIC_SEQ_CST);
	for (; bits; bits &= bits - 1) {
		unsigned i = (unsigned)__builtin_ctzll(bits);

		if (front_lane_look(f, i, now_ns))
			taken += lane_get(&a->slots[i].word) != LANE_FREE;
		else
			left |= 1ULL << i;
	}
	if (left)
		__atomic_fetch_or(&a->posted, left, __ATOMIC_SEQ_CST);
	files_close(f, now_ns);
	taken += front_reads_pull(f, all, now_ns);
	if (taken > 0) {
		f->busy_ns = now_ns;
		lane_set(&a->asleep, 0U); /* who has taken something looks again before it sleeps */
	}
	front_flush(f, now_ns);
	return taken;
}

/* ------------------------------------------------------------------ on their way */

int front_lane_ask(struct fuse_front *f, struct front_slot *s)
{
	struct lane_slot *slot = slot_of(f, s);
	const struct front_file *file;
	uint32_t i;

	if (lane_get(&slot->word) & LANE_CANCELLED)
		return -ECANCELED;
	file = front_file_get(&f->files, s->refs.fhs[0]);
	if (!file || file->flags & (FRONT_FILE_DEAD | FRONT_FILE_CLOSING)) {
		lane_swap(&lane_file_at(f->lane, f->more, slot->file)->state, LANE_FILE_OPEN,
			  LANE_FILE_REFUSED);
		return -ESTALE;
	}
	if (PLENUM_LIKELY(file->incarnation == f->server.incarnation))
		return 0;
	i = front_file_index(&f->files, file);
	if (!front_own_is_reopening(f, i))
		(void)front_own_reopen(f, i);
	return -ENOMEM;
}

bool front_lane_back(struct front_slot *s)
{
	struct fuse_in_header in;

	if (!s->lane || s->state == FRONT_SLOT_SENT)
		return false;
	memcpy(&in, s->req, sizeof(in));
	/* What was perhaps sent by this id must be asked for by it again. */
	s->back = !(in.unique & RESEND);
	return s->back;
}

static void back_all(struct fuse_front *f, uint64_t born_before_ns)
{
	struct front_slot *s, *next;

	for (s = f->pending.next; s != &f->pending; s = next) {
		next = s->next;
		if (s->born_ns <= born_before_ns && front_lane_back(s))
			front_slot_free(f, s);
	}
}

/* ------------------------------------------------------------------ life */

int front_lane_init(struct fuse_front *f)
{
	void *owner;
	int r = lane_lock(f->mount->state_fd, f->lane_number);

	if (r < 0)
		return r;
	f->lane = lane_map(f->mount->state_fd, f->lane_number);
	if (!f->lane) {
		r = -errno;
		lane_unlock(f->mount->state_fd, f->lane_number);
		return r;
	}
	r = front_reads_init(f);
	if (r < 0)
		return r;
	owner = mmap(NULL, FRONT_STATE_HEAD_BYTES, PROT_READ, MAP_SHARED, f->mount->state_fd, 0);
	if (owner == MAP_FAILED)
		return -errno;
	f->owner = owner;
	lane_set(&f->lane->ready, 0U);
	return 0;
}

void front_lane_said(struct fuse_front *f, const struct front_slot *s, const void *msg, size_t len)
{
	struct lane_slot *slot;

	if (!f->lane || !s->lane || s->opcode != FUSE_WRITE || s->answered)
		return;
	slot = slot_of(f, s);
	if (len > sizeof(slot->said))
		return;
	memcpy(slot->said, msg, len);
	__atomic_fetch_or(&slot->word, LANE_SAID, __ATOMIC_RELEASE);
}

void front_lane_said_error(struct fuse_front *f, const struct front_slot *s, int error)
{
	const struct fuse_out_header out = {
		.len = sizeof(out), .error = error, .unique = s->unique};

	front_lane_said(f, s, &out, sizeof(out));
}

void front_lane_resume(struct fuse_front *f, unsigned i, uint64_t now_ns)
{
	if (lane_get(&lane_slot_at(f->lane, f->reads, i)->word) & LANE_SAID)
		slot_say(f, i, now_ns);
	else
		front_lane_take(f, i, true, now_ns);
}

void front_lane_start(struct fuse_front *f, uint64_t now_ns)
{
	files_sweep(f);
	for (unsigned i = 0; i < LANE_SLOTS; i++)
		if (LANE_STATE(lane_get(&f->lane->slots[i].word)) == LANE_TAKEN)
			front_lane_resume(f, i, now_ns);
	front_reads_start(f, now_ns);
	__atomic_store_n(&f->lane->posted, ~0ULL, __ATOMIC_SEQ_CST);
	__atomic_store_n(&f->lane->closing, ~0ULL, __ATOMIC_SEQ_CST);
	/* Where a predecessor died between its last word and the bit. */
	__atomic_store_n(&f->lane->done, ~0ULL, __ATOMIC_SEQ_CST);
}

void front_lane_done(struct fuse_front *f)
{
	if (f->lane) {
		if (f->lane->ready) {
			lane_set(&f->lane->ready, 0U);
			lane_ring(f->mount->bell_fd); /* what came just now is to be taken back */
		}
		lane_unmap(f->lane);
		front_reads_done(f); /* while the lane is ours */
		lane_unlock(f->mount->state_fd, f->lane_number);
	}
	if (f->owner)
		munmap(f->owner, FRONT_STATE_HEAD_BYTES);
	f->lane = NULL;
	f->owner = NULL;
}

/* What the owner has negotiated with the kernel is in force here too. */
static void head_copy(struct fuse_front *f)
{
	const struct front_head *from = f->owner;
	struct front_head *to = f->state.head;

	if (to->negotiated || !lane_get(&from->negotiated))
		return;
	to->minor = from->minor;
	to->flags = from->flags;
	to->max_readahead = from->max_readahead;
	to->kernel = from->kernel;
	front_publish(&to->negotiated, 1);
}

/* What nobody else can end: requests that may have been sent, files that the server has open. */
static bool owes(const struct fuse_front *f)
{
	return f->n_used > 0 || f->files.n_closing > 0;
}

bool front_lane_may_connect(const struct fuse_front *f, uint64_t now_ns)
{
	return !f->lane || owes(f) || (lane_get(&f->lane->served) && now_ns >= f->useful_ns);
}

enum fuse_hello_lane front_lane_hello(struct fuse_front *f)
{
	f->owing = f->lane && (owes(f) || f->gone); /* a goodbye takes no place */
	if (!f->lane)
		return FUSE_HELLO_MOUNT;
	return f->owing ? FUSE_HELLO_LANE_OWES : FUSE_HELLO_LANE;
}

/* The session is what it was asked for: one that takes a place at the server, where there is one,
 * or one that ends what was begun, and itself. */
static void session_fits(struct fuse_front *f, uint64_t now_ns)
{
	bool is_up = f->session && rudp_session_is_up(f->session);

	if (f->link == FRONT_READY && !(f->features & FUSE_PROTO_FEATURE_LANES) && !owes(f)) {
		f->useful_ns = now_ns + LANE_USELESS_NS;
		front_session_drop(f, now_ns);
	} else if (f->session && f->owing != owes(f) && (f->owing || !is_up)) {
		front_session_drop(f, now_ns);
	}
}

/* A server that is full may have served us in our owner's stead. */
static void owner_first(struct fuse_front *f, uint64_t now_ns)
{
	if (owes(f) || lane_get(&f->lane->served)) {
		f->unserved_ns = 0;
		return;
	}
	if (f->unserved_ns == 0)
		f->unserved_ns = now_ns;
	if (!f->session || now_ns - f->unserved_ns < LANE_AWAY_NS)
		return;
	front_session_drop(f, now_ns);
}

void front_lane_tick(struct fuse_front *f, uint64_t now_ns)
{
	bool ready;

	if (!f->gone) { /* then it ends by the server's word */
		owner_first(f, now_ns);
		session_fits(f, now_ns);
	}
	ready = front_lane_takes_new(f);
	head_copy(f);
	front_reads_tick(f, now_ns);
	lane_set(&f->lane->seen_ns, now_ns);
	if (f->lane->ready != ready) {
		lane_set(&f->lane->ready, ready);
		lane_ring(f->mount->bell_fd); /* the owner takes back what is not begun */
	}
	if (f->resting)
		back_all(f, now_ns);
	else if (f->link != FRONT_READY && now_ns > LANE_BACK_NS)
		back_all(f, now_ns - LANE_BACK_NS);
}

bool fuse_front_is_spent(const struct fuse_front *f)
{
	if (f->n_used > 0 || f->files.n_closing > 0 || !front_reads_is_spent(f))
		return false;
	for (unsigned i = 0; i < LANE_SLOTS; i++)
		if (LANE_STATE(lane_get(&f->lane->slots[i].word)) == LANE_TAKEN)
			return false;
	for (unsigned i = 0; i < LANE_FILES; i++)
		if (lane_get(&lane_file_at(f->lane, f->more, i)->state) == LANE_FILE_CLOSING)
			return false;
	return true;
}

bool fuse_front_is_owing(const struct fuse_front *f)
{
	return f->owing;
}

bool fuse_front_is_useless(const struct fuse_front *f, uint64_t now_ns)
{
	return now_ns < f->useful_ns;
}

void fuse_front_rest(struct fuse_front *f)
{
	if (f->lane)
		f->resting = true;
}
