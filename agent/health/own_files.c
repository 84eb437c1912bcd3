/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the file systems of the agent's folders. */
#include "agent/health/own_files.h"
#include "netcfg/base/base.h"
#include "netcfg/base/reason.h"
#include <string.h>
#include <sys/statvfs.h>

#define ROOM_BYTES_MIN 65536U /* minimum free space, which the records of an apply need */

static void judge(const char *folder, struct reason *why)
{
	struct statvfs s;

	reason_clear(why);
	if (statvfs(folder, &s) < 0)
		reason_set(why, "folder-missing",
			   "the agent's folder %.100s: %s; its records are lost at a restart: make "
			   "the folder, then restart plenumd",
			   folder, strerror(errno));
	else if (s.f_flag & ST_RDONLY)
		reason_set(why, "folder-read-only",
			   "the file system of %.100s is read-only: applies fail, and records of "
			   "the agent are lost at a restart; find out why (dmesg), and mount it "
			   "for writing",
			   folder);
	else if (s.f_blocks > 0 && (uint64_t)s.f_bavail * s.f_frsize < ROOM_BYTES_MIN)
		reason_set(why, "folder-full",
			   "the file system of %.100s is full: applies fail, and records of the "
			   "agent are lost at a restart; make room there",
			   folder);
	else if (s.f_files > 0 && s.f_favail == 0)
		reason_set(why, "folder-full",
			   "the file system of %.100s has no free inode: applies fail, and records "
			   "of the agent are lost at a restart; remove files there",
			   folder);
}

static void add(json_t *list, const struct reason *why)
{
	char text[REASON_FORMAT_MAX];

	if (reason_is_set(why))
		json_array_append_new(list, json_string(reason_format(why, text, sizeof(text))));
}

json_t *own_files_to_json(const char *const *folders, size_t n, const char *missing)
{
	struct reason why = {.code = ""};
	json_t *list = json_array();

	if (list && missing)
		reason_set(&why, "worker-missing",
			   "the worker program %.120s is missing: running workers continue, and no "
			   "worker can start; install the program again",
			   missing);
	if (list)
		add(list, &why);

	for (size_t i = 0; list && i < n; i++) {
		judge(folders[i], &why);
		add(list, &why);
	}
	return list;
}
