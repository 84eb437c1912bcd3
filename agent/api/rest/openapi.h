/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Documents that describe the REST API for programs, made from the table in resource.h: the root,
 * the list of operations, and the description in OpenAPI 3.1. Uses no socket and no monitor.
 */
#ifndef PLENUM_AGENT_API_OPENAPI_H
#define PLENUM_AGENT_API_OPENAPI_H

#include "agent/api/rest/resource.h"

/* Returns the document of the row with that `local`, as JSON on the heap, for a client with that
 * role. The caller frees it. Returns NULL if memory is short. */
char *openapi_document(enum resource_local local, enum access_role role);

#endif
