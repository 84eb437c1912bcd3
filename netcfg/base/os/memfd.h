/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files without a path (memfd_create(2)) that one process passes to another. Shared ones have seals
 * on their size, so that no process can shrink them and thereby crash another one that accesses its
 * mapping. The functions hold no state.
 */
#ifndef PLENUM_NETCFG_MEMFD_H
#define PLENUM_NETCFG_MEMFD_H

#include "netcfg/base/base.h"

#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
/* Value from include/uapi/asm-generic/mman-common.h of Linux 5.14. */
#define MADV_POPULATE_WRITE 23
#endif

/* Creates a file with a sealed, unchangeable copy of data; its offset is 0. Returns the descriptor,
 * or negative errno. */
int memfd_new_sealed(const char *name, const void *data, size_t len);
/* Creates a file of `size` zero bytes that several processes can map and write to. Its size is
 * sealed, so that no process can make another's access fault. Returns the descriptor, or negative
 * errno. */
int memfd_new_shared(const char *name, size_t size);
/* Creates an empty file. Each process that has its descriptor may resize it; no process can seal
 * it. Returns the descriptor, or negative errno. */
int memfd_new_empty(const char *name);
/* Creates an empty file that several processes can map. Each process may make it larger. No process
 * can shrink it or add seals, which could make an access of another process fault. Returns the
 * descriptor, or negative errno. */
int memfd_new_growing(const char *name);
/* Makes the file at least `size` bytes long, even while other processes do the same; call it before
 * mmap(2). If the file has no seals yet and allows new seals, it gets the seals that
 * memfd_new_growing() sets. Returns 0 or negative errno. */
int memfd_grow(int fd, size_t size);
/* Returns whether no process can shrink the file or add seals that forbid writing to it. */
bool memfd_is_fixed(int fd);
/* Returns whether memfd_is_fixed() holds for the file and it has exactly this size. */
bool memfd_is_fixed_at(int fd, size_t size);
/* Returns whether fd is a memfd that was created with this name. */
bool memfd_has_name(int fd, const char *name);

#endif
