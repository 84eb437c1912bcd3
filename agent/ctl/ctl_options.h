/* SPDX-License-Identifier: BSD-3-Clause */
/* Parser of the command line's options, for ctl.c, which knows the options of each command. */
#ifndef PLENUM_AGENT_CTL_OPTIONS_H
#define PLENUM_AGENT_CTL_OPTIONS_H

#include "agent/ctl/ctl.h"

/* Bits of the options that a command takes in addition to --socket, --json and --help. */
enum {
	TAKES_FOLLOW = 1 << 0,
	TAKES_NET = 1 << 2,
	TAKES_WHICH = 1 << 3,
	TAKES_APPLY = 1 << 4,
	TAKES_NAME = 1 << 5,
	TAKES_SET = 1 << 6,
	TAKES_DRY_RUN = 1 << 7,
	TAKES_SORT = 1 << 17,
	TAKES_OUTPUT = 1 << 29,
	TAKES_TABLE = 1 << 8 | TAKES_SORT | TAKES_OUTPUT,
	TAKES_WORKER = 1 << 1,
	TAKES_DETACH = 1 << 30, /* --force without a name */
	TAKES_SECONDS = 1 << 18,
	TAKES_SNAPSHOT = 1 << 9,
	TAKES_INVENTORY = 1 << 10,
	TAKES_PEER = 1 << 11,
	TAKES_SIZE = 1 << 12,
	TAKES_CAPTURE = 1 << 13,
	TAKES_LEG = 1 << 14,
	TAKES_COUNT = 1 << 15,
	TAKES_TOP = 1 << 16,
	TAKES_FAULT = 1 << 19,
	TAKES_FORCE = 1 << 20,
	TAKES_OUTDATED = 1 << 21,
	TAKES_EVENTS = 1 << 22,
	TAKES_EXPECT = 1 << 23,
	TAKES_DOCTOR = 1 << 25,
	TAKES_ANSWERS = 1 << 26,
	TAKES_ROLE = 1 << 27,
	TAKES_LINES = 1 << 28,
	TAKES_CORE = (int)(1U << 31), /* no bit is left */
	/* Not an option: the command interrupts service or discards work, so it is never
	 * suggested. */
	DISRUPTS = 1 << 24,
};

/* A command. Its texts are in agent/api/rest/resource.c if it carries out one operation of the API,
 * otherwise in ctl.c. */
struct ctl_command {
	const char *words;
	int min_operands, max_operands;
	unsigned takes;
	int (*run)(const struct ctl_args *a);
};

/* Returns the command, or the help of a group of commands, that the user probably meant by one or
 * two unknown words, or NULL. In ctl_suggest.c. */
const char *ctl_suggest(const char *typed, const struct ctl_command *commands, size_t n);

struct ctl_parsed {
	struct ctl_args args; /* has pointers into argv */
	unsigned given;	      /* bits (TAKES_...) of the options that were given */
	bool help, version;
	char words[4096]; /* the joined values of -o */
};

/* Appends text to the list in buf, after a comma. Returns CTL_OK, or CTL_USAGE after printing the
 * error. */
int ctl_join(char *buf, size_t size, const char *text);

/* Parses options, which may be before, between and after the operands. Moves the operands to
 * argv[*ret_first] and the following members. Returns CTL_OK, or CTL_USAGE after printing the
 * error. */
int ctl_options_parse(int argc, char **argv, struct ctl_parsed *p, int *ret_first);

#endif
