/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collected user errors. A reader or checker of user input adds an entry for each error and
 * continues, so that one run reports everything; the caller prints them. Each entry says where
 * (file:line:column and path in the document, or the object concerned), what was found and what to
 * write instead. Not thread-safe; one diag belongs to one operation.
 */
#ifndef PLENUM_NETCFG_DIAG_H
#define PLENUM_NETCFG_DIAG_H

#include "netcfg/base/base.h"
#include <stdio.h>

/* A note says something that is right as it is, but easily overlooked. */
enum diag_severity { DIAG_ERROR, DIAG_WARNING, DIAG_NOTE, DIAG_SEVERITY_MAX };

/* A place in a user's file. line and column count from 1; 0: not of a file. */
struct diag_pos {
	const char *file; /* borrowed, must outlive the diag; NULL: none */
	unsigned line, column;
};

struct diag_entry {
	enum diag_severity severity;
	char *file; /* NULL: none */
	unsigned line, column;
	char *path; /* "workers[1].cores", NULL: none */
	char *text; /* one sentence without a full stop: the finding, and the text to write instead
		     */
};

struct diag {
	struct diag_entry *entries;
	size_t n;
	size_t n_errors;
	bool out_of_memory; /* an entry could not be stored; counts as an error */
};

#define DIAG_INIT \
	{         \
		0 \
	}

void diag_done(struct diag *d);
/* pos and path may be NULL. */
void diag_add(struct diag *d, enum diag_severity sev, const struct diag_pos *pos, const char *path,
	      const char *fmt, ...) PLENUM_PRINTF(5, 6);
/* Copies of all entries of `from`. */
void diag_append(struct diag *d, const struct diag *from);
/* "error", "warning", "note" */
const char *diag_severity_to_string(enum diag_severity sev);
bool diag_has_errors(const struct diag *d);
/* The first error that has a text; NULL: there is none. */
const struct diag_entry *diag_first_error(const struct diag *d);
/* One line an entry: "FILE:LINE:COL: error: PATH: TEXT". Sorted by position. */
void diag_print(const struct diag *d, FILE *out);
/* The same lines as one heap string (caller frees); NULL when out of memory. */
char *diag_format(const struct diag *d);

/* Nearest of the n candidates by edit distance, or NULL where none is near enough to suggest. */
const char *diag_suggest(const char *word, const char *const *candidates, size_t n);

#endif
