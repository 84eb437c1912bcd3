/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The schema table of plenum.yaml. It drives the reader, the printer of the normal form, the JSON
 * Schema and the list of keys in plenum.yaml(5). A new key needs only a line in the table and a
 * member in spec.h, unless it has a new type. The table is constant; only spec*.c use it.
 */
#ifndef PLENUM_NETCFG_SPEC_SCHEMA_H
#define PLENUM_NETCFG_SPEC_SCHEMA_H

#include "netcfg/spec/spec.h"
#include "netcfg/spec/spec_node.h"

#define SPEC_LIST_MAX 1024 /* maximum number of entries in a list */
#define SPEC_CORES_MAX 1024
#define SPEC_LEGS_MAX PLENUM_LEGS_MAX
/* Limits of a worker's configuration, which are explained in launch.h. */
#define SPEC_PEER_IPS_MAX 16
#define SPEC_ETCD_MAX 16
#define SPEC_EXPORTS_MAX 16
#define SPEC_SESSIONS_MAX 10000
#define SPEC_MOUNTS_PER_CORE_MAX 128
#define SPEC_ADMINS_MAX 64
#define SPEC_ALLOW_MAX 8
#define SPEC_CLIENTS_MAX 64 /* maximum number of client entries of an export */
#define SPEC_SUBNETS_MAX 16 /* maximum number of subnets of a match */
#define SPEC_WHO_MAX 64	    /* maximum number of hosts, or of networks, of a client entry */
#define SPEC_IDS_MAX 32	    /* maximum number of id ranges of a map */
/* Maximum number of hosts and networks of all exports of a worker, see launch.h. */
#define SPEC_RULES_MAX 256
/* Maximum number of data IPs of all hosts that a worker's exports name. */
#define SPEC_RULE_IPS_MAX 4096
#define SPEC_RULE_IDS_MAX 256 /* maximum number of id ranges of all maps of a worker's exports */

enum spec_type {
	SPEC_TYPE_MAP,	     /* a struct inside the parent struct */
	SPEC_TYPE_MAPS,	     /* list of maps: pointer to structs, and count */
	SPEC_TYPE_NAME,	     /* char[] */
	SPEC_TYPE_DEVICE,    /* char[] */
	SPEC_TYPE_INTERFACE, /* char[] */
	SPEC_TYPE_PATTERN,   /* char[], for fnmatch(3) */
	SPEC_TYPE_PATH,	     /* char * */
	SPEC_TYPE_BOOL,	     /* bool */
	SPEC_TYPE_U16,	     /* uint16_t */
	SPEC_TYPE_U32,	     /* uint32_t */
	SPEC_TYPE_INDEX,     /* uint32_t: the number plus one; 0: none */
	SPEC_TYPE_VFS,	     /* int: SPEC_VFS_AUTO or a number */
	SPEC_TYPE_ENUM,	     /* an enum */
	SPEC_TYPE_SECONDS,   /* uint32_t */
	SPEC_TYPE_RATE,	     /* uint32_t: kB/s */
	SPEC_TYPE_IP,	     /* struct ip_addr */
	SPEC_TYPE_RANGE,     /* struct ip_range, with the prefix length of its subnet */
	/* two arrays char[PLENUM_NAME_MAX], one after the other: host and export */
	SPEC_TYPE_FROM,
	SPEC_TYPE_IPS,	    /* pointer to struct ip_addr, and count */
	SPEC_TYPE_RANGES,   /* pointer to struct ip_range, and count */
	SPEC_TYPE_URLS,	    /* pointer to char *, and count */
	SPEC_TYPE_ACCOUNTS, /* pointer to char *, and count */
	SPEC_TYPE_NAMES,    /* pointer to char *, and count */
	SPEC_TYPE_NETWORKS, /* pointer to struct ip_prefix, and count */
	SPEC_TYPE_CORES,    /* pointer to unsigned, and count */
	SPEC_TYPE_PRIOS,    /* pointer to uint32_t below SPEC_PRIOS, and count */
	SPEC_TYPE_MAX
};

struct spec_table;

struct spec_key {
	const char *name;
	enum spec_type type;
	bool required;
	const char *fallback; /* the default in the notation of the configuration file; NULL: the
				 key has no default */
	const char *fallback_doc; /* describes the default in words; NULL: `fallback` is shown */
	/* limits of numbers, seconds and rates; for lists, max is the maximum number of entries (0:
	 * SPEC_LIST_MAX) */
	uint32_t min, max;
	const char *why; /* a short reason for the limits of a number; NULL: the limits need no
			    reason */
	const char *of;	 /* kind of the objects that a list of names refers to; NULL: hosts */
	const char *const *names; /* text of each value of an enum; "" for "not set" */
	size_t n_names;
	const struct spec_table *table; /* keys of a map */
	size_t offset, size;		/* offset of the member; size of a list entry */
	size_t n_offset;		/* offset of the count of a list */
	/* name of the list whose entries are changed by the entries of this list of maps; NULL:
	 * none */
	const char *changes;
	/* the key that says which entry is changed. "name": the entry of that name. "core": the
	 * entry whose `cores` have that core in its file, because such entries have no name. */
	const char *by;
	const char *help;    /* sentences, one per line */
	const char *example; /* an example of a value, in the notation of the configuration file */
	/* Error text for values that this version does not implement; NULL if it implements all
	 * values. */
	const char *not_built;
	/* Returns whether a value is implemented. NULL although not_built is set: no value is. */
	bool (*is_built)(const char *text);
};

struct spec_table {
	const struct spec_key *keys;
	size_t n_keys;
	bool has_pos; /* the struct has a diag_pos at pos_offset */
	size_t pos_offset;
};

/* spec_rate.c: the operations of SPEC_TYPE_RATE. */
void spec_rate_describe(const struct spec_key *k, char *buf, size_t size);
int spec_rate_key_parse(const char *text, const struct spec_key *k, void *field);
void spec_rate_print(const struct spec_key *k, const void *field, FILE *out);

extern const struct spec_table spec_schema;
/* The keys of net[].match, in spec_match.c. */
extern const struct spec_table spec_match_table;

/* Returns whether this version implements the value or, if text is NULL, any value. */
bool spec_key_is_built(const struct spec_key *k, const char *text);
const struct spec_key *spec_key_find(const struct spec_table *t, const char *name);
bool spec_type_is_list(enum spec_type t);

/* The functions that read, print and describe values of a type. */
struct spec_reader;
struct spec_type_ops {
	/* Writes a description such as "a whole number from 1 to 5" into buf. */
	void (*describe)(const struct spec_key *k, char *buf, size_t size);
	/* Parses one scalar into its field, or appends it as an entry. Returns 0, -EINVAL if the
	 * text is invalid, or another negative errno if the error was already reported. NULL if the
	 * type is not a scalar. */
	int (*parse)(const char *text, const struct spec_key *k, void *field);
	/* Prints the value of a field as YAML, in quotes if needed. NULL if the type is not a
	 * scalar. */
	void (*print)(const struct spec_key *k, const void *field, FILE *out);
	/* Returns whether the field is not set; such a field is not printed. NULL if the field is
	 * always set. */
	bool (*is_unset)(const struct spec_key *k, const void *field);
	/* values are written without quotes; texts that look like a number are quoted */
	bool is_number;
	bool is_bool;
	const char *pattern; /* pattern for the JSON Schema; NULL: no pattern */
	const char *item;    /* describes one entry of a list of scalars, as `describe` does */
};
extern const struct spec_type_ops spec_types[SPEC_TYPE_MAX];

/* Prints text as a YAML scalar, in quotes if YAML would read the plain text as something else. In
 * spec_value.c. */
void spec_print_text(const char *text, FILE *out);
/* Return whether YAML reads the plain text as a number, or as a boolean or null. */
bool spec_text_is_number(const char *text);
bool spec_text_is_bool(const char *text);

/* State of the reader of one spec. The checks use it too, because their messages take positions
 * from the trees. */
struct spec_reader {
	struct spec *spec;
	struct diag *d;
	struct spec_node **trees; /* one for each file with content */
	size_t n_trees;
	struct spec_node *document; /* of the cluster (spec_document.c); NULL: none */
	bool is_part; /* the trees are parts of a configuration: required keys may be missing */
	/* for each core, the first entry that names the core */
	struct spec_node *core_owner[SPEC_CORES_MAX];
};

/* Adds an error with the position and the path of a node. */
#define spec_read_error(r, node, ...)                                              \
	do {                                                                       \
		char path_[SPEC_PATH_MAX];                                         \
		diag_add((r)->d, DIAG_ERROR, &(node)->pos,                         \
			 spec_node_path(node, path_, sizeof(path_)), __VA_ARGS__); \
	} while (0)

/* Merges entries that change other entries (`net-set:`, `workers-set:`) into these other entries,
 * before the first tree is read. Members move from one tree to another. In spec_merge.c. */
void spec_merge_trees(struct spec_reader *r);
/* Records the members of `target` that members of `changes`, an entry of the list k, replace.
 * Returns 0 or -ENOMEM. In spec_override.c. */
int spec_overrides_add(struct spec *s, const struct spec_key *k, const struct spec_node *target,
		       const struct spec_node *changes);
/* Records that the value `own` of the host's files replaces the value `below` of the cluster's
 * document, in a list or map of the root. Returns 0 or -ENOMEM. In spec_override.c. */
int spec_override_below(struct spec *s, const struct spec_key *k, const struct spec_node *own,
			const struct spec_node *below);
void spec_overrides_done(struct spec *s);
/* Merges the sections of the cluster's document that match this host below the trees. In
 * spec_document.c. */
void spec_document_merge(struct spec_reader *r);
/* Checks all sections of the document and reads their values, each section by itself. */
void spec_document_read(struct spec_reader *r);
/* Parses "5" or "3-6"; returns false for other text. In spec_read.c. */
bool spec_cores_parse(const char *text, unsigned *ret_first, unsigned *ret_last);
/* Reads a file's tree into the spec. Appends the file's lists to the lists of earlier files. */
void spec_read_tree(struct spec_reader *r, struct spec_node *root);
/* Called after all trees were read: sets defaults and reports missing required keys. */
void spec_read_finish(struct spec_reader *r);
/* Checks values against each other. In spec_check.c. */
void spec_check(struct spec_reader *r);

#endif
