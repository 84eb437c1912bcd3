/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plenum(1), the command line. It owns the arguments and the output. A command asks the agent over
 * its Unix socket; one that needs no agent reads files and the host itself. It never changes the
 * host; only the agent does. A command prints its result on standard output and errors on standard
 * error, and returns the exit status of the process. Called by ctl_main.c and by tests.
 */
#ifndef PLENUM_AGENT_CTL_H
#define PLENUM_AGENT_CTL_H

#include "agent/api/rest/resource.h"
#include "netcfg/base/base.h"
#include <jansson.h>
#include <stdio.h>

/* Exit statuses. From 64 on they have the meanings of sysexits.h. */
enum ctl_exit {
	CTL_OK = 0,
	CTL_DIFFERS = 1,      /* diff: there are differences */
	CTL_UNSERVED = 1,     /* apply: a mount that was served before is no longer served */
	CTL_DEGRADED = 2,     /* status: there is a problem */
	CTL_DOCTOR_WARN = 1,  /* doctor: a check warns, and none fails */
	CTL_DOCTOR_FAIL = 2,  /* doctor: a check fails */
	CTL_ROLLED_BACK = 3,  /* the apply failed and was rolled back: the host is as before */
	CTL_USAGE = 64,	      /* wrong arguments */
	CTL_DATA = 65,	      /* invalid configuration, or the agent refused the request */
	CTL_NO_INPUT = 66,    /* a file or object does not exist or cannot be read */
	CTL_UNAVAILABLE = 69, /* the agent does not answer */
	CTL_SOFTWARE = 70,    /* the agent failed or sent an unexpected answer */
	CTL_OS = 71,	      /* out of memory, or the host cannot be read */
	CTL_IO = 74,	      /* the result cannot be written */
	CTL_BUSY = 75,	      /* another change is in progress or waits for its confirmation */
	CTL_NO_PERMISSION = 77
};

#define CTL_SOCKET PLENUM_RUNDIR "/plenumd.sock"
#define CTL_SECRET_FILE PLENUM_SYSCONFDIR "/cluster.key"
#define CTL_TOKENS_FILE PLENUM_SYSCONFDIR "/api.tokens"

#define CTL_CONFIRM_S_MAX 86400 /* equals PRIVSEP_CONFIRM_S_MAX */

#define CTL_LIST_MAX 8 /* equals PRIVSEP_FORCES_MAX */

struct ctl_list { /* values of an option that may be repeated */
	const char *items[CTL_LIST_MAX];
	int n;
};

struct ctl_view {		    /* options of commands that print tables */
	const char *columns, *sort; /* columns NULL: the default columns; "wide": all; sort NULL:
				       the rows keep their order */
	struct ctl_list filters;
	bool no_header, csv;
};

struct ctl_remote;

struct ctl_args {
	const char *socket;
	/* For the agent of another host. remote NULL: the agent is the one on the socket. */
	const char *host, *token_file, *ca, *pin;
	struct ctl_remote *remote;
	bool json;
	bool follow, running, staged;
	bool once, batch;				       /* for top */
	const char *since, *until, *severity, *source, *lines; /* for events */
	/* For net add and net set. */
	const char *name, *device, *network, *label, *ips, *netmask, *gateway, *vlan, *mtu, *range,
		*unset;
	const char *net_keys[RESOURCE_NET_KEY_MAX];
	bool auto_label, inet6, shared_ip, soft_roce, rdma_off, rdma_on, rdma_only;
	struct ctl_list forces; /* for apply, confirm and rollback */
	bool dry_run;
	bool outdated;		     /* for worker restart */
	const char *core;	     /* for worker move */
	bool bad, all;		     /* for doctor */
	const char *answers;	     /* for setup: path of a file with answers */
	const char *confirm;	     /* for apply and rollback: a time such as 120s */
	const char *expect;	     /* for changes: the version on which they are based */
	const char *snapshot;	     /* for inventory */
	const char *inventory;	     /* for plan */
	const char *role;	     /* for token add and join */
	const char *cluster, *cores; /* for join, which also takes token_file */
	struct ctl_list nics;	     /* for join: POOL=DEVICE or POOL={MATCH} */
	bool yes;		     /* for join: do not ask */
	const char *valid;	     /* for cluster invite: a time such as 1h */
	const char *peer;	     /* for doctor */
	const char *leg;	     /* for ping, capture, top and fault add */
	const char *size, *count;    /* for ping */
	const char *drop, *duplicate, *reorder, *delay, *direction, *ttl; /* for fault add */
	bool blackhole;
	const char *worker, *write, *seconds, *packets, *snap, *buffer, *keys; /* for capture */
	const char *max_unavailable, *on_failure, *timeout; /* for rollout start */
	bool detach;					    /* for umount: --force */
	/* For mount, view.columns has the options after -o. */
	struct ctl_view view;
	const char *watch; /* for lists: seconds between two outputs */
	char **operands;   /* words after the name of the command */
	int n_operands;
};

/* Runs the whole program: parses the arguments, runs one command, and returns its exit status. */
int ctl_run(int argc, char **argv);

/* Parses the number in an option, from min to max. text NULL: the option is absent, and *ret stays
 * as it is. Returns CTL_OK, or CTL_USAGE after printing the error. In ctl_options.c. */
int ctl_take_number(const char *option, const char *text, unsigned long min, unsigned long max,
		    unsigned long *ret);

/* Parses the operand ID | agent. *ret is 0 for the agent. Returns CTL_OK, or CTL_USAGE after
 * printing the error. In ctl_options.c. */
int ctl_take_process(const char *text, unsigned long *ret);
/* Converts the value of --expect to a value for the header If-Match; without the option, ret is "".
 * Returns CTL_OK, or CTL_USAGE after printing the error. In ctl_options.c. */
#define CTL_TAG_SIZE 19
int ctl_take_expect(const struct ctl_args *a, char ret[CTL_TAG_SIZE]);

/* ---- the agent, via HTTP over its socket or, with --host, over TLS (ctl_http.c) ---- */

struct ctl_reply {
	long status;	   /* HTTP status */
	char *body;	   /* NUL-terminated; heap */
	size_t len, limit; /* limit: more bytes end the transfer; 0: memory was short */
	size_t size;	   /* allocated bytes of body */
	char etag[32];	   /* version of the resource, from the header ETag; "": none */
};

#define CTL_TIMEOUT_S 30
/* Long, because an apply waits for links and addresses for as long as the configured policy
 * allows. */
#define CTL_APPLY_TIMEOUT_S 600

struct ctl_request {
	enum resource_id resource;
	const char *name;		 /* last part of the resource's path; NULL: it has none */
	const char *query;		 /* such as "since=7"; NULL: none */
	const char *content_type, *body; /* NULL: the request has no body */
	size_t body_len;		 /* 0: strlen(body) */
	const char *accept;		 /* media type that the answer must have; NULL: any */
	const char *if_match; /* for If-Match: version on which the change is based; NULL: any */
	unsigned timeout_s;   /* 0: CTL_TIMEOUT_S */
	/* Name of a list that the answer must have, for ctl_ask_json(); NULL: none. */
	const char *list;
};

/* Sends a request to the agent of another host, or to the read-only socket; a change (any method
 * except GET) is sent to the admin socket in the same folder. Returns 0 with the reply, whatever
 * its HTTP status is, or negative errno if there is no reply. -ENOENT and -ECONNREFUSED mean that
 * no agent is running. -ETIMEDOUT means that the agent did not answer in time; a read returns it
 * after a second if the agent's process is stopped. Prints nothing. */
int ctl_http(const struct ctl_args *a, const struct ctl_request *rq, struct ctl_reply *ret);
void ctl_reply_done(struct ctl_reply *r);
/* Returns CTL_OK for a reply with a 2xx status. For another status, prints the error and returns
 * its exit status. */
int ctl_judge(const struct ctl_args *a, const struct ctl_reply *r);
/* Sends a request and checks the reply. Returns CTL_OK for a 2xx status, or another exit status
 * after printing the error. */
int ctl_ask(const struct ctl_args *a, const struct ctl_request *rq, struct ctl_reply *ret);
/* Returns the JSON object of the reply, a new reference. If the reply is not an object, or lacks
 * the list that it must have, prints the error and returns NULL. */
json_t *ctl_parse(const struct ctl_request *rq, const struct ctl_reply *r);
/* Returns the JSON object of the reply, a new reference, or NULL if the reply is not an object.
 * Prints nothing. */
json_t *ctl_parse_if_any(const struct ctl_reply *r);
/* Sends a request, and returns the JSON object of the reply in *ret, a new reference. Returns
 * CTL_OK, or another exit status after printing the error. */
int ctl_ask_json(const struct ctl_args *a, const struct ctl_request *rq, json_t **ret);
/* Like ctl_ask_json(), with a JSON body; NULL: the request keeps its own body, if it has one. In
 * ctl_ask.c, like the next three functions. */
int ctl_ask_with(const struct ctl_args *a, const struct ctl_request *rq, const json_t *body,
		 json_t **ret);
/* Sends a request like ctl_ask_with(), and prints the answer by `print` or, with -j, as JSON.
 * Returns the exit status. */
int ctl_show(const struct ctl_args *a, const struct ctl_request *rq, const json_t *body,
	     int (*print)(const struct ctl_args *a, const json_t *answer));
/* Sends a change like ctl_ask_with(), and prints `done` or, with -j, the agent's answer. */
int ctl_change(const struct ctl_args *a, const struct ctl_request *rq, const json_t *body,
	       const char *done);
/* Asks for a list, and prints it by `print`, with the resource's columns, or as JSON with -j. Then
 * calls `note`, if it is not NULL, which warns of entries that the list lacks. Returns the exit
 * status. */
int ctl_show_list(const struct ctl_args *a, enum resource_id id,
		  int (*print)(const struct ctl_args *a, const json_t *list, const char *columns),
		  void (*note)(const json_t *answer));
/* Prints why ctl_http failed for this request. Returns the exit status. */
int ctl_failed(const struct ctl_args *a, const struct ctl_request *rq, int error);
/* Prints why the agent cannot be reached. Returns the exit status. */
int ctl_unreachable(const struct ctl_args *a, int error);
/* Returns where the agent is, for texts: its socket, or host and port. */
const char *ctl_place(const struct ctl_args *a);

/* ---- mounts by command (folder mount) ---- */

struct ctl_mount {
	const char *source, *dir;
	const char *options;  /* comma-separated; NULL: none */
	unsigned long worker; /* 0: any */
	bool only_check;      /* only check the arguments */
};
/* Mounts, and waits until the mount is served. Returns CTL_OK with the agent's answer, a new
 * reference (NULL with only_check), or another exit status after printing the error. */
int ctl_mount(const struct ctl_args *a, const struct ctl_mount *m, json_t **ret);
/* Runs the program mount.plenum. Returns its exit status, one of mount(8). */
int ctl_mount_helper(int argc, char **argv);

/* ---- an agent that does not answer (ctl_agent.c) ---- */

enum ctl_agent_state {
	CTL_AGENT_NONE,	     /* no agent is running */
	CTL_AGENT_DEAD,	     /* the agent left its socket behind: it was killed or crashed */
	CTL_AGENT_NO_SOCKET, /* the agent is running, but its socket does not exist */
	CTL_AGENT_STOPPED,   /* stopped by a signal or a debugger */
	CTL_AGENT_HUNG,
	CTL_AGENT_FORBIDDEN, /* the user may not use the socket */
	CTL_AGENT_OTHER
};

struct ctl_silence {
	enum ctl_agent_state state;
	char text[256], remedy[128]; /* the fault, and a command that fixes it */
};

/* Returns whether the process that listens on the socket was stopped by a signal or a debugger. */
bool ctl_agent_is_stopped(const char *socket);
/* Returns a descriptor (pidfd_open(2)) of the process that listens on the socket; the caller closes
 * it. -1: no process of this PID namespace listens there. */
int ctl_agent_open(const char *socket);
/* Waits until the process has ended. Returns whether it has within the time. */
bool ctl_agent_wait(int pidfd, uint64_t wait_ns);
/* Explains why the agent does not answer. error: from ctl_http. */
void ctl_explain_silence(const char *socket, int error, struct ctl_silence *ret);

/* ---- printing (ctl_print.c, ctl_table.c, ctl_view.c) ---- */

/* Prints "plenum: TEXT" on standard error. */
void ctl_complain(const char *fmt, ...) PLENUM_PRINTF(1, 2);
/* Prints a text from outside the program: control characters and invalid bytes become '?'. */
void ctl_put(const char *text, FILE *out);
/* Like ctl_put(), for a text of several lines. */
void ctl_put_lines(const char *text, FILE *out);
/* Prints like ctl_put() on standard output, padded with blanks to `width` characters. */
void ctl_put_wide(const char *text, size_t width);
/* Prints a state on standard output, padded with blanks to `width` bytes; on a terminal in a colour
 * that says whether the state is good. In ctl_colour.c. */
void ctl_put_state(const char *state, size_t width);
/* Prints the heading of a column, bold on a terminal. */
void ctl_put_heading(const char *text);
/* Prints indented JSON and a newline. */
int ctl_put_json(const json_t *o);
/* Prints JSON on one line. */
int ctl_put_json_line(const json_t *o);
/* Prints a text. text NULL: prints that memory is short. Returns the exit status. */
int ctl_put_text(const char *text);

/* Prints a line for each leg with a reason. Returns whether no leg is absent or refused. */
bool ctl_put_legs(const json_t *legs);
/* Prints the warnings in the agent's answer on standard error. */
void ctl_put_warnings(const json_t *answer);
/* Returns the text of a member, or "" if the object does not have it. */
const char *ctl_text(const json_t *o, const char *key);
/* Returns the number of a member. A real number is rounded and limited to the range of the type. */
json_int_t ctl_int(const json_t *o, const char *key);
#define CTL_ID_SIZE 17
/* Copies the number of a capture or test from the agent's answer, as text for a path. Returns
 * CTL_OK, or another exit status after printing the error. */
int ctl_take_id(const json_t *answer, const char *key, char ret[CTL_ID_SIZE]);
/* Returns whether a path's round-trip time was measured on a message in the last ten seconds. A
 * time that was measured on probes, between idle hosts, says little about the network. */
bool ctl_rtt_is_current(const json_t *path);
/* Write a text such as "1.5 MiB" or "3m 20s" to buf, and return buf. */
const char *ctl_format_bytes(json_int_t bytes, char *buf, size_t size);
const char *ctl_format_seconds(json_int_t seconds, char *buf, size_t size);
#define CTL_LATENCY_MAX 40
/* Writes the median and the 99th percentile of the durations of a class of requests of a mount or
 * export, in ms, such as "0.21/1.40", to buf; without recent requests, "-". Returns buf. */
const char *ctl_format_latency(const json_t *o, const char *class, char buf[CTL_LATENCY_MAX]);
/* Writes a user such as "root (uid 0, pid 7)" to buf, for the agent's "uid 0, pid 7". If this host
 * does not know the uid, writes it without a name. Returns buf. */
const char *ctl_format_user(const char *by, char *buf, size_t size);
/* From now on, ctl_format_user() names only root: the users are those of another host. */
void ctl_format_users_of_another_host(void);

/* Rows of text under headings, printed in columns as wide as their widest cell. If the line width
 * is limited (ctl_line_width()), text in a wide last column is broken at blanks or printed below
 * its row. If the table is still too wide and keep_all is not set, the least important columns are
 * omitted, which the last line reports. */
struct ctl_table {
	const char *const *headings;
	size_t n_columns, n_cells, cap;
	char **cells;
	bool out_of_memory;
	bool no_header;
	bool keep_all; /* print all columns even if lines become wider than the limit; for chosen
			  columns and `plenum top` */
};
#define CTL_TABLE(headings_)                                                            \
	{                                                                               \
		.headings = headings_, .n_columns = ARRAY_SIZE(headings_), .n_cells = 0 \
	}
/* Returns COLUMNS of the environment or, if it is not set, the width of the terminal; SIZE_MAX if
 * there is no limit. */
size_t ctl_line_width(void);
/* Adds the next cell. An empty cell is printed as "-". */
void ctl_table_add(struct ctl_table *t, const char *fmt, ...) PLENUM_PRINTF(2, 3);
/* Adds a cell with the whole number of a member, or an empty cell if the object does not have it.
 */
void ctl_table_add_number(struct ctl_table *t, const json_t *o, const char *key);
/* Adds a cell with the members of a list of texts, joined by ", ". */
void ctl_table_add_list(struct ctl_table *t, const json_t *list);
int ctl_table_print(const struct ctl_table *t);
void ctl_table_done(struct ctl_table *t);
/* Prints the columns and rows that the options select. `columns`: the default columns, in the
 * format of the option -o. */
int ctl_view_print(const struct ctl_args *a, const struct ctl_table *t, const char *columns);

/* ---- legs and workers ---- */

/* An object that a command changes and that has a version. The structure has the operations that
 * get and set the object, its name, and the text to print if there is nothing to stage. */
struct ctl_patch {
	enum resource_id get, set;
	const char *name, *nothing;
};
/* Changes configuration keys of the object, based on its current version, so that the command never
 * overwrites a change that another operator stages at the same time. After such a change the
 * command reads the object again and repeats its own change, unless the operator expects a certain
 * version. Returns the exit status. In ctl_net.c. */
int ctl_patch(const struct ctl_args *a, const struct ctl_patch *p, const json_t *body);

/* Checks that the name can be part of a path. Returns CTL_OK, or another exit status after printing
 * the error. In ctl_net.c. */
int ctl_check_leg_name(const char *name);
/* Prints the configuration keys of a leg. In ctl_leg.c, like the next function. Returns an exit
 * status. */
int ctl_show_leg(const struct ctl_args *a, const char *name);
/* Returns the version in a reply, in the format of --expect, on the heap, or NULL if memory is
 * short. */
char *ctl_version_of(const struct ctl_reply *reply);
/* Prints a version, and the command that applies only this version. */
void ctl_put_version(const char *version);
/* Prints the users who staged changes, from the member staged_by. */
void ctl_put_authors(const json_t *answer);
/* Prints on standard error which values of the leg are in a configuration file but not in force. */
void ctl_put_overridden(const json_t *leg);

/* ---- devices (ctl_devices.c) ---- */

struct inventory;
/* Returns the legs from the agent, a new reference, or NULL if no agent is running. Prints
 * nothing. */
json_t *ctl_legs_if_any(const struct ctl_args *a);
/* Prints the columns and rows of the table of devices that the options select. `legs` has the legs
 * with their switches, and may be NULL. title is printed above the table if there are devices;
 * NULL: no title. */
int ctl_put_devices(const struct ctl_args *a, const struct inventory *inv, const json_t *legs,
		    const char *title);

/* ---- mounts, exports, paths (ctl_lists.c) ---- */

/* Formats ids of workers, such as "2, 3". */
void ctl_format_ids(const json_t *ids, char *buf, size_t size);
/* Adds four cells with the median and 99th percentile of each class in ms; "-" for a class without
 * recent requests. */
void ctl_table_add_latencies(struct ctl_table *t, const json_t *o);
/* The first prints a list of processes. The second returns how the carrier of a leg is shown. Both
 * are in ctl_show.c. */
int ctl_put_processes(const struct ctl_args *a, const json_t *processes, const char *columns);
const char *ctl_carrier_of(const json_t *leg);
/* Prints these columns of the paths, or those that the options select. */
int ctl_put_paths(const struct ctl_args *a, const json_t *paths, const char *columns);

/* ---- configurations (ctl_local.c) ---- */

struct spec;
struct inventory;
struct diag;
struct plan;
/* ---- a first configuration (ctl_setup.c) ---- */

struct inventory;
struct plan;
/* Proposes n cores for workers, as a list such as "2,3", in buf. */
void ctl_setup_cores(const struct inventory *inv, size_t n, char *buf, size_t size);
/* Prints the configuration and its plan. `name` is used in errors; `check`, if not NULL, may refuse
 * the plan with an exit status. Returns CTL_OK, or another exit status after printing the errors.
 */
int ctl_setup_show(const char *name, const char *yaml, const struct inventory *inv,
		   int (*check)(const struct plan *p));
/* Finds out whether a running agent would apply the file. An agent that has staged changes would
 * apply these instead, so then CTL_BUSY is returned. */
int ctl_setup_look_at_agent(const struct ctl_args *a, bool *ret_runs);
/* Asks on the terminal whether the configuration may be written. */
bool ctl_setup_consents(void);
/* Writes the file, if it fits the existing drop-ins. An existing file is kept under another
 * name. */
int ctl_setup_write(const char *yaml);
/* Makes the agent apply the file with a confirmation, or says how to start an agent. */
int ctl_setup_apply(const struct ctl_args *a, bool agent_runs);

/* Loads a configuration as the agent does: the file, and *.yaml in plenum.d in the same folder.
 * Returns 0, or negative errno with the errors in d. */
int ctl_load_file(const char *file, struct diag *d, struct spec **ret);
/* Makes the plan of this host, with the agent's records. Returns 0, or negative errno with the
 * errors in d. */
int ctl_plan_here(const struct spec *s, const struct inventory *inv, const struct plan *running,
		  struct diag *d, struct plan **ret);
/* Collects the inventory of this host, and prints warnings. Returns CTL_OK, or another exit status
 * after printing the errors. */
int ctl_collect(struct inventory **ret);
/* Loads a configuration with the drop-ins in the same folder. Returns CTL_OK, or another exit
 * status after printing the errors. */
int ctl_load(const char *file, struct spec **ret);

/* ---- the commands, called through the table in ctl.c; ping and doctor are in doctor/ ---- */

int ctl_cmd_processes(const struct ctl_args *a);
int ctl_cmd_workers(const struct ctl_args *a);
int ctl_cmd_status(const struct ctl_args *a);
int ctl_cmd_mounts(const struct ctl_args *a);
int ctl_cmd_mount(const struct ctl_args *a);
int ctl_cmd_umount(const struct ctl_args *a);
int ctl_cmd_exports(const struct ctl_args *a);
int ctl_cmd_clients(const struct ctl_args *a);
int ctl_cmd_peers(const struct ctl_args *a);
int ctl_cmd_cluster_status(const struct ctl_args *a);
int ctl_cmd_cluster_hosts(const struct ctl_args *a);
int ctl_cmd_cluster_processes(const struct ctl_args *a);
int ctl_cmd_cluster_links(const struct ctl_args *a);
int ctl_cmd_cluster_net(const struct ctl_args *a);
int ctl_cmd_cluster_exports(const struct ctl_args *a);
int ctl_cmd_cluster_forget(const struct ctl_args *a);
int ctl_cmd_cluster_leave(const struct ctl_args *a);
int ctl_cmd_pool_show(const struct ctl_args *a);
int ctl_cmd_pool_add(const struct ctl_args *a);
int ctl_cmd_pool_set(const struct ctl_args *a);
int ctl_cmd_pool_remove(const struct ctl_args *a);
int ctl_cmd_pool_addresses(const struct ctl_args *a);
/* Reads a file, or standard input if it is "-", into a heap string. Returns CTL_OK, or another
 * status after printing the error. In ctl_local.c. */
int ctl_read_text(const char *file, char **ret_text, size_t *ret_len);
int ctl_cmd_document_show(const struct ctl_args *a);
int ctl_cmd_document_set(const struct ctl_args *a);
int ctl_cmd_rollout_status(const struct ctl_args *a);
int ctl_cmd_rollout_start(const struct ctl_args *a);
int ctl_cmd_rollout_pause(const struct ctl_args *a);
int ctl_cmd_rollout_resume(const struct ctl_args *a);
int ctl_cmd_rollout_abort(const struct ctl_args *a);
int ctl_cmd_paths(const struct ctl_args *a);
int ctl_cmd_sessions(const struct ctl_args *a);
int ctl_cmd_events(const struct ctl_args *a);
int ctl_cmd_locks(const struct ctl_args *a);
int ctl_cmd_locks_break(const struct ctl_args *a);
int ctl_cmd_metrics(const struct ctl_args *a);
int ctl_cmd_net_show(const struct ctl_args *a);
int ctl_cmd_net_add(const struct ctl_args *a);
int ctl_cmd_net_set(const struct ctl_args *a);
int ctl_cmd_net_label(const struct ctl_args *a);
int ctl_cmd_net_enable(const struct ctl_args *a);
int ctl_cmd_net_disable(const struct ctl_args *a);
int ctl_cmd_net_remove(const struct ctl_args *a);
int ctl_cmd_restore(const struct ctl_args *a);
int ctl_cmd_apply(const struct ctl_args *a);
int ctl_cmd_confirm(const struct ctl_args *a);
int ctl_cmd_rollback(const struct ctl_args *a);
int ctl_cmd_history(const struct ctl_args *a);
int ctl_cmd_history_show(const struct ctl_args *a);
int ctl_cmd_history_diff(const struct ctl_args *a);
int ctl_cmd_fault_add(const struct ctl_args *a);
int ctl_cmd_fault_show(const struct ctl_args *a);
int ctl_cmd_fault_remove(const struct ctl_args *a);
int ctl_cmd_stop(const struct ctl_args *a);
int ctl_cmd_worker_restart(const struct ctl_args *a);
int ctl_cmd_worker_stop(const struct ctl_args *a);
int ctl_cmd_worker_start(const struct ctl_args *a);
int ctl_cmd_worker_show(const struct ctl_args *a);
int ctl_cmd_worker_move(const struct ctl_args *a);
int ctl_cmd_worker_log_level(const struct ctl_args *a);
int ctl_cmd_worker_logs(const struct ctl_args *a);
int ctl_cmd_validate(const struct ctl_args *a);
int ctl_cmd_config_show(const struct ctl_args *a);
int ctl_cmd_config_generate(const struct ctl_args *a);
int ctl_cmd_setup(const struct ctl_args *a);
int ctl_cmd_join(const struct ctl_args *a);
int ctl_cmd_cluster_invite(const struct ctl_args *a);
int ctl_cmd_cluster_authority(const struct ctl_args *a);
int ctl_cmd_cluster_identity(const struct ctl_args *a);
int ctl_cmd_cluster_revoke(const struct ctl_args *a);
int ctl_cmd_diff(const struct ctl_args *a);
int ctl_cmd_config_stage(const struct ctl_args *a);
int ctl_cmd_config_schema(const struct ctl_args *a);
int ctl_cmd_secret_generate(const struct ctl_args *a);
int ctl_cmd_secret_add(const struct ctl_args *a);
int ctl_cmd_secret_switch(const struct ctl_args *a);
int ctl_cmd_secret_drop(const struct ctl_args *a);
int ctl_cmd_token_add(const struct ctl_args *a);
int ctl_cmd_token_list(const struct ctl_args *a);
int ctl_cmd_token_remove(const struct ctl_args *a);
int ctl_cmd_inventory(const struct ctl_args *a);
int ctl_cmd_rdma_devices(const struct ctl_args *a);
int ctl_cmd_rdma_ping(const struct ctl_args *a);
int ctl_cmd_plan(const struct ctl_args *a);
int ctl_cmd_ping(const struct ctl_args *a);
int ctl_cmd_top(const struct ctl_args *a);
int ctl_cmd_capture(const struct ctl_args *a);
int ctl_cmd_captures(const struct ctl_args *a);
int ctl_cmd_captures_end(const struct ctl_args *a);
int ctl_cmd_doctor(const struct ctl_args *a);
int ctl_cmd_support(const struct ctl_args *a);
int ctl_cmd_version(const struct ctl_args *a);

#endif
