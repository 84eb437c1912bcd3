/* SPDX-License-Identifier: BSD-3-Clause */
/* Pinned files: unlinked files that clients have open, and of which the agent keeps descriptors
 * (see server_pin.c). */
#ifndef PLENUM_SERVER_PIN_H
#define PLENUM_SERVER_PIN_H

#include "dataplane/fuse/server/objects/server_types.h"

/* Makes the agent pin the node's file if it is open. Call it when the file has lost its last name
 * or may lose it. fd: O_PATH descriptor of the file. */
void server_pin(struct server_node *n, int fd);
/* Pins an object that is about to lose its last name. If no client of this worker has the file
 * open, the pin is provisional: a client of another worker, or a client that has not reclaimed its
 * files yet, may still have the file open. */
void server_pin_victim(struct server_export *e, const struct helper_result *r, int fd);
/* Asks the agent again to pin the file with this handle. fd: O_PATH descriptor of the file. */
void server_pin_again(struct server_export *e, const uint8_t *handle, uint32_t len, int fd);
/* Returns whether mounts in their grace period may have files open. */
bool server_pin_in_grace(const struct server_export *e);
/* Call when the node's last open file was closed. */
void server_unpin(struct server_node *n);
/* Releases pins of files that no client has open, after all mounts have reclaimed their files. */
void server_pins_sweep(struct server_export *e, uint64_t now_ns);
/* _any_open_elsewhere: returns whether clients of other workers or exports have any file open.
 * _is_open_elsewhere: returns whether they have the file with this handle open. */
bool server_pin_any_open_elsewhere(const struct server_export *e);
bool server_pin_is_open_elsewhere(const struct server_export *e, const uint8_t *handle, size_t len);
/* Pins a file that has just lost its last name if another worker has it open. */
void server_pin_unlinked(struct server_export *e, const struct helper_result *r, int fd);

/* _is_unclaimed: returns whether no client has the pinned file open. server_pins_unclaimed: returns
 * the number of such pinned files. */
bool server_pin_is_unclaimed(const struct server_export *e, const uint8_t *handle, size_t len);
uint32_t server_pins_unclaimed(const struct server_export *e);

#endif
