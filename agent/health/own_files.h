/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds reasons why the agent cannot use its own files: folders that it cannot write to, and a
 * missing worker program. Without this check such faults would be noticed only at the next apply,
 * restart or event, when workers or records are lost. Asks the kernel about the file systems,
 * writes nothing, and keeps no state.
 */
#ifndef PLENUM_AGENT_OWN_FILES_H
#define PLENUM_AGENT_OWN_FILES_H

#include <jansson.h>
#include <stddef.h>

/* Lists reasons, as "code: sentence": one for each of these folders that the agent cannot write to,
 * and one if the worker program is missing. missing: path of that program; NULL: it exists. Returns
 * a new reference, or NULL if memory is short. */
json_t *own_files_to_json(const char *const *folders, size_t n, const char *missing);

#endif
