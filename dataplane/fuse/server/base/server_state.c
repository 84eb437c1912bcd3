/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maps the persistent state of an export, and clears a state of another version.
 */
#include "dataplane/fuse/server/base/server_state.h"
#include "netcfg/base/os/memfd.h"
#include <sys/mman.h>

#define STATE_MAGIC 0x4b43414253464c50ULL /* "PLFSBACK" */
#define STATE_VERSION 6

static off_t state_at(void)
{
	off_t page = (off_t)sysconf(_SC_PAGESIZE);

	return ((off_t)journal_bytes() + page - 1) / page * page;
}

int state_map(int fd, struct state **ret)
{
	autoclose int own = fd < 0 ? memfd_create("fuse-server", MFD_CLOEXEC) : -1;
	struct state *s;
	int r;

	if (fd < 0)
		fd = own;
	r = fd < 0 ? -errno : memfd_grow(fd, (size_t)state_at() + sizeof(*s));
	if (r < 0)
		return r;
	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
		 state_at());
	if (s == MAP_FAILED)
		return -errno;
	if (s->magic != STATE_MAGIC || s->version != STATE_VERSION) {
		(void)madvise(s, sizeof(*s), MADV_REMOVE);
		s->version = STATE_VERSION;
		state_publish(&s->magic, STATE_MAGIC);
	}
	*ret = s;
	return 0;
}

struct state *state_unmap(struct state *s)
{
	if (s)
		munmap(s, sizeof(*s));
	return NULL;
}
