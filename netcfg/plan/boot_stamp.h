/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This boot and network namespace. What a file remembers of the kernel is true there only: journal
 * and record begin with it. Used by those two alone.
 */
#ifndef PLENUM_NETCFG_HOME_H
#define PLENUM_NETCFG_HOME_H

#include <stdbool.h>
#include <stddef.h>

#define BOOT_STAMP_TEXT_MAX 96

/* "boot BOOT-ID netns INODE" into buf; returns buf. */
const char *boot_stamp_text(char *buf, size_t size);
/* The first line of such a file: "NAME VERSION boot ... netns ...". 0 with *ret_stale: of another
 * boot or namespace; -EBADMSG: no such line, or another version. */
int boot_stamp_parse(const char *line, const char *name, int version, bool *ret_stale);

#endif
