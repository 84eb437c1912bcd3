/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the list of all legs of the cluster with the results of probes (agent/links), from the
 * records that hosts publish. Each record has the legs of its host, as the host sees them, and the
 * legs of other hosts that do not answer it. The list has one row for each leg, which says where
 * its verdict comes from. Any host of the cluster, even a faulty one, may have written a record, so
 * only members with the right type are used. The functions hold no state.
 */
#ifndef PLENUM_AGENT_LINKS_ROWS_H
#define PLENUM_AGENT_LINKS_ROWS_H

#include "agent/cluster/store/records.h"

#define LINKS_ROWS_BYTES_MAX 16384 /* a longer record is ignored */

/* Adds the rows of a record to a list for links_rows_merge(). Returns 0 or -ENOMEM. */
int links_rows_add(json_t *list, const char *host, const char *text, size_t len, uint64_t now_ms);
/* Returns the list with one row for each leg, a new reference, or NULL if memory is short. */
json_t *links_rows_merge(const json_t *list);
/* Returns the text of a record on the heap, or NULL if memory is short. If the record is too long
 * for other hosts, drops its last faults. */
char *links_rows_dump(json_t *record);
/* Returns the part of a record that other hosts need to probe its host. Returns NULL if the record
 * is not valid or has no leg that answers probes. */
json_t *links_rows_member(const char *host, const char *text, size_t len);

#endif
