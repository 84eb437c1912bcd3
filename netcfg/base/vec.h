/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Growing arrays: a pointer and a count in the owner's struct, without a capacity. The capacity is
 * always at least the next power of two of the count. So only vec_add may lengthen an array, and
 * only an array that vec_add has allocated may be passed to it. The owner frees the array with
 * free(3), and may lower the count. Polling code must not use it, because it allocates.
 */
#ifndef PLENUM_NETCFG_VEC_H
#define PLENUM_NETCFG_VEC_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Appends a zeroed element of `size` bytes. `array` is the address of the pointer to the elements.
 * Increases *n and returns the element, which is valid until the next call. If out of memory,
 * returns NULL and changes nothing. */
static inline void *vec_add(void *array, size_t *n, size_t size)
{
	char *elements;

	memcpy(&elements, array, sizeof(elements));
	if ((*n & (*n - 1)) == 0) {
		elements = reallocarray(elements, *n ? 2 * *n : 1, size);
		if (!elements)
			return NULL;
		memcpy(array, &elements, sizeof(elements));
	}
	memset(elements + *n * size, 0, size);
	return elements + (*n)++ * size;
}

#endif
