/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The REST API as one table. Each row is an operation (a method of a path). The row has the rights,
 * fields and version that the operation requires, the message to the monitor for the operation, and
 * the texts of its commands. The api process uses the table to route and check requests, and makes
 * /openapi.json from it. The command line makes its requests, help and default columns from this
 * table, and the list of routes in plenum-api(7) is made from this table too. Holds only data.
 *
 * To add an operation:
 * 1. Add a member of enum resource_id and its row in resource.c. A row of GET also needs a
 *    PRIVSEP_GET value; a new kind of message its type, struct and rule in agent/base/privsep.[ch].
 * 2. Add its handler in agent/control.
 * 3. If the operation has a command, add a row with its function and options in agent/ctl/ctl.c. 4.
 * Add the members of its answer in answer.c.
 * 5. Run `make -C man update-keys`, and describe it in plenum-api(7) and plenum(1).
 * test_api and test_ctl fail if a part is missing.
 */
#ifndef PLENUM_AGENT_API_RESOURCE_H
#define PLENUM_AGENT_API_RESOURCE_H

#include "agent/base/privsep.h"

/* Options of `plenum net add` and `net set` that set one configuration key of a leg: enumerator,
 * configuration key, and help. Configuration keys with further rules, such as label, have rows in
 * agent/ctl/ctl_options.c instead. */
#define RESOURCE_NET_KEYS(X)                                                                  \
	X(VFS, "vfs", "      --vfs N       number of VFs, or auto\n")                         \
	X(VF_SPOOF_CHECK, "vf-spoof-check",                                                   \
	  "      --vf-spoof-check, --vf-trust on|off, --vf-rate MBPS  settings of each VF\n") \
	X(VF_TRUST, "vf-trust", "")                                                           \
	X(VF_RATE, "vf-rate", "")                                                             \
	X(KERNEL_PORT, "kernel-port",                                                         \
	  "      --kernel-port HOW  DPDK without VFs: auto, af-packet or af-xdp\n")           \
	X(DCB, "dcb",                                                                         \
	  "      --dcb MAP     priorities and traffic classes, in YAML: '{pfc: [3]}'\n")      \
	X(IPOIB_MODE, "ipoib-mode", "      --ipoib-mode MODE  datagram or connected\n")       \
	X(QDISC, "qdisc", "      --qdisc KIND  queueing discipline: fq, fq_codel or pfifo\n") \
	X(ROCE_MODE, "roce-mode",                                                             \
	  "      --roce-mode VERSION, --roce-tos TOS  defaults of RDMA connections\n")        \
	X(ROCE_TOS, "roce-tos", "")
#define RESOURCE_NET_KEY(member, key, help) RESOURCE_NET_KEY_##member,
enum resource_net_key { RESOURCE_NET_KEYS(RESOURCE_NET_KEY) RESOURCE_NET_KEY_MAX };

enum resource_id {
	RESOURCE_STATUS,
	RESOURCE_PROCESSES,
	RESOURCE_MOUNTS,
	RESOURCE_MOUNT,
	RESOURCE_UNMOUNT,
	RESOURCE_EXPORTS,
	RESOURCE_CLIENTS,
	RESOURCE_PEERS,
	RESOURCE_PATHS,
	RESOURCE_SESSIONS,
	RESOURCE_SAMPLES,
	RESOURCE_LOCKS,
	RESOURCE_LOCK_BREAK,
	RESOURCE_CLUSTER,
	RESOURCE_CLUSTER_HOSTS,
	RESOURCE_CLUSTER_PROCESSES,
	RESOURCE_CLUSTER_NET,
	RESOURCE_CLUSTER_EXPORTS,
	RESOURCE_CLUSTER_LINKS,
	RESOURCE_CLUSTER_FORGET,
	RESOURCE_CLUSTER_LEAVE,
	RESOURCE_POOLS,
	RESOURCE_POOL_ADD,
	RESOURCE_POOL_SET,
	RESOURCE_POOL_REMOVE,
	RESOURCE_ADDRESSES,
	RESOURCE_DOCUMENT,
	RESOURCE_DOCUMENT_SET,
	RESOURCE_ROLLOUT,
	RESOURCE_ROLLOUT_START,
	RESOURCE_ROLLOUT_PAUSE,
	RESOURCE_ROLLOUT_RESUME,
	RESOURCE_ROLLOUT_ABORT,
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
	RESOURCE_DOCTOR,
	RESOURCE_STOP,
	RESOURCE_WORKERS_RESTART,
	RESOURCE_WORKER_STOP,
	RESOURCE_WORKER_START,
	RESOURCE_WORKER,
	RESOURCE_WORKER_MOVE,
	RESOURCE_WORKER_LOGS,
	RESOURCE_AGENT_LOGS,
	RESOURCE_LOG_LEVEL,
	RESOURCE_FAULTS,
	RESOURCE_FAULT,
	RESOURCE_FAULT_ADD,
	RESOURCE_FAULTS_REMOVE,
	RESOURCE_FAULT_REMOVE,
	RESOURCE_CAPTURES,
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

/* Documents that the api process makes from this table without the monitor. */
enum resource_local {
	RESOURCE_LOCAL_NONE, /* the answer is not such a document: the monitor makes it */
	RESOURCE_LOCAL_ROOT,
	RESOURCE_LOCAL_INDEX,
	RESOURCE_LOCAL_OPENAPI
};

/* Type of the last part of a path that ends with '/'. */
enum resource_name {
	RESOURCE_NAME_NONE,
	RESOURCE_NAME_TEXT,   /* a name of the configuration */
	RESOURCE_NAME_NUMBER, /* decimal, 32 bits, not 0 */
	RESOURCE_NAME_HEX     /* hexadecimal, 64 bits, not 0 */
};

/* How the operation uses If-Match and the version (ETag) in it. */
enum resource_version {
	RESOURCE_VERSION_NONE,	   /* If-Match is refused, because the resource has no version */
	RESOURCE_VERSION_OPTIONAL, /* if it is given, the change applies only to that version */
	RESOURCE_VERSION_REQUIRED  /* required, so that no change of another client is lost */
};

enum resource_body {
	RESOURCE_BODY_IGNORED,
	RESOURCE_BODY_NONE,   /* a body is refused */
	RESOURCE_BODY_FIELDS, /* a JSON object with `fields`; may be empty */
	RESOURCE_BODY_LEG,    /* a JSON object with configuration keys of net[], which the monitor
				 checks */
	RESOURCE_BODY_YAML    /* a configuration in YAML */
};

enum resource_type {
	RESOURCE_TEXT,
	RESOURCE_NUMBER,
	RESOURCE_BOOLEAN,
	RESOURCE_CHOICE, /* one of `choices`; the first one is stored as 1 */
	RESOURCE_LIST	 /* a list of texts, at most PRIVSEP_FORCES_MAX */
};

/* A member of a JSON body, and the member of struct privsep_msg in which it is stored: uint32_t or
 * uint64_t by `size`, an array of char for RESOURCE_TEXT, an array of such arrays for
 * RESOURCE_LIST. */
struct resource_field {
	const char *name;
	enum resource_type type;
	size_t offset, size;
	uint64_t min, max;	    /* limits of a field of the type RESOURCE_NUMBER */
	uint64_t preset;	    /* value if the member is absent */
	const char *const *choices; /* ends with NULL */
	const char *only; /* for RESOURCE_LIST: the only text that is allowed; NULL: any */
	/* Text for the error that the member is missing; NULL: it is optional. */
	const char *required;
	bool one_of; /* at least one of the fields with this flag is required */
};

/* A command that carries out the operation, with the texts for `plenum help`. */
struct resource_command {
	const char *words, *operands;
	const char *summary; /* one line for the list of commands */
	const char *help;
};

/* The media type of a stream of server-sent events. */
#define RESOURCE_STREAM_TYPE "text/event-stream"

#define RESOURCE_COMMANDS_MAX 5 /* including the last one, which marks the end */

struct resource {
	const char *method; /* all methods except GET need the right to make changes */
	/* The role that a network client needs. ACCESS_NONE: view for GET, else admin. */
	enum access_role role;
	const char *path; /* if it ends with '/', a name of the type `name` follows */
	enum resource_name name;
	size_t name_offset;	/* offset of the name in struct privsep_msg */
	const char *name_shown; /* how the manual shows the name in the path */
	const char *suffix;	/* what follows the name in the path, such as "/logs"; or NULL */
	/* list: the member of the answer that is a list and can be requested in pages, by limit and
	 * after (api_list.h). key: the member that differs between the entries of that list. NULL:
	 * the answer has no list. */
	const char *list, *key;
	enum resource_name key_type;
	bool latest_first; /* the list begins with the largest key; for keys that are numbers */
	bool waits;	   /* takes the parameters of events, such as since, wait and severity */
	bool as_json;	   /* for YAML: the answer is JSON if Accept prefers that */
	bool streams;	   /* the answer is a stream if Accept has that type */
	enum resource_version version;
	enum resource_body body;
	const struct resource_field *fields;
	size_t n_fields;
	enum privsep_content content; /* type of the answer; errors are always JSON */
	unsigned success;	      /* HTTP status of success; 0: 200 */
	bool async;	/* with Prefer: respond-async, the answer is 202 with an operation */
	bool continues; /* after a 202 the client repeats the request until it gets 200 */
	enum resource_local local; /* the members below are only used if the monitor answers */
	enum privsep_type type;
	uint32_t
		/* With PRIVSEP_GET: enum privsep_what. With PRIVSEP_CAPTURE: enum
		 * privsep_capture_do. */
		what;
	const char *purpose; /* one line for the list of operations in the manual */
	const char *columns; /* default columns of its table; NULL: it has no table */
	struct resource_command commands[RESOURCE_COMMANDS_MAX]; /* the last one has words NULL */
};

extern const struct resource resources[RESOURCE_MAX];

/* Returns the texts of the command with these words, or NULL if the command does not carry out an
 * operation. */
const struct resource_command *resource_find_command(const char *words);
enum access_role resource_role(const struct resource *row);
/* Returns the role that a network client needs to send the message. Only admin may request the keys
 * of encrypted sessions in a capture. */
enum access_role resource_role_of(const struct privsep_msg *m);
/* Returns whether the path belongs to the row. If the row's path has a name, any name is accepted
 * unless the whole path is that of another row. */
bool resource_has_path(const struct resource *row, const char *path);
/* Returns the media type of that kind of content. */
const char *resource_media_type(enum privsep_content content);
/* Returns the list of routes as mdoc(7) rows for plenum-api(7), on the heap, which the caller
 * frees. Returns NULL if memory is short. */
char *resource_man_table(void);

#endif
