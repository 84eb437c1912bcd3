/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parses the device table in a DPDK driver's library. It reads the table from memory and loads no
 * library, so tests can pass damaged libraries and libraries that are not installed.
 */
#include "dataplane/port/dpdk/port_dpdk_ids.h"
#include <stdlib.h>
#include <string.h>

#define INFO "PMD_INFO_STRING= "
#define LIST "\"pci_ids\""
#define ANY 65535UL

static bool id_matches(unsigned long number, unsigned wanted)
{
	return number == wanted || number == ANY;
}

/* Searches a list such as [[32902, 5421, 65535, 65535], ...] of vendor, device and subsystem
 * IDs. */
static bool list_has(const char *list, unsigned vendor, unsigned device)
{
	for (const char *p = list; (p = strchr(p, '[')); p++) {
		char *end, *end2;
		unsigned long v = strtoul(p + 1, &end, 10), d;

		if (end == p + 1 || *end != ',')
			continue;
		d = strtoul(end + 1, &end2, 10);
		if (end2 != end + 1 && id_matches(v, vendor) && id_matches(d, device))
			return true;
	}
	return false;
}

bool port_dpdk_ids_have(const void *library, size_t size, unsigned vendor, unsigned device)
{
	const char *at = library, *end = at + size;

	while (at < end) {
		const char *text = memmem(at, (size_t)(end - at), INFO, strlen(INFO));
		const char *list;

		if (!text || !memchr(text, '\0', (size_t)(end - text)))
			return false;
		list = strstr(text, LIST);
		if (list && list_has(list, vendor, device))
			return true;
		at = text + strlen(text);
	}
	return false;
}

const char *port_dpdk_ids_version(const char *folder)
{
	const char *dash = strrchr(folder, '-'), *version = dash ? dash + 1 : "";

	return *version && !version[strspn(version, "0123456789.")] ? version : NULL;
}
