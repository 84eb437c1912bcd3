/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Identifies this boot and network namespace. State files about the kernel are valid only within
 * one: they begin with this stamp.
 */
#ifndef PLENUM_NETCFG_BOOT_STAMP_H
#define PLENUM_NETCFG_BOOT_STAMP_H

#include <stdbool.h>
#include <stddef.h>

#define BOOT_STAMP_TEXT_MAX 96

/* "boot BOOT-ID netns INODE" into buf; returns buf. */
const char *boot_stamp_text(char *buf, size_t size);
/* Parses the first line of such a file: "NAME VERSION boot ... netns ...". 0 with *ret_stale: of
 * another boot or namespace; -EBADMSG: no such line, or another version. */
int boot_stamp_parse(const char *line, const char *name, int version, bool *ret_stale);

#endif
