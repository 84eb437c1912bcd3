/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds network managers that may change the agent's links, routes or rules. Reports which manager
 * runs, whether its configuration allows such changes, and which setting prevents them. drift.c
 * calls this when the same settings are changed again and again. It reads the host only during a
 * call. Owns nothing.
 */
#ifndef PLENUM_AGENT_MANAGERS_H
#define PLENUM_AGENT_MANAGERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MANAGERS_TEXT_MAX 320

enum managers_matter {
	MANAGERS_LINKS, /* links, their addresses and their settings */
	MANAGERS_ROUTES,
	MANAGERS_RULES,
	MANAGERS_MATTER_MAX
};

/*
 * Writes a sentence to buf with the manager that may make such changes on that link, and the
 * setting that stops it. root: "" for this host; a folder in tests. Returns false if no such
 * manager is found, and then buf says that.
 */
bool managers_explain(const char *root, enum managers_matter matter, const char *ifname,
		      uint32_t ifindex, char *buf, size_t size);

#endif
