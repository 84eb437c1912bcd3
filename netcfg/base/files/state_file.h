/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Record files, in which an agent process stores state for the next one. All kinds have one format,
 * one reader and one writer:
 *
 * 	plenum-KIND VERSION [boot BOOT-ID netns INODE] bytes N sum HEX
 * 	WORD WORD "TWO WORDS" TEXT UP TO THE END OF THE LINE
 *
 * N bytes of lines follow the first line, and HEX is their hash, which shows whether the file is
 * incomplete or damaged. A backslash and two hex digits stand for a control character, a backslash
 * or, in a word, a quotation mark. Files are replaced atomically (file.h) and have a maximum size.
 *
 * A reader accepts older versions and converts them in memory; the next write replaces the file.
 * After a downgrade there may be a file of a newer version, which the reader does not accept.
 * Before this program replaces or removes such a file, it renames the file to PATH.vVERSION.
 *
 * Journals, which grow line by line, and configurations are not record files.
 */
#ifndef PLENUM_NETCFG_STATE_FILE_H
#define PLENUM_NETCFG_STATE_FILE_H

#include "netcfg/base/base.h"
#include <stdio.h>

/* Why a file cannot be used. Every reading function below returns 0, one of these, or another
 * negative errno of the system call that failed. */
enum state_error {
	STATE_MISSING = -ENOENT,
	STATE_TORN = -EBADMSG,		/* incomplete or damaged */
	STATE_NEWER = -EPROTONOSUPPORT, /* written by a newer version of the program */
	STATE_OTHER_BOOT = -ESTALE,	/* written in another boot or network namespace */
	STATE_TOO_LARGE = -EFBIG,
};
/* Returns the reason as words for a message, to be put in parentheses: "it is damaged". */
const char *state_file_error(int error);

enum state_scope {
	STATE_OF_HOST,	/* valid across reboots */
	STATE_OF_BOOT,	/* valid until the next reboot */
	STATE_OF_NETNS, /* valid until the next reboot, in one network namespace */
};

struct state_draft;
struct state_kind {
	/* name of the kind, such as "owned": the first line then begins with "plenum-owned" */
	const char *name;
	unsigned version; /* the version of the format that this program writes */
	/* newest version in which files may be in the old format, which has no checksum */
	unsigned old_until;
	enum state_scope scope;
	size_t bytes_max;
	/* Adds the lines of `text`, a file in the old format, to the draft. NULL: the old format
	 * differs only in that it has no checksum and no escapes. Returns 0, -ENOMEM, or STATE_TORN
	 * if a part of the text is damaged; the other lines are added nevertheless. */
	int (*convert)(const char *text, struct state_draft *lines);
};

/* ---- reading ---- */

struct state_file {
	const struct state_kind *kind;
	unsigned version;  /* version of the file's format; 0: unknown */
	char *text;	   /* the content of the file, which was converted if it was in the old
			      format */
	const char *lines; /* the line after the first one */
	const char *next;  /* the line after the current one */
	/* the current line, in which escapes are replaced while its parts are read */
	char *line;
	char *at;   /* the part of the current line that is not read yet */
	bool plain; /* old format: lines without escapes */
	bool bad;   /* the current line has an unexpected form */
};

/* Reads the file. If the result is STATE_TORN, STATE_NEWER or STATE_OTHER_BOOT, a caller may still
 * read the complete lines with state_file_line. The caller calls state_file_done in all cases, even
 * after an error. */
int state_file_read(struct state_file *f, const struct state_kind *kind, const char *path);
/* Like state_file_read(), but parses `text`, which is the content of a record file. */
int state_file_parse(struct state_file *f, const struct state_kind *kind, const char *text);
void state_file_done(struct state_file *f);

/* Advances to the next complete line; returns false at the end. */
bool state_file_line(struct state_file *f);
void state_file_rewind(struct state_file *f); /* continue with the first line */
/*
 * Return the next part of the line: a word, a number from 0 to max, or the rest of the line.
 * Strings are valid until the next line. If the line lacks that part, the functions return "" or 0
 * and mark the line as bad. So the caller checks only once, by state_file_line_ends() after all
 * parts.
 */
const char *state_file_word(struct state_file *f);
uint64_t state_file_number(struct state_file *f, uint64_t max);
const char *state_file_text(struct state_file *f);
/* Copies the next word to buf; a word that does not fit marks the line as bad. */
void state_file_copy(struct state_file *f, char *buf, size_t size);
/* Checks that the next word is `word`. */
void state_file_expect(struct state_file *f, const char *word);
/* Returns whether the line has more words. */
bool state_file_has_more(const struct state_file *f);
/* Returns whether the line had all parts that the caller read, and no more. */
bool state_file_line_ends(const struct state_file *f);
/* Finds all lines that begin with `word` and returns the rest of each, one per line, on the heap;
 * or NULL if out of memory. */
char *state_file_block(struct state_file *f, const char *word);

/* Removes the file; a file of a newer version is renamed to PATH.vVERSION instead. Returns 0, also
 * if the file does not exist, or negative errno. */
int state_file_remove(const struct state_kind *kind, const char *path);

/* ---- writing ---- */

/* The lines of a file to be written. The draft stores the first error that occurs while lines are
 * added, and reports it when the file is saved. */
struct state_draft {
	const struct state_kind *kind;
	FILE *out; /* stream to which lines are added; NULL: out of memory */
	char *lines;
	size_t len;
	bool in_line;
};

void state_draft_init(struct state_draft *d, const struct state_kind *kind);
void state_draft_done(struct state_draft *d);
/* Adds words that need no escapes. */
void state_draft_put(struct state_draft *d, const char *fmt, ...) PLENUM_PRINTF(2, 3);
/* Adds one word, escaped or quoted if necessary. */
void state_draft_word(struct state_draft *d, const char *word);
/* Adds the text as the last part of the line, and ends the line. */
void state_draft_text(struct state_draft *d, const char *text);
void state_draft_end(struct state_draft *d);
/* Adds a line "WORD LINE" for each line of the text. */
void state_draft_block(struct state_draft *d, const char *word, const char *text);

/* Returns the whole file as a heap string, or NULL if out of memory. No line can be added
 * afterwards. */
char *state_draft_format(struct state_draft *d);
/* Replaces the file. Returns 0, STATE_TOO_LARGE if the reader would refuse the new file, or another
 * negative errno. After an error the old file is unchanged. */
int state_draft_save(struct state_draft *d, const char *path);
/* Writes the new file without replacing the old one; the caller then calls file_commit or
 * file_abandon. */
int state_draft_prepare(struct state_draft *d, const char *path);

#endif
