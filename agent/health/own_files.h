/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds what keeps the agent from using its own files: folders that it cannot write to, and a
 * worker program that is missing. Nothing fails before the next apply, restart or event, but then
 * workers or records are lost. Asks the kernel about the file systems; writes nothing, and holds no
 * state.
 */
#ifndef PLENUM_AGENT_OWN_FILES_H
#define PLENUM_AGENT_OWN_FILES_H

#include <jansson.h>
#include <stddef.h>

/* One reason, "code: sentence", for each of these folders that cannot be written, and for the
 * worker program that is missing (NULL: it is not). A new reference; NULL: out of memory. */
json_t *own_files_to_json(const char *const *folders, size_t n, const char *missing);

#endif
