/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files without a name (memfd_create(2)) that one process hands to another; those that are shared
 * are sealed, so that neither can pull what the other reads from under it. Holds no state.
 */
#ifndef PLENUM_NETCFG_MEMFD_H
#define PLENUM_NETCFG_MEMFD_H

#include "netcfg/base/base.h"

#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* include/uapi/asm-generic/mman-common.h of Linux 5.14 */
#endif

/* Holds a copy of data that nobody can change any more; read from its beginning. The descriptor, or
 * negative errno. */
int memfd_new_sealed(const char *name, const void *data, size_t len);
/* size bytes of zeros to be mapped by both sides: its content may change, its size may not, so that
 * no writer can make a reader's access fault. The descriptor, or negative errno. */
int memfd_new_shared(const char *name, size_t size);
/* Empty and to be grown by whoever has it; nobody can seal it. The descriptor, or negative errno.
 */
int memfd_new_empty(const char *name);
/* The same, for several: who has made it as long as it is needed calls memfd_fix() before others
 * map it. */
int memfd_new_growing(const char *name);
/* From here on nobody can make it shorter, so that no other's access faults, nor seal it against
 * those that come later. Fine where it is so already, or was not made by the above. */
void memfd_fix(int fd);
bool memfd_is_fixed(int fd);
/* Whether it is such a file, or one of the others, that was made with this name. */
bool memfd_has_name(int fd, const char *name);

#endif
