/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Record files: what one agent process leaves for the next one. All kinds have one format, one
 * reader and one writer:
 *
 *	plenum-KIND VERSION [boot BOOT-ID netns INODE] bytes N sum HEX
 *	WORD WORD "TWO WORDS" TEXT UP TO THE END OF THE LINE
 *
 * N bytes of lines follow the first line, and HEX is their hash: an incomplete or damaged file is
 * recognized. A backslash and two hex digits stand for a control character, a backslash or, in a
 * word, a quotation mark. Files are replaced atomically (file.h) and have a maximum size.
 *
 * A reader accepts older versions and converts them in memory; the next write replaces the file.
 * It does not accept a newer version, which remains after a downgrade. Such a file is kept: before
 * this program replaces or removes it, it becomes PATH.vVERSION.
 *
 * Journals, which grow line by line, and configurations are not record files.
 */
#ifndef PLENUM_NETCFG_STATE_FILE_H
#define PLENUM_NETCFG_STATE_FILE_H

#include "netcfg/base/base.h"
#include <stdio.h>

/* Why a file cannot be used. Every function below that reads returns 0, one of these, or another
 * negative errno of the system call that failed. */
enum state_error {
	STATE_MISSING = -ENOENT,
	STATE_TORN = -EBADMSG,		/* incomplete or damaged */
	STATE_NEWER = -EPROTONOSUPPORT, /* of a newer version */
	STATE_OTHER_BOOT = -ESTALE,	/* of another boot or network namespace */
	STATE_TOO_LARGE = -EFBIG,
};
/* The reason for people, to be put in parentheses: "it is damaged". */
const char *state_file_error(int error);

enum state_scope {
	STATE_OF_HOST,	/* valid across reboots */
	STATE_OF_BOOT,	/* valid until the next reboot */
	STATE_OF_NETNS, /* valid until the next reboot, in one network namespace */
};

struct state_draft;
struct state_kind {
	const char *name;   /* "owned": the first line begins with "plenum-owned" */
	unsigned version;   /* the version that this program writes */
	unsigned old_until; /* files up to this version may have the old format, without a sum */
	enum state_scope scope;
	size_t bytes_max;
	/* Writes the lines of a file in the old format, `text`, to the draft. NULL: these files
	 * have a first line of this format, without a sum, and lines without escapes. 0; STATE_TORN
	 * after the lines that are not damaged; -ENOMEM. */
	int (*convert)(const char *text, struct state_draft *lines);
};

/* ---- reading ---- */

struct state_file {
	const struct state_kind *kind;
	unsigned version;  /* of the file; 0: unknown */
	char *text;	   /* the file, or what it was converted to */
	const char *lines; /* the first line after the head */
	const char *next;  /* the line after the current one */
	char *line;	   /* the current line, unescaped part by part; as long as the text */
	char *at;	   /* the rest of the current line */
	bool plain;	   /* old format: lines without escapes */
	bool bad;	   /* the current line is not as expected */
};

/* Reads the file. If the result is STATE_TORN, STATE_NEWER or STATE_OTHER_BOOT, state_file_line
 * gives the complete lines that were found, for callers that can use them. Release it with
 * state_file_done in any case. */
int state_file_read(struct state_file *f, const struct state_kind *kind, const char *path);
/* The same from a text. */
int state_file_parse(struct state_file *f, const struct state_kind *kind, const char *text);
void state_file_done(struct state_file *f);

/* Goes to the next complete line; false: there is none. */
bool state_file_line(struct state_file *f);
void state_file_rewind(struct state_file *f); /* the next line is the first one */
/*
 * The next part of the line: a word, a number from 0 to max, or the rest of the line. Strings are
 * borrowed until the next line. Where the line does not have it, the result is "" or 0 and the
 * line is bad: one check of state_file_line_ends after all parts is enough.
 */
const char *state_file_word(struct state_file *f);
uint64_t state_file_number(struct state_file *f, uint64_t max);
const char *state_file_text(struct state_file *f);
/* The next word copied to buf; one that does not fit is bad. */
void state_file_copy(struct state_file *f, char *buf, size_t size);
/* The next word must be this one. */
void state_file_expect(struct state_file *f, const char *word);
/* Whether the line has more words. */
bool state_file_has_more(const struct state_file *f);
/* Whether the line had all parts that were asked for, and no more. */
bool state_file_line_ends(const struct state_file *f);
/* The texts of all lines that begin with this word, as lines; the caller's. NULL: out of memory. */
char *state_file_block(struct state_file *f, const char *word);

/* Removes the file, except that one of a newer version is kept as PATH.vVERSION. 0, also where
 * there is none; negative errno. */
int state_file_remove(const struct state_kind *kind, const char *path);

/* ---- writing ---- */

/* The lines of a file to be written. Errors are kept until it is saved. */
struct state_draft {
	const struct state_kind *kind;
	FILE *out; /* NULL: out of memory */
	char *lines;
	size_t len;
	bool in_line;
};

void state_draft_init(struct state_draft *d, const struct state_kind *kind);
void state_draft_done(struct state_draft *d);
/* Adds words that need no escapes. */
void state_draft_put(struct state_draft *d, const char *fmt, ...) PLENUM_PRINTF(2, 3);
/* Adds one word, whatever it contains. */
void state_draft_word(struct state_draft *d, const char *word);
/* Adds the rest of the line and ends it. */
void state_draft_text(struct state_draft *d, const char *text);
void state_draft_end(struct state_draft *d);
/* Adds a line "WORD LINE" for each line of the text. */
void state_draft_block(struct state_draft *d, const char *word, const char *text);

/* The whole file as text, the caller's; NULL: out of memory. Nothing can be added afterwards. */
char *state_draft_format(struct state_draft *d);
/* Replaces the file. 0; negative errno with the old file untouched, STATE_TOO_LARGE: a reader would
 * refuse it. */
int state_draft_save(struct state_draft *d, const char *path);
/* The same up to the replacement; file_commit or file_abandon come next. */
int state_draft_prepare(struct state_draft *d, const char *path);

#endif
