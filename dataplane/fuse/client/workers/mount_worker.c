/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory that the workers of a mount share: layout, mapping and locks. */
#include "dataplane/fuse/client/workers/mount_worker.h"

#include "netcfg/base/os/memfd.h"

#include <fcntl.h>
#include <unistd.h>

#define AREA_HEAD_BYTES ((sizeof(struct mount_worker_area) + 4095) & ~(size_t)4095)
#define AREA_BYTES (AREA_HEAD_BYTES + MOUNT_WORKER_SLOTS * MOUNT_WORKER_BUF_BYTES)

#define COMMON_BYTES 4096U
#define LEDGER_ROOM_BYTES (16ULL << 20) /* the record of locks is smaller */
#define READS_HEAD_BYTES ((sizeof(struct mount_worker_reads) + 4095) & ~(size_t)4095)
#define READS_BYTES (READS_HEAD_BYTES + MOUNT_WORKER_READS * MOUNT_WORKER_BUF_BYTES)
#define MORE_BYTES ((sizeof(struct mount_worker_more) + 4095) & ~(size_t)4095)
_Static_assert(sizeof(struct mount_worker_common) <= COMMON_BYTES, "the read areas follow it");

static uint64_t area_at(unsigned number)
{
	return CLIENT_STATE_BYTES + (number - 1) * (AREA_BYTES + CLIENT_STATE_BYTES);
}

uint64_t mount_worker_state_at(unsigned number)
{
	return area_at(number) + AREA_BYTES;
}

static uint64_t common_at(void)
{
	return area_at(LAUNCH_MOUNT_WORKERS_MAX + 1);
}

static uint64_t reads_at(unsigned number)
{
	return common_at() + COMMON_BYTES + (number - 1) * READS_BYTES;
}

static uint64_t more_at(unsigned number)
{
	return reads_at(LAUNCH_MOUNT_WORKERS_MAX + 1) + (number - 1) * MORE_BYTES;
}

uint64_t mount_worker_ledger_at(void)
{
	return more_at(LAUNCH_MOUNT_WORKERS_MAX + 1);
}

uint64_t mount_worker_held_at(void)
{
	return mount_worker_ledger_at() + LEDGER_ROOM_BYTES;
}

static void *part_map(int fd, uint64_t at, size_t bytes)
{
	int r = memfd_grow(fd, more_at(LAUNCH_MOUNT_WORKERS_MAX + 1));
	void *p;

	if (r < 0) {
		errno = -r;
		return NULL;
	}
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, (off_t)at);
	return p == MAP_FAILED ? NULL : p;
}

struct mount_worker_area *mount_worker_map(int fd, unsigned number)
{
	return part_map(fd, area_at(number), AREA_BYTES);
}

struct mount_worker_common *mount_worker_common_map(int fd)
{
	return part_map(fd, common_at(), COMMON_BYTES);
}

struct mount_worker_reads *mount_worker_reads_map(int fd, unsigned number)
{
	return part_map(fd, reads_at(number), READS_BYTES);
}

struct mount_worker_more *mount_worker_more_map(int fd, unsigned number)
{
	return part_map(fd, more_at(number), MORE_BYTES);
}

bool mount_worker_was_there(int fd)
{
	/* The file may be larger without mount workers, because of the record of locks or of held
	 * data behind their memory. */
	off_t at = lseek(fd, (off_t)area_at(1), SEEK_DATA);

	return at >= 0 && at < (off_t)mount_worker_ledger_at();
}

void mount_worker_unmap(struct mount_worker_area *a)
{
	if (a)
		munmap(a, AREA_BYTES);
}

void mount_worker_common_unmap(struct mount_worker_common *c)
{
	if (c)
		munmap(c, COMMON_BYTES);
}

void mount_worker_reads_unmap(struct mount_worker_reads *r)
{
	if (r)
		munmap(r, READS_BYTES);
}

void mount_worker_more_unmap(struct mount_worker_more *m)
{
	if (m)
		munmap(m, MORE_BYTES);
}

struct mount_worker_file *mount_worker_file_at(struct mount_worker_area *a,
					       struct mount_worker_more *m, unsigned place)
{
	place %= MOUNT_WORKER_FILES;
	return place < MOUNT_WORKER_FILES_FIRST ? &a->files[place]
						: &m->files[place - MOUNT_WORKER_FILES_FIRST];
}

struct mount_worker_note *mount_worker_note_at(struct mount_worker_reads *r,
					       struct mount_worker_more *m, unsigned place)
{
	place %= MOUNT_WORKER_FILES;
	return place < MOUNT_WORKER_FILES_FIRST ? &r->notes[place]
						: &m->notes[place - MOUNT_WORKER_FILES_FIRST];
}

uint64_t *mount_worker_noted_at(struct mount_worker_reads *r, struct mount_worker_more *m,
				unsigned place)
{
	place %= MOUNT_WORKER_FILES;
	return place < MOUNT_WORKER_FILES_FIRST ? &r->noted : &m->noted[place / 64 - 1];
}

uint8_t *mount_worker_buf(struct mount_worker_area *a, unsigned slot)
{
	return (uint8_t *)a + AREA_HEAD_BYTES + slot * MOUNT_WORKER_BUF_BYTES;
}

void mount_worker_trim(struct mount_worker_area *a)
{
	(void)madvise(mount_worker_buf(a, 0), MOUNT_WORKER_SLOTS * MOUNT_WORKER_BUF_BYTES,
		      MADV_REMOVE);
}

uint8_t *mount_worker_reads_buf(struct mount_worker_reads *r, unsigned slot)
{
	return (uint8_t *)r + READS_HEAD_BYTES + slot * MOUNT_WORKER_BUF_BYTES;
}

struct mount_worker_slot *mount_worker_slot_at(struct mount_worker_area *a,
					       struct mount_worker_reads *r, unsigned slot)
{
	return slot < MOUNT_WORKER_SLOTS ? &a->slots[slot] : &r->slots[slot - MOUNT_WORKER_SLOTS];
}

uint8_t *mount_worker_buf_at(struct mount_worker_area *a, struct mount_worker_reads *r,
			     unsigned slot)
{
	return slot < MOUNT_WORKER_SLOTS ? mount_worker_buf(a, slot)
					 : mount_worker_reads_buf(r, slot - MOUNT_WORKER_SLOTS);
}

/* A kernel before 5.14 refuses to populate pages; they are then populated on first use. */
void mount_worker_reads_populate(struct mount_worker_reads *r, unsigned slot, size_t bytes)
{
	bytes = MIN_OF((bytes + 4095) & ~(size_t)4095, MOUNT_WORKER_BUF_BYTES);
	if (mount_worker_get(&r->populated[slot]) < bytes &&
	    madvise(mount_worker_reads_buf(r, slot), bytes, MADV_POPULATE_WRITE) == 0)
		mount_worker_set(&r->populated[slot], (uint32_t)bytes);
}

void mount_worker_reads_trim(struct mount_worker_reads *r)
{
	for (unsigned i = 0; i < MOUNT_WORKER_READS; i++)
		mount_worker_set(&r->populated[i], 0U);
	(void)madvise(mount_worker_reads_buf(r, 0), MOUNT_WORKER_READS * MOUNT_WORKER_BUF_BYTES,
		      MADV_REMOVE);
}

void mount_worker_reads_trim_one(struct mount_worker_reads *r, unsigned slot)
{
	mount_worker_set(&r->populated[slot], 0U);
	(void)madvise(mount_worker_reads_buf(r, slot), MOUNT_WORKER_BUF_BYTES, MADV_REMOVE);
}

/* Sets a lock of this process (F_SETLK). All workers share one open file description, which they
 * got from the agent, so a lock of that (F_OFD_SETLK) would belong to all of them. */
static int lock_set(int fd, unsigned number, short type)
{
	struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = number, .l_len = 1};

	if (fcntl(fd, F_SETLK, &l) == 0)
		return 0;
	return errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
}

int mount_worker_lock(int fd, unsigned number)
{
	return lock_set(fd, number, F_WRLCK);
}

void mount_worker_unlock(int fd, unsigned number)
{
	(void)lock_set(fd, number, F_UNLCK);
}

bool mount_worker_is_locked(int fd, unsigned number)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = number, .l_len = 1};

	return fcntl(fd, F_GETLK, &l) < 0 || l.l_type != F_UNLCK;
}

void mount_worker_ring(int bell_fd)
{
	const uint64_t one = 1;
	ssize_t n = write(bell_fd, &one, sizeof(one));

	(void)n; /* EAGAIN: the counter is at its maximum, so the bell has rung before */
}

void mount_worker_id(uint8_t id[16], unsigned number)
{
	id[15] ^= (uint8_t)number;
}
