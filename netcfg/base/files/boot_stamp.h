/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Identifies this boot and this network namespace. Some state files describe the kernel's state, so
 * they begin with this stamp and are valid only in the same boot and namespace.
 */
#ifndef PLENUM_NETCFG_BOOT_STAMP_H
#define PLENUM_NETCFG_BOOT_STAMP_H

#include <stdbool.h>
#include <stddef.h>

#define BOOT_STAMP_TEXT_MAX 96

/* Writes "boot BOOT-ID netns INODE" into buf and returns buf. */
const char *boot_stamp_text(char *buf, size_t size);
/* Parses the first line of a state file: "NAME VERSION boot ... netns ...". Returns 0, or -EBADMSG
 * if the line has another form, name or version. *ret_stale says whether the stamp is of another
 * boot or namespace. */
int boot_stamp_parse(const char *line, const char *name, int version, bool *ret_stale);

#endif
