/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Network managers that may run beside us and change what is ours: which of them does, by what runs
 * and how it is configured, and the setting that ends it. Reads the host only when somebody asks,
 * which the agent does once what is ours is changed again and again. Owns nothing.
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
 * Who may change such things on that link, and what to write where to end it; a sentence in buf.
 * root: "" for the host, a folder for tests. False: no manager is known that would; buf says so.
 */
bool managers_explain(const char *root, enum managers_matter matter, const char *ifname,
		      uint32_t ifindex, char *buf, size_t size);

#endif
