/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files without a name (memfd_create(2)) that one process passes to another. Shared ones are sealed
 * in size, so that neither side can make the other's access fault. Holds no state.
 */
#ifndef PLENUM_NETCFG_MEMFD_H
#define PLENUM_NETCFG_MEMFD_H

#include "netcfg/base/base.h"

#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* include/uapi/asm-generic/mman-common.h of Linux 5.14 */
#endif

/* Holds a sealed, unchangeable copy of data, with the offset at its beginning. The descriptor,
 * or negative errno. */
int memfd_new_sealed(const char *name, const void *data, size_t len);
/* size bytes of zeros to be mapped by both sides: its content may change, its size may not, so that
 * no writer can make a reader's access fault. The descriptor, or negative errno. */
int memfd_new_shared(const char *name, size_t size);
/* Empty; the process that holds it may grow it, and no process can seal it. The descriptor, or
 * negative errno. */
int memfd_new_empty(const char *name);
/* Empty, to be mapped by several processes: any of them may grow it, none can shrink it or add
 * seals, so that none can make another's access fault. The descriptor, or negative errno. */
int memfd_new_growing(const char *name);
/* Makes the file at least size bytes long, whatever other processes do at the same time; call it
 * before mmap(2). A file without seals gets those of memfd_new_growing() where it allows them. 0;
 * negative errno. */
int memfd_grow(int fd, size_t size);
/* Whether no process can shrink the file or keep others from writing to it. */
bool memfd_is_fixed(int fd);
/* The same, for a file of exactly that size. */
bool memfd_is_fixed_at(int fd, size_t size);
/* Whether fd is a memfd that was created with this name. */
bool memfd_has_name(int fd, const char *name);

#endif
