/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts the pages of memory that code reads or writes: how many of several thousand objects a
 * function looks at, without a counter in the product and without measuring time. A system call
 * with an untouched page as its argument fails with EFAULT.
 */
#ifndef PLENUM_TESTS_TOUCHED_H
#define PLENUM_TESTS_TOUCHED_H

#include <stddef.h>

/* From here on, an access to a page of the object counts, once for each page. Objects in whole
 * pages of their own are counted exactly; at most 16384 calls before touched_end(). */
void touched_watch(const void *at, size_t bytes);
/* Ends the watch of all objects. Returns the number of pages that were accessed. */
unsigned touched_end(void);

#endif
