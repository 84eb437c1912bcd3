/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The schema table of plenum.yaml. The reader, the printer of the normal form, the JSON Schema and
 * the key list of plenum.yaml(5) are all driven by it: a new key is a line here and a member in
 * spec.h, and nothing else unless it has a new type. Constant data; used by spec*.c.
 */
#ifndef PLENUM_NETCFG_SPEC_SCHEMA_H
#define PLENUM_NETCFG_SPEC_SCHEMA_H

#include "netcfg/spec/spec.h"
#include "netcfg/spec/spec_node.h"

#define SPEC_LIST_MAX 1024 /* entries in any list */
#define SPEC_CORES_MAX 1024
#define SPEC_LEGS_MAX PLENUM_LEGS_MAX
/* Limits of a worker's configuration, see launch.h. */
#define SPEC_PEER_IPS_MAX 16
#define SPEC_EXPORTS_MAX 16
#define SPEC_SESSIONS_MAX 10000
#define SPEC_MOUNTS_PER_CORE_MAX 128
#define SPEC_ADMINS_MAX 64
#define SPEC_ALLOW_MAX 8
#define SPEC_CLIENTS_MAX 64    /* rules of an export */
#define SPEC_WHO_MAX 64	       /* hosts, or networks, of a rule */
#define SPEC_IDS_MAX 32	       /* ranges of a map */
#define SPEC_RULES_MAX 256     /* hosts and networks of a worker's exports, see launch.h */
#define SPEC_RULE_IPS_MAX 4096 /* data IPs of the hosts of a worker's exports */
#define SPEC_RULE_IDS_MAX 256  /* ranges of all maps of a worker's exports */

enum spec_type {
	SPEC_TYPE_MAP,	     /* a struct inside the parent */
	SPEC_TYPE_MAPS,	     /* list of maps: pointer and count of structs */
	SPEC_TYPE_NAME,	     /* char[] */
	SPEC_TYPE_DEVICE,    /* char[] */
	SPEC_TYPE_INTERFACE, /* char[] */
	SPEC_TYPE_PATH,	     /* char * */
	SPEC_TYPE_BOOL,	     /* bool */
	SPEC_TYPE_U16,	     /* uint16_t */
	SPEC_TYPE_U32,	     /* uint32_t */
	SPEC_TYPE_VFS,	     /* int, SPEC_VFS_AUTO or a count */
	SPEC_TYPE_ENUM,	     /* an enum */
	SPEC_TYPE_SECONDS,   /* uint32_t */
	SPEC_TYPE_IP,	     /* struct ip_addr */
	SPEC_TYPE_RANGE,     /* struct ip_range with its subnet's length */
	SPEC_TYPE_FROM,	     /* two char[PLENUM_NAME_MAX] in a row: host and export */
	SPEC_TYPE_IPS,	     /* pointer and count of struct ip_addr */
	SPEC_TYPE_RANGES,    /* pointer and count of struct ip_range */
	SPEC_TYPE_URLS,	     /* pointer and count of char * */
	SPEC_TYPE_ACCOUNTS,  /* pointer and count of char * */
	SPEC_TYPE_NAMES,     /* pointer and count of char * */
	SPEC_TYPE_NETWORKS,  /* pointer and count of struct ip_prefix */
	SPEC_TYPE_CORES,     /* pointer and count of unsigned */
	SPEC_TYPE_PRIOS,     /* pointer and count of uint32_t, below SPEC_PRIOS */
	SPEC_TYPE_MAX
};

struct spec_table;

struct spec_key {
	const char *name;
	enum spec_type type;
	bool required;
	const char *fallback;	  /* the default as it would be written; NULL: none */
	const char *fallback_doc; /* describes the default in words; NULL: the fallback */
	uint32_t min, max;	  /* numbers, seconds; max of lists: entries, 0: SPEC_LIST_MAX */
	const char *why; /* numbers: the reason for the limits, in a few words; NULL: none needed */
	const char *of;	 /* lists of names: what they name; NULL: hosts */
	const char *const *names; /* enums: the string of each value; "" for "not set" */
	size_t n_names;
	const struct spec_table *table; /* maps */
	size_t offset, size;		/* of the member; of one list entry */
	size_t n_offset;		/* lists: offset of the count */
	const char *changes;		/* lists of maps: the list whose entries they change */
	const char *help;		/* sentences, one per line */
	const char *example;		/* a value as it would be written */
	/* For a key that this version does not implement, or only in part: the error for other
	 * values; NULL: fully implemented. */
	const char *not_built;
	bool (*is_built)(const char *text); /* the implemented values; NULL: none */
};

struct spec_table {
	const struct spec_key *keys;
	size_t n_keys;
	bool has_pos; /* the struct has a diag_pos at pos_offset */
	size_t pos_offset;
};

extern const struct spec_table spec_schema;

/* Whether this version implements the value; text NULL: whether it implements any value. */
bool spec_key_is_built(const struct spec_key *k, const char *text);
const struct spec_key *spec_key_find(const struct spec_table *t, const char *name);
bool spec_type_is_list(enum spec_type t);

/* How a type is read, printed and described. */
struct spec_reader;
struct spec_type_ops {
	/* "a whole number from 1 to 5", into buf */
	void (*describe)(const struct spec_key *k, char *buf, size_t size);
	/* Parses one scalar into its field, or appends an entry; 0, -EINVAL where the text is
	 * invalid, or another negative errno where the error was already reported. NULL: not a
	 * scalar type. */
	int (*parse)(const char *text, const struct spec_key *k, void *field);
	/* Prints the value of a field as YAML, in quotes where needed. NULL: not a scalar type. */
	void (*print)(const struct spec_key *k, const void *field, FILE *out);
	/* Whether the field is not set, so that it is not printed. NULL: always set. */
	bool (*is_unset)(const struct spec_key *k, const void *field);
	bool is_number; /* written without quotes; text that looks like a number is quoted */
	bool is_bool;
	const char *pattern; /* of JSON Schema; NULL: none */
	const char *item;    /* lists of scalars: describes one entry, as describe does */
};
extern const struct spec_type_ops spec_types[SPEC_TYPE_MAX];

/* Prints text as a YAML scalar, quoted where plain text would have another meaning. In
 * spec_value.c. */
void spec_print_text(const char *text, FILE *out);
/* Whether YAML reads the plain text as a number, a boolean or null. */
bool spec_text_is_number(const char *text);
bool spec_text_is_bool(const char *text);

/* State of reading one spec, kept for the checks, whose messages take positions from the trees. */
struct spec_reader {
	struct spec *spec;
	struct diag *d;
	struct spec_node **trees; /* one per file with content */
	size_t n_trees;
	struct spec_node *core_owner[SPEC_CORES_MAX]; /* the entry that used the core first */
};

/* Adds an error with the position and path of a node. */
#define spec_read_error(r, node, ...)                                              \
	do {                                                                       \
		char path_[SPEC_PATH_MAX];                                         \
		diag_add((r)->d, DIAG_ERROR, &(node)->pos,                         \
			 spec_node_path(node, path_, sizeof(path_)), __VA_ARGS__); \
	} while (0)

/* Merges the entries of lists that change other entries into those, before the first tree is
 * read: members move between trees. In spec_merge.c. */
void spec_merge_trees(struct spec_reader *r);
/* Records the members of `target` that those of `changes`, an entry of net-set, replace. 0,
 * -ENOMEM. In spec_override.c. */
int spec_overrides_add(struct spec *s, const char *name, const struct spec_node *target,
		       const struct spec_node *changes);
void spec_overrides_done(struct spec *s);
/* Reads a file's tree into the spec; lists are appended to those of earlier files. */
void spec_read_tree(struct spec_reader *r, struct spec_node *root);
/* After all trees: sets defaults and reports missing required keys. */
void spec_read_finish(struct spec_reader *r);
/* Checks values against each other. In spec_check.c. */
void spec_check(struct spec_reader *r);

#endif
