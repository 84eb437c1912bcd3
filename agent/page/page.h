/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files of the web page that shows this host's state. They are embedded in the program, because
 * the process that serves them has an empty root directory.
 */
#ifndef PLENUM_AGENT_PAGE_H
#define PLENUM_AGENT_PAGE_H

#include <stddef.h>

#define PAGE_PATH "/page/" /* URL path of the page itself */

struct page_file {
	const char *path, *type; /* media type */
	const char *data;	 /* not NUL-terminated */
	size_t len;		 /* in bytes */
};

/* Looks up a file by the path of a URL. Returns static data, or NULL if no file has that path. */
const struct page_file *page_find(const char *path);

#endif
