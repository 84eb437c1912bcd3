/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ends a helper pool in a test and waits for its processes: unlike a worker, the test continues,
 * and late helpers share its descriptor table and would act on reused descriptor numbers.
 */
#ifndef PLENUM_TESTS_HELPER_END_H
#define PLENUM_TESTS_HELPER_END_H

#include "dataplane/fuse/helper/fs_helper.h"

#define HELPERS_END_MAX 64
#define HELPERS_END_NS (20 * NSEC_PER_SEC)

struct fs_helper *helpers_end(struct fs_helper *h);

#endif
