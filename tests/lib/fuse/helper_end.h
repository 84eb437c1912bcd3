/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ends a pool of I/O helpers in a test and waits for its processes. A worker would exit now, but
 * the test continues, and the helpers share its descriptor table. So a helper that ended later
 * could use a descriptor number that the test has used again.
 */
#ifndef PLENUM_TESTS_HELPER_END_H
#define PLENUM_TESTS_HELPER_END_H

#include "dataplane/fuse/helper/fs_helper.h"

#define HELPERS_END_MAX 64
#define HELPERS_END_NS (20 * NSEC_PER_SEC)

struct fs_helper *helpers_end(struct fs_helper *h);

#endif
