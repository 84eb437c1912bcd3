/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plenum(1), the command line. Owns the arguments and the output. Asks the agent over its unix
 * socket, or reads files and the host itself where a command needs no agent. Never changes the
 * host; only the agent does. A command prints its result on standard output and errors on standard
 * error, and returns the exit status of the process. Called by ctl_main.c and the tests.
 */
#ifndef PLENUM_AGENT_CTL_H
#define PLENUM_AGENT_CTL_H

#include "agent/api/rest/resource.h"
#include "netcfg/base/base.h"
#include <jansson.h>
#include <stdio.h>

/* Exit statuses; the numbers from 64 on follow sysexits.h. */
enum ctl_exit {
	CTL_OK = 0,
	CTL_DIFFERS = 1,      /* diff: there are differences */
	CTL_UNSERVED = 1,     /* apply: a mount that was served is not served by the new one */
	CTL_DEGRADED = 2,     /* status: there is a problem */
	CTL_DOCTOR_WARN = 1,  /* doctor: a check warns, none fails */
	CTL_DOCTOR_FAIL = 2,  /* doctor: a check fails */
	CTL_ROLLED_BACK = 3,  /* the apply failed and was rolled back: the host is as before */
	CTL_USAGE = 64,	      /* wrong arguments */
	CTL_DATA = 65,	      /* invalid configuration, or request refused by the agent */
	CTL_NO_INPUT = 66,    /* a file or object does not exist or cannot be read */
	CTL_UNAVAILABLE = 69, /* the agent does not answer */
	CTL_SOFTWARE = 70,    /* the agent failed or sent an unexpected answer */
	CTL_OS = 71,	      /* out of memory; the host cannot be read */
	CTL_IO = 74,	      /* the result cannot be written */
	CTL_BUSY = 75,	      /* another change is in progress or waits for confirmation */
	CTL_NO_PERMISSION = 77
};

#define CTL_SOCKET PLENUM_RUNDIR "/plenumd.sock"
#define CTL_SECRET_FILE PLENUM_SYSCONFDIR "/cluster.key"
#define CTL_TOKENS_FILE PLENUM_SYSCONFDIR "/api.tokens"

#define CTL_CONFIRM_S_MAX 86400 /* PRIVSEP_CONFIRM_S_MAX */

#define CTL_LIST_MAX 8 /* PRIVSEP_FORCES_MAX */

struct ctl_list { /* values of an option that can be repeated */
	const char *items[CTL_LIST_MAX];
	int n;
};

struct ctl_view {		    /* table options */
	const char *columns, *sort; /* NULL: the default columns */
	struct ctl_list filters;
	bool no_header, csv;
};

struct ctl_args {
	const char *socket;
	bool json;
	bool follow, running, staged;
	bool once, batch;				       /* top */
	const char *since, *until, *severity, *source, *lines; /* events */
	/* net add, net set */
	const char *name, *device, *network, *label, *ips, *netmask, *gateway, *vlan, *mtu, *vfs,
		*unset;
	const char *vf_spoof_check, *vf_trust, *vf_rate;
	const char *dcb, *ipoib_mode, *kernel_port, *roce_mode, *roce_tos;
	bool auto_label, inet6, shared_ip, soft_roce, rdma_off, rdma_on, rdma_only;
	struct ctl_list forces; /* apply, rollback */
	bool dry_run;
	bool outdated;		  /* worker restart */
	bool bad, all;		  /* doctor */
	const char *answers;	  /* setup: a file */
	const char *confirm;	  /* apply, rollback: a time */
	const char *expect;	  /* changes: the version that they are based on */
	const char *snapshot;	  /* inventory */
	const char *inventory;	  /* plan */
	const char *role;	  /* token add */
	const char *peer;	  /* doctor */
	const char *leg;	  /* ping, capture, top, fault add */
	const char *size, *count; /* ping */
	const char *drop, *duplicate, *reorder, *delay, *direction, *ttl; /* fault add */
	bool blackhole;
	const char *worker, *write, *seconds, *packets, *snap, *buffer, *keys; /* capture */
	struct ctl_view view;
	char **operands; /* the words after the command */
	int n_operands;
};

/* All of plenum: parses the arguments, runs one command, returns its exit status. */
int ctl_run(int argc, char **argv);

/* An option's value, from min to max; NULL leaves *ret unchanged. CTL_OK, or CTL_USAGE: the error
 * was printed. Of ctl_options.c. */
int ctl_take_number(const char *option, const char *text, unsigned long min, unsigned long max,
		    unsigned long *ret);

/* --expect as If-Match has it; "": not given. CTL_OK, or CTL_USAGE: the error was printed. Of
 * ctl_options.c. */
#define CTL_TAG_SIZE 19
int ctl_take_expect(const struct ctl_args *a, char ret[CTL_TAG_SIZE]);

/* ---- the agent, via HTTP over its socket (ctl_http.c) ---- */

struct ctl_reply {
	long status; /* of HTTP */
	char *body;  /* NUL-terminated; heap */
	size_t len;
	char etag[32]; /* version of the resource, from ETag; "": it has none */
};

#define CTL_TIMEOUT_S 30
/* An apply waits for links and addresses, and for as long as the policy allows. */
#define CTL_APPLY_TIMEOUT_S 600

struct ctl_request {
	enum resource_id resource;
	const char *name;		 /* the last part of the resource's path, if it has one */
	const char *query;		 /* "since=7"; NULL: none */
	const char *content_type, *body; /* NULL: none */
	size_t body_len;		 /* 0: strlen(body) */
	const char *if_match; /* If-Match: the version that the change is based on; NULL: any */
	unsigned timeout_s;   /* 0: CTL_TIMEOUT_S */
	const char *list;     /* that the answer must have, for ctl_ask_json(); NULL: none */
};

/* `socket` is the read-only socket; a change (any method but GET) goes to the admin socket beside
 * it. 0 with the reply, whatever its HTTP status; a negative errno without a reply: -ENOENT and
 * -ECONNREFUSED mean that no agent runs, -ETIMEDOUT that none answered in time, or, when only read,
 * within a second and that its process is stopped. Prints nothing. */
int ctl_http(const char *socket, const struct ctl_request *rq, struct ctl_reply *ret);
void ctl_reply_done(struct ctl_reply *r);
/* CTL_OK if the reply is a 2xx; else prints its error and returns the exit status for it. */
int ctl_judge(const struct ctl_args *a, const struct ctl_reply *r);
/* For commands: CTL_OK with a 2xx reply, else the error was printed. */
int ctl_ask(const struct ctl_args *a, const struct ctl_request *rq, struct ctl_reply *ret);
/* The reply's JSON object, a new reference; NULL: it is none, or lacks the list that it must have,
 * and the error was printed. */
json_t *ctl_parse(const struct ctl_request *rq, const struct ctl_reply *r);
/* The same without printing an error, and without a list that it must have. */
json_t *ctl_parse_if_any(const struct ctl_reply *r);
/* The reply as a JSON object; the caller drops the reference. */
int ctl_ask_json(const struct ctl_args *a, const struct ctl_request *rq, json_t **ret);
/* Sends a change; prints `done`, or with -j the answer (ctl_net.c). */
int ctl_change(const struct ctl_args *a, struct ctl_request *rq, const json_t *body,
	       const char *done);
/* Prints why ctl_http failed for this request; returns the exit status. */
int ctl_failed(const struct ctl_args *a, const struct ctl_request *rq, int error);
/* Prints that the agent cannot be reached; returns the exit status. */
int ctl_unreachable(const struct ctl_args *a, int error);

/* ---- an agent that does not answer (ctl_agent.c) ---- */

enum ctl_agent_state {
	CTL_AGENT_NONE,	     /* none runs */
	CTL_AGENT_DEAD,	     /* it left its socket: it was killed or crashed */
	CTL_AGENT_NO_SOCKET, /* it runs, and its socket does not exist */
	CTL_AGENT_STOPPED,   /* by a signal or a debugger */
	CTL_AGENT_HUNG,
	CTL_AGENT_FORBIDDEN, /* the caller may not ask it */
	CTL_AGENT_OTHER
};

struct ctl_silence {
	enum ctl_agent_state state;
	char text[256], remedy[128]; /* the fault, and the command against it */
};

/* Whether the process that listens on the socket is stopped, by a signal or a debugger. */
bool ctl_agent_is_stopped(const char *socket);
/* error: of ctl_http. */
void ctl_explain_silence(const char *socket, int error, struct ctl_silence *ret);

/* ---- printing (ctl_print.c) ---- */

/* "plenum: TEXT" on standard error. */
void ctl_complain(const char *fmt, ...) PLENUM_PRINTF(1, 2);
/* Prints foreign text: control characters and invalid bytes become '?'. */
void ctl_put(const char *text, FILE *out);
/* The same for text of several lines. */
void ctl_put_lines(const char *text, FILE *out);
/* The same on standard output, filled with blanks to `width` characters. */
void ctl_put_wide(const char *text, size_t width);
/* Indented JSON and a newline. */
int ctl_put_json(const json_t *o);
/* JSON on one line. */
int ctl_put_json_line(const json_t *o);
/* Takes ownership of a text that may be NULL (out of memory). */
int ctl_put_text(const char *text);

/* Prints the agent's plan, with warnings on standard error. */
int ctl_put_plan(const json_t *o);
/* Prints a line for each leg that has a reason. Returns whether no leg is absent or refused. */
bool ctl_put_legs(const json_t *legs);
/* Prints the warnings of the agent's answer on standard error. */
void ctl_put_warnings(const json_t *answer);
/* The text of a member, "" if it has none. */
const char *ctl_text(const json_t *o, const char *key);
/* A real number is rounded, or limited to what fits. */
json_int_t ctl_int(const json_t *o, const char *key);
#define CTL_ID_SIZE 17
/* The agent's number of a capture or test, which becomes part of a path. CTL_OK, or the error was
 * printed. */
int ctl_take_id(const json_t *answer, const char *key, char ret[CTL_ID_SIZE]);
/* Whether a path's round trip is one of a message in the last ten seconds. Those of probes between
 * hosts that sleep say little about the network. */
bool ctl_rtt_is_current(const json_t *path);
/* Format "1.5 MiB" and "3m 20s" into buf; return buf. */
const char *ctl_format_bytes(json_int_t bytes, char *buf, size_t size);
const char *ctl_format_seconds(json_int_t seconds, char *buf, size_t size);
#define CTL_LATENCY_MAX 40
/* "0.21/1.40" into buf: median and 99th percentile in ms of that class of requests of a mount or
 * export; "-": it had none lately. Returns buf. */
const char *ctl_format_latency(const json_t *o, const char *class, char buf[CTL_LATENCY_MAX]);
/* "root (uid 0, pid 7)" of the agent's "uid 0, pid 7", where this host has a name for the user. */
const char *ctl_format_user(const char *by, char *buf, size_t size);

/* Rows of text under headings, printed in columns as wide as their widest cell. On a terminal (or
 * if COLUMNS is set) no line is wider: text in the last column is broken at blanks or printed
 * below its row, and the least important columns are omitted, which a last line reports. */
struct ctl_table {
	const char *const *headings;
	size_t n_columns, n_cells, cap;
	char **cells;
	bool out_of_memory;
	bool no_header;
	bool keep_all; /* print every column, however narrow the terminal */
};
#define CTL_TABLE(headings_)                                                            \
	{                                                                               \
		.headings = headings_, .n_columns = ARRAY_SIZE(headings_), .n_cells = 0 \
	}
/* Width of the terminal; SIZE_MAX: unlimited. */
size_t ctl_line_width(void);
/* Adds the next cell; an empty one is printed as "-". */
void ctl_table_add(struct ctl_table *t, const char *fmt, ...) PLENUM_PRINTF(2, 3);
/* The members of a list of texts, joined by ", ". */
void ctl_table_add_list(struct ctl_table *t, const json_t *list);
int ctl_table_print(const struct ctl_table *t);
void ctl_table_done(struct ctl_table *t);
/* Prints the columns and rows that the options select; `columns`: the default columns, in the form
 * of -o. */
int ctl_view_print(const struct ctl_args *a, const struct ctl_table *t, const char *columns);

/* Prints lines of a with '-', lines of b with '+', nearby common lines with ' '. Returns whether
 * they differ, or -ENOMEM. */
int ctl_diff(const char *a, const char *b, FILE *out);
/* The same as text; *ret is heap, the caller's. */
int ctl_diff_text(const char *a, const char *b, char **ret);

/* ---- legs ---- */

/* Whether the name can be part of a path. CTL_OK, or the error was printed. Of ctl_net.c. */
int ctl_check_leg_name(const char *name);
/* Prints the keys of one leg. Of ctl_leg.c, as the next one. */
int ctl_show_leg(const struct ctl_args *a, const char *name);
/* The version in a reply as --expect takes it: heap; NULL: out of memory. */
char *ctl_version_of(const struct ctl_reply *reply);
/* Prints a version, and the command that applies only that one. */
void ctl_put_version(const char *version);
/* Prints the users whose changes are staged, of the member staged_by. */
void ctl_put_authors(const json_t *answer);
/* Prints which values of the agent's leg are in a file and do not count, on standard error. */
void ctl_put_overridden(const json_t *leg);

/* ---- devices (ctl_devices.c) ---- */

struct inventory;
/* The agent's legs: a new reference; NULL: no agent runs. Prints nothing. */
json_t *ctl_legs_if_any(const struct ctl_args *a);
/* The table of devices for legs, as the options select; `legs` (may be NULL) provides the
 * switches. title: printed above if there are devices; NULL: the table stands alone. */
int ctl_put_devices(const struct ctl_args *a, const struct inventory *inv, const json_t *legs,
		    const char *title);

/* ---- configurations (ctl_local.c) ---- */

struct spec;
struct inventory;
struct diag;
struct plan;
/* Loads as the agent does: the file and the *.yaml of plenum.d beside it. 0; negative errno with
 * the errors in d. */
int ctl_load_file(const char *file, struct diag *d, struct spec **ret);
/* The plan of this host, using the agent's records. 0; negative errno with the errors in d. */
int ctl_plan_here(const struct spec *s, const struct inventory *inv, const struct plan *running,
		  struct diag *d, struct plan **ret);
/* The inventory of this host; prints warnings. CTL_OK, or the errors were printed. */
int ctl_collect(struct inventory **ret);
/* With the drop-ins beside it; CTL_OK, or the errors were printed. */
int ctl_load(const char *file, struct spec **ret);
/* RESOURCE_CONFIG_RUNNING or RESOURCE_CONFIG_STAGED. */
int ctl_ask_config(const struct ctl_args *a, enum resource_id which, struct ctl_reply *ret);
/* Prints a configuration as YAML, or as JSON with -j. yaml NULL: out of memory. */
int ctl_put_config(const struct ctl_args *a, const char *yaml);

/* ---- the commands, called by the table in ctl.c; ping and doctor are in doctor/ ---- */

int ctl_cmd_processes(const struct ctl_args *a);
int ctl_cmd_status(const struct ctl_args *a);
int ctl_cmd_events(const struct ctl_args *a);
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
int ctl_cmd_validate(const struct ctl_args *a);
int ctl_cmd_config_show(const struct ctl_args *a);
int ctl_cmd_config_generate(const struct ctl_args *a);
int ctl_cmd_setup(const struct ctl_args *a);
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
int ctl_cmd_doctor(const struct ctl_args *a);
int ctl_cmd_version(const struct ctl_args *a);

#endif
