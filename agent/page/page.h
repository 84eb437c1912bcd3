/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files of the web page that shows this host, which are part of the program: the process that
 * serves them has an empty root directory.
 */
#ifndef PLENUM_AGENT_PAGE_H
#define PLENUM_AGENT_PAGE_H

#include <stddef.h>

#define PAGE_PATH "/page/" /* of the page itself */

struct page_file {
	const char *path, *type; /* media type */
	const char *data;	 /* not a string: has no zero byte at its end */
	size_t len;		 /* in bytes */
};

/* The file of that path of a URL; NULL: none. Static. */
const struct page_file *page_find(const char *path);

#endif
