/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory in which the workers of a mount meet, apart from what they do there. */
#include "dataplane/fuse/fuse_lane.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define AREA_HEAD_BYTES ((sizeof(struct lane_area) + 4095) & ~(size_t)4095)
#define AREA_BYTES (AREA_HEAD_BYTES + LANE_SLOTS * LANE_BUF_BYTES)

static uint64_t area_at(unsigned lane)
{
	return FRONT_STATE_BYTES + (lane - 1) * (AREA_BYTES + FRONT_STATE_BYTES);
}

uint64_t lane_state_at(unsigned lane)
{
	return area_at(lane) + AREA_BYTES;
}

struct lane_area *lane_map(int fd, unsigned lane)
{
	const off_t end = (off_t)area_at(LAUNCH_LANES_MAX + 1);
	struct stat st;
	void *p;

	if (fstat(fd, &st) < 0)
		return NULL;
	/* All make it as long, so that nobody cuts off what another has. */
	if (st.st_size < end && ftruncate(fd, end) < 0)
		return NULL;
	p = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
		 (off_t)area_at(lane));
	return p == MAP_FAILED ? NULL : p;
}

bool lane_was_there(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_size > (off_t)area_at(1);
}

void lane_unmap(struct lane_area *a)
{
	if (a)
		munmap(a, AREA_BYTES);
}

uint8_t *lane_buf(struct lane_area *a, unsigned slot)
{
	return (uint8_t *)a + AREA_HEAD_BYTES + slot * LANE_BUF_BYTES;
}

void lane_trim(struct lane_area *a)
{
	(void)madvise(lane_buf(a, 0), LANE_SLOTS * LANE_BUF_BYTES, MADV_REMOVE);
}

/* The process's, unlike locks that go with a descriptor, which all have from the agent. */
static int lock_set(int fd, unsigned lane, short type)
{
	struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = lane, .l_len = 1};

	if (fcntl(fd, F_SETLK, &l) == 0)
		return 0;
	return errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
}

int lane_lock(int fd, unsigned lane)
{
	return lock_set(fd, lane, F_WRLCK);
}

void lane_unlock(int fd, unsigned lane)
{
	(void)lock_set(fd, lane, F_UNLCK);
}

void lane_ring(int bell_fd)
{
	const uint64_t one = 1;
	ssize_t n = write(bell_fd, &one, sizeof(one));

	(void)n; /* full: it has been rung */
}

void lane_id(uint8_t id[16], unsigned lane)
{
	id[15] ^= (uint8_t)lane;
}
