/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declarations for the files spec_check*.c alone. Each check gets a completely read spec and
 * reports violations at the place in the file that the user must change.
 */
#ifndef PLENUM_NETCFG_SPEC_CHECK_INTERNAL_H
#define PLENUM_NETCFG_SPEC_CHECK_INTERNAL_H

#include "netcfg/spec/spec_schema.h"

#define NO_INDEX SIZE_MAX

/* Returns the node in the file that an error refers to: the map at pos, its member `key`, or item
 * `index` of that member. */
const struct spec_node *spec_check_node(const struct spec_reader *r, const struct diag_pos *pos,
					const char *key, size_t index);

#define check_say_at(severity, r, map_pos, key, index, ...)                                  \
	do {                                                                                 \
		char path_[SPEC_PATH_MAX];                                                   \
		const struct spec_node *n_ = spec_check_node(r, map_pos, key, index);        \
		diag_add((r)->d, severity, n_ ? &n_->pos : (map_pos),                        \
			 n_ ? spec_node_path(n_, path_, sizeof(path_)) : NULL, __VA_ARGS__); \
	} while (0)
#define check_error_at(...) check_say_at(DIAG_ERROR, __VA_ARGS__)
#define check_warning_at(...) check_say_at(DIAG_WARNING, __VA_ARGS__)
#define check_error(r, map_pos, key, ...) check_error_at(r, map_pos, key, NO_INDEX, __VA_ARGS__)

/* Checks the client entries of an export, each alone and against each other. In
 * spec_check_export.c. */
void spec_check_export(struct spec_reader *r, const struct spec_export *e);
/* Without a cluster key, checks whether a source address proves the name of each client's host.
 * Only adds warnings. */
void spec_check_names_proven(struct spec_reader *r);
/* Returns the number of the export's rules: one for each host and network in its client entries,
 * one for an entry for all clients, and one if the export has no entry. *ret_ids gets the number of
 * id ranges in the entries. */
size_t spec_export_rules(const struct spec_export *e, size_t *ret_ids);
/* Returns with how many data IPs of the clients' hosts a worker must compare a client's address; 0
 * with a cluster key. */
size_t spec_export_ips(const struct spec *s, const struct spec_export *e);

/* Checks a device's priorities and traffic classes. In spec_check_dcb.c. */
void spec_check_dcb(struct spec_reader *r, const struct spec_net *net);

/* Checks the address of the API. In spec_check_api.c. */
void spec_check_api(struct spec_reader *r);

/* In spec_check_cluster.c: check the section `cluster`, and the networks that have a pool. */
void spec_check_cluster(struct spec_reader *r);
void spec_check_pools(struct spec_reader *r);

/* Checks that the device of a leg is either named or selected. In spec_check_match.c. */
void spec_check_match(struct spec_reader *r, const struct spec_net *net);

#endif
