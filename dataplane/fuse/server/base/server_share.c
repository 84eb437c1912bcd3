/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maps the memory that the compute workers of a host share, finds this worker's slot in it, and
 * lists the other workers.
 */
#include "dataplane/fuse/server/base/server_share.h"
#include "netcfg/base/hash.h"
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>

struct share_file {	      /* a file of zeros is valid: it means that no worker has used the file
				 so far */
	uint64_t hash_key[2]; /* random; chosen by the first worker that maps the file */
	uint64_t joined;      /* incremented when a worker joins */
	uint64_t used[SHARE_SLOTS / 64];
	struct share_write_leases write_leases;
	struct share_slot slots[SHARE_SLOTS];
};
/* The table of leases for writing uses memory that older versions leave zero. */
_Static_assert(offsetof(struct share_file, slots) == 4096, "workers of older versions run, too");
_Static_assert(offsetof(struct share_slot, open) == 4096, "workers of older versions run, too");
_Static_assert(
	sizeof(struct share_file) == LAUNCH_SHARE_BYTES,
	"a change of this layout needs a new LAUNCH_VERSION: old workers still use the old one");

/* Sets a word of the hash key to a random value. If several workers do so at the same time, all use
 * the value of the first one. */
static int key_make(uint64_t *word)
{
	uint64_t ours, none = 0;

	if (getrandom(&ours, sizeof(ours), 0) != sizeof(ours))
		return -EIO;
	ours |= 1;
	/* If several workers exchange the word at the same time, one exchange succeeds, and the
	 * other workers read its value. */
	__atomic_compare_exchange_n(word, &none, ours, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	return 0;
}

static struct share_file *file_map(int fd)
{
	struct share_file *f;
	struct stat st;

	if (fd < 0)
		return mmap(NULL, sizeof(*f), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fstat(fd, &st) < 0)
		return MAP_FAILED;
	if (st.st_size != (off_t)sizeof(*f)) {
		errno = EPROTO;
		return MAP_FAILED;
	}
	return mmap(NULL, sizeof(*f), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
}

int share_init(struct share *s, int fd, uint32_t worker)
{
	struct share_file *f;

	*s = (struct share){.own_index = worker};
	if (worker >= SHARE_SLOTS)
		return -ENOSPC;
	f = file_map(fd);
	if (f == MAP_FAILED)
		return -errno;
	s->file = f;
	if (key_make(&f->hash_key[0]) < 0 || key_make(&f->hash_key[1]) < 0) {
		share_done(s);
		return -EIO;
	}
	for (unsigned i = 0; i < 2; i++)
		s->hash_key[i] = __atomic_load_n(&f->hash_key[i], __ATOMIC_ACQUIRE);
	s->own = &f->slots[worker];
	s->write_leases = &f->write_leases;
	return 0;
}

void share_done(struct share *s)
{
	if (s->file)
		munmap(s->file, sizeof(*s->file));
	*s = (struct share){};
}

static void peers_find(struct share *s, uint64_t now_ns)
{
	s->n_peers = 0;
	for (uint32_t i = 0; i < SHARE_SLOTS; i++) {
		struct share_slot *slot = &s->file->slots[i];

		/* A worker sets its bit in share_join_peers() after it has filled its slot. So if
		 * the bit is set here, the slot is complete. */
		if (!(__atomic_load_n(&s->file->used[i / 64], __ATOMIC_ACQUIRE) & 1ULL << i % 64) ||
		    slot == s->own || !share_is_alive(slot, SHARE_GONE_NS, now_ns))
			continue;
		s->peers[s->n_peers++] = slot;
	}
}

void share_join_peers(struct share *s, uint64_t now_ns)
{
	struct share_slot *own = s->own;

	/* Count all changes that an earlier incarnation of this worker has made as changes at this
	 * moment. */
	share_set(&own->forgotten_ns, now_ns);
	share_set(&own->born_ns, now_ns);
	share_set(&own->untracked_ns, now_ns);
	share_set(&own->n_untracked, 0U);
	own->changes_forgotten = own->untracked_changed = own->n_changes;
	share_set(&own->incarnation, own->incarnation + 1);
	share_set(&own->write_leases, own->incarnation);
	share_set(&own->seen_ns, now_ns);
	/* The fence keeps the order of the stores: another worker (may_be_open_elsewhere() in
	 * server_pin.c) must see the new incarnation before it sees the counts as 0. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	share_set(&own->n_open, 0U);
	if (madvise(own->open, sizeof(own->open), MADV_REMOVE) < 0)
		memset(own->open, 0, sizeof(own->open));
	/* Pairs with peers_find() of other workers: a worker that sees this bit also sees the
	 * slot's content. */
	__atomic_fetch_or(&s->file->used[s->own_index / 64], 1ULL << s->own_index % 64,
			  __ATOMIC_SEQ_CST);
	/* Pairs with share_refresh() of other workers, which read this worker's slot from now
	 * on. */
	__atomic_fetch_add(&s->file->joined, 1, __ATOMIC_SEQ_CST);
	share_refresh(s);
}

void share_heartbeat(struct share *s, uint64_t now_ns)
{
	share_set(&s->own->seen_ns, now_ns);
	peers_find(s, now_ns);
}

void share_refresh(struct share *s)
{
	uint64_t joined;

	/* Pairs with the same fence in the other workers. If two workers each write first and then
	 * read, at least one of them sees the write of the other. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	joined = __atomic_load_n(&s->file->joined, __ATOMIC_SEQ_CST);
	if (PLENUM_LIKELY(joined == s->joined))
		return;
	s->joined = joined;
	peers_find(s, clock_now_ns());
}

struct share_slot *share_slot_of(const struct share *s, uint32_t worker)
{
	struct share_slot *slot = worker < SHARE_SLOTS ? &s->file->slots[worker] : NULL;

	return slot && __atomic_load_n(&s->file->used[worker / 64], __ATOMIC_ACQUIRE) &
				       1ULL << worker % 64
		       ? slot
		       : NULL;
}

uint32_t share_index(const struct share *s, const struct share_slot *slot)
{
	return (uint32_t)(slot - s->file->slots);
}

uint64_t share_name_hash(const char *export_name)
{
	static const uint64_t key[2] = {0x706c656e756d2d65, 0x78706f7274206e61};

	return hash_keyed(key, export_name, strlen(export_name)) | 1;
}

bool share_serves(const struct share_slot *slot, uint64_t export_hash)
{
	for (unsigned i = 0; i < LAUNCH_EXPORTS_MAX; i++)
		if (share_get(&slot->exports[i]) == export_hash)
			return true;
	return false;
}

bool share_is_alive(const struct share_slot *slot, uint64_t within_ns, uint64_t now_ns)
{
	uint64_t seen_ns = share_get(&slot->seen_ns);

	return seen_ns >= now_ns || now_ns - seen_ns < within_ns;
}

void share_open_count(struct share *s, uint64_t key, int by)
{
	uint16_t *n = &s->own->open[key % SHARE_COUNTS];

	share_set(&s->own->n_open, s->own->n_open + (uint32_t)by);
	/* A counter at its maximum never changes again. It may then be higher than the number of
	 * open files, which does no harm. */
	if (key && *n < UINT16_MAX)
		share_set(n, (uint16_t)(*n + by));
}

bool share_has_open(const struct share_slot *slot, uint64_t key)
{
	return key && share_get(&slot->open[key % SHARE_COUNTS]) > 0;
}

bool share_is_open_elsewhere(struct share *s, uint64_t key)
{
	share_refresh(s);
	for (uint32_t i = 0; i < s->n_peers; i++)
		if (share_has_open(s->peers[i], key))
			return true;
	return false;
}
