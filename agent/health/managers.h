/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds network managers that may change the agent's links, routes or rules: which one runs,
 * whether its configuration makes it do so, and the setting that stops it. Reads the host only when
 * called, which drift.c does when its settings are changed again and again. Owns nothing.
 */
#ifndef PLENUM_AGENT_MANAGERS_H
#define PLENUM_AGENT_MANAGERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MANAGERS_TEXT_MAX 320

enum managers_matter {
	MANAGERS_LINKS, /* links, their addresses and settings */
	MANAGERS_ROUTES,
	MANAGERS_RULES,
	MANAGERS_MATTER_MAX
};

/*
 * The manager that may change such things on that link and the setting that stops it, as a sentence
 * in buf. root: "" for this host, a folder in tests. False: none known; buf says so.
 */
bool managers_explain(const char *root, enum managers_matter matter, const char *ifname,
		      uint32_t ifindex, char *buf, size_t size);

#endif
