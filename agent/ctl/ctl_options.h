/* SPDX-License-Identifier: BSD-3-Clause */
/* Parser of the command line's options, for ctl.c, which knows the options of each command. */
#ifndef PLENUM_AGENT_CTL_OPTIONS_H
#define PLENUM_AGENT_CTL_OPTIONS_H

#include "agent/ctl/ctl.h"

/* Bits of the options that a command takes in addition to --socket, --host, --json and --help. */
#define TAKES_FOLLOW (UINT64_C(1) << 0)
#define TAKES_NET (UINT64_C(1) << 1)
#define TAKES_WHICH (UINT64_C(1) << 2)
#define TAKES_APPLY (UINT64_C(1) << 3)
#define TAKES_NAME (UINT64_C(1) << 4)
#define TAKES_SET (UINT64_C(1) << 5)
#define TAKES_DRY_RUN (UINT64_C(1) << 6)
#define TAKES_SORT (UINT64_C(1) << 7)
#define TAKES_OUTPUT (UINT64_C(1) << 8)
#define TAKES_WORKER (UINT64_C(1) << 9)
#define TAKES_DETACH (UINT64_C(1) << 10) /* --force without a name */
#define TAKES_SECONDS (UINT64_C(1) << 11)
#define TAKES_SNAPSHOT (UINT64_C(1) << 12)
#define TAKES_INVENTORY (UINT64_C(1) << 13)
#define TAKES_PEER (UINT64_C(1) << 14)
#define TAKES_SIZE (UINT64_C(1) << 15)
#define TAKES_CAPTURE (UINT64_C(1) << 16)
#define TAKES_LEG (UINT64_C(1) << 17)
#define TAKES_COUNT (UINT64_C(1) << 18)
#define TAKES_TOP (UINT64_C(1) << 19)
#define TAKES_FAULT (UINT64_C(1) << 20)
#define TAKES_FORCE (UINT64_C(1) << 21)
#define TAKES_OUTDATED (UINT64_C(1) << 22)
#define TAKES_EVENTS (UINT64_C(1) << 23)
#define TAKES_EXPECT (UINT64_C(1) << 24)
#define TAKES_DOCTOR (UINT64_C(1) << 25)
#define TAKES_ANSWERS (UINT64_C(1) << 26)
#define TAKES_ROLE (UINT64_C(1) << 27)
#define TAKES_LINES (UINT64_C(1) << 28)
#define TAKES_CORE (UINT64_C(1) << 29)
#define TAKES_SUBNET (UINT64_C(1) << 30)
#define TAKES_POOL (UINT64_C(1) << 31)
/* The other options of commands that print tables. */
#define TAKES_VIEW (UINT64_C(1) << 32)
#define TAKES_WATCH (UINT64_C(1) << 35)
#define TAKES_TABLE (TAKES_VIEW | TAKES_SORT | TAKES_OUTPUT | TAKES_WATCH)
#define TAKES_JOIN (UINT64_C(1) << 40)
#define TAKES_INVITE (UINT64_C(1) << 41)
#define TAKES_ROLLOUT (UINT64_C(1) << 36)
/* Not an option: the command interrupts service or discards work, so it is never suggested. */
#define DISRUPTS (UINT64_C(1) << 33)
/* Not an option: the command examines or changes this host or its files, so it takes no --host. */
#define ONLY_HERE (UINT64_C(1) << 34)

/* A command. Its texts are in agent/api/rest/resource.c if it carries out one operation of the API,
 * otherwise in ctl.c. */
struct ctl_command {
	const char *words;
	int min_operands, max_operands;
	uint64_t takes;
	int (*run)(const struct ctl_args *a);
};

/* Returns the command, or the help of a group of commands, that the user probably meant by one or
 * two unknown words, or NULL. In ctl_suggest.c. */
const char *ctl_suggest(const char *typed, const struct ctl_command *commands, size_t n);

struct ctl_parsed {
	struct ctl_args args; /* has pointers into argv */
	uint64_t given;	      /* bits (TAKES_...) of the options that were given */
	const char *socket;   /* --socket */
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
