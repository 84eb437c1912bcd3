/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The REST API in one table: each operation (a method of a path) with the rights, the fields and
 * the version that it takes, the message to the monitor that it becomes, and the texts of its
 * commands. The api process routes and checks requests by it and makes /openapi.json of it, the
 * command line builds its requests, help and default columns from it, and plenum-api(7) its list of
 * routes. Holds data only.
 *
 * To add an operation:
 * 1. a member of enum resource_id and its row in resource.c; a new kind of message also needs its
 *    type, struct and rule in agent/base/privsep.[ch] (a row of GET only a PRIVSEP_GET value);
 * 2. its handler in agent/control*.c;
 * 3. if it has a command: a row in agent/ctl/ctl.c, which names the function and its options;
 * 4. the members of its answer in answer.c;
 * 5. `make -C man update-keys`, and an entry in plenum-api(7) and plenum(1).
 * test_api and test_ctl fail if a part is missing.
 */
#ifndef PLENUM_AGENT_API_RESOURCE_H
#define PLENUM_AGENT_API_RESOURCE_H

#include "agent/base/privsep.h"

enum resource_id {
	RESOURCE_STATUS,
	RESOURCE_PROCESSES,
	RESOURCE_INVENTORY,
	RESOURCE_METRICS,
	RESOURCE_EVENTS,
	RESOURCE_HISTORY,
	RESOURCE_HISTORY_CONFIG,
	RESOURCE_PLAN,
	RESOURCE_PLAN_RUNNING,
	RESOURCE_CONFIG_RUNNING,
	RESOURCE_CONFIG_STAGED,
	RESOURCE_CONFIG_STAGE,
	RESOURCE_CONFIG_RESTORE,
	RESOURCE_NET,
	RESOURCE_NET_ADD,
	RESOURCE_NET_GET,
	RESOURCE_NET_SET,
	RESOURCE_NET_REMOVE,
	RESOURCE_APPLY,
	RESOURCE_CONFIRM,
	RESOURCE_ROLLBACK,
	RESOURCE_OPERATIONS,
	RESOURCE_OPERATION,
	RESOURCE_STOP,
	RESOURCE_WORKERS_RESTART,
	RESOURCE_WORKER_STOP,
	RESOURCE_WORKER_START,
	RESOURCE_FAULTS,
	RESOURCE_FAULT,
	RESOURCE_FAULT_ADD,
	RESOURCE_FAULTS_REMOVE,
	RESOURCE_FAULT_REMOVE,
	RESOURCE_CAPTURE_BEGIN,
	RESOURCE_CAPTURE_TAKE,
	RESOURCE_CAPTURE_END,
	RESOURCE_RDMA_PING_BEGIN,
	RESOURCE_RDMA_PING_RESULT,
	RESOURCE_ROOT,
	RESOURCE_INDEX,
	RESOURCE_OPENAPI,
	RESOURCE_MAX
};

/* Documents that the api process makes of this table, without the monitor. */
enum resource_local {
	RESOURCE_LOCAL_NONE, /* the monitor answers */
	RESOURCE_LOCAL_ROOT,
	RESOURCE_LOCAL_INDEX,
	RESOURCE_LOCAL_OPENAPI
};

/* The last part of a path that ends in '/'. */
enum resource_name {
	RESOURCE_NAME_NONE,
	RESOURCE_NAME_TEXT,   /* a name of the configuration */
	RESOURCE_NAME_NUMBER, /* decimal, 32 bits, not 0 */
	RESOURCE_NAME_HEX     /* 64 bits, not 0 */
};

/* If-Match, and the version (ETag) that it names. */
enum resource_version {
	RESOURCE_VERSION_NONE,	   /* refused: the resource has no version */
	RESOURCE_VERSION_OPTIONAL, /* the change is only for that version, if it is given */
	RESOURCE_VERSION_REQUIRED  /* so that no change of another client is lost */
};

enum resource_body {
	RESOURCE_BODY_IGNORED,
	RESOURCE_BODY_NONE,   /* refused */
	RESOURCE_BODY_FIELDS, /* a JSON object of `fields`; may be empty */
	RESOURCE_BODY_LEG,    /* a JSON object of keys of net[]; the monitor checks them */
	RESOURCE_BODY_YAML    /* a configuration */
};

enum resource_type {
	RESOURCE_TEXT,
	RESOURCE_NUMBER,
	RESOURCE_BOOLEAN,
	RESOURCE_CHOICE, /* a text of `choices`; the first is stored as 1 */
	RESOURCE_LIST	 /* of texts, up to PRIVSEP_FORCES_MAX */
};

/* A member of a JSON body, and the member of struct privsep_msg that holds it: uint32_t or uint64_t
 * by `size`, an array of char for RESOURCE_TEXT, an array of those for RESOURCE_LIST. */
struct resource_field {
	const char *name;
	enum resource_type type;
	size_t offset, size;
	uint64_t min, max;	    /* RESOURCE_NUMBER */
	uint64_t preset;	    /* value if it is not given */
	const char *const *choices; /* ends with NULL */
	const char *only;	    /* RESOURCE_LIST: the one text that is allowed; NULL: any */
	const char *required;	    /* what else to say if it is missing; NULL: optional */
	bool one_of;		    /* at least one of the fields with this mark is required */
};

/* A command that carries out the operation, as `plenum help` explains it. */
struct resource_command {
	const char *words, *operands;
	const char *summary; /* for the list of commands */
	const char *help;
};

/* The media type of a stream of server-sent events. */
#define RESOURCE_STREAM_TYPE "text/event-stream"

#define RESOURCE_COMMANDS_MAX 5 /* the last one marks the end */

struct resource {
	const char *method; /* anything but GET needs the right to make changes */
	/* The role that a client of the network needs; ACCESS_NONE: view for GET, else admin. */
	enum access_role role;
	const char *path; /* ends in '/' and has a `name`: the name follows */
	enum resource_name name;
	size_t name_offset;	/* in struct privsep_msg */
	const char *name_shown; /* in the manual */
	/* The list of the answer and the member that its members differ by, for pages by limit and
	 * after (api_list.h); NULL: no list. */
	const char *list, *key;
	enum resource_name key_type;
	bool latest_first; /* of numbers */
	bool waits;	   /* takes the parameters of events: since, wait, severity, ... */
	bool as_json;	   /* of YAML: also as JSON, if Accept prefers that */
	bool streams;	   /* also answers as a stream, if Accept names that type */
	enum resource_version version;
	enum resource_body body;
	const struct resource_field *fields;
	size_t n_fields;
	enum privsep_content content; /* of the answer; JSON also has all errors */
	unsigned success;	      /* HTTP status; 0: 200 */
	bool async;		      /* with Prefer: respond-async: 202, and an operation */
	bool continues;		      /* 202: the client repeats the request until it is 200 */
	enum resource_local local;    /* the members below are for the monitor */
	enum privsep_type type;
	uint32_t
		what; /* PRIVSEP_GET: enum privsep_what; PRIVSEP_CAPTURE: enum privsep_capture_do */
	const char *purpose; /* for the manual's list */
	const char *columns; /* shown without -o; NULL: no table */
	struct resource_command commands[RESOURCE_COMMANDS_MAX]; /* ends with words NULL */
};

extern const struct resource resources[RESOURCE_MAX];

/* The texts of the command with these words; NULL: it carries out no operation. */
const struct resource_command *resource_find_command(const char *words);
enum access_role resource_role(const struct resource *row);
/* The role that a client of the network needs for what the message asks; keys of encrypted
 * sessions, which a capture can include, are for admin alone. */
enum access_role resource_role_of(const struct privsep_msg *m);
/* Whether the row has that path, with any name where one follows. */
bool resource_has_path(const struct resource *row, const char *path);
/* The media type of such a content. */
const char *resource_media_type(enum privsep_content content);
/* The list of routes as mdoc(7) rows for plenum-api(7). Heap, caller frees; NULL: out of memory. */
char *resource_man_table(void);

#endif
