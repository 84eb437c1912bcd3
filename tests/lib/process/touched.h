/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts the pages of memory that code reads or writes. A test thus determines how many of several
 * thousand objects a function accesses, without a counter in the product and without measuring
 * time. A system call with a pointer to a watched page that has not been accessed yet fails with
 * EFAULT.
 */
#ifndef PLENUM_TESTS_TOUCHED_H
#define PLENUM_TESTS_TOUCHED_H

#include <stddef.h>

/* Starts to count accesses to the pages of the object, each page once. The count is exact if the
 * object shares its pages with no other data. At most 16384 calls before touched_end(). */
void touched_watch(const void *at, size_t bytes);
/* Ends the watch of all objects. Returns the number of pages that were accessed. */
unsigned touched_end(void);

#endif
