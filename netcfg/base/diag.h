/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collected user errors. A reader or checker of user input adds an entry for each error and
 * continues, so that one run reports everything; the caller prints them. Each entry says where
 * (file:line:column and path in the document, or the object concerned), what was found and what to
 * write instead. A diag is not thread-safe and belongs to one operation.
 */
#ifndef PLENUM_NETCFG_DIAG_H
#define PLENUM_NETCFG_DIAG_H

#include "netcfg/base/base.h"
#include <stdio.h>

/* A note points out something that is correct but easily overlooked. */
enum diag_severity { DIAG_ERROR, DIAG_WARNING, DIAG_NOTE, DIAG_SEVERITY_MAX };

/* A place in a user's file. line and column count from 1; they are 0 for an entry that is not about
 * a file. */
struct diag_pos {
	const char *file; /* borrowed, must outlive the diag; NULL: not about a file */
	unsigned line, column;
};

struct diag_entry {
	enum diag_severity severity;
	char *file; /* name of the file; NULL: the entry is not about a file */
	unsigned line, column;
	char *path; /* "workers[1].cores", NULL: none */
	char *text; /* one sentence without a full stop: the error, and what to write instead */
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
/* Adds an entry with a formatted text. pos and path may be NULL. */
void diag_add(struct diag *d, enum diag_severity sev, const struct diag_pos *pos, const char *path,
	      const char *fmt, ...) PLENUM_PRINTF(5, 6);
/* Adds copies of all entries of `from`. */
void diag_append(struct diag *d, const struct diag *from);
/* Returns "error", "warning" or "note". */
const char *diag_severity_to_string(enum diag_severity sev);
bool diag_has_errors(const struct diag *d);
/* Returns the first error that has a text, or NULL. */
const struct diag_entry *diag_first_error(const struct diag *d);
/* Prints one line for each entry, sorted by position: "FILE:LINE:COL: error: PATH: TEXT". */
void diag_print(const struct diag *d, FILE *out);
/* Returns the same lines as one heap string, which the caller frees, or NULL if out of memory. */
char *diag_format(const struct diag *d);

/* Returns the candidate with the smallest edit distance, or NULL if none is similar enough. */
const char *diag_suggest(const char *word, const char *const *candidates, size_t n);

#endif
