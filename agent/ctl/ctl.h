/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plenum(1), the command line. Owns the arguments and what is printed; asks the agent over its unix
 * socket, or reads files and the host itself where a command needs no agent. Never changes the
 * host: that is the agent's. Each command prints its result on standard output, what went wrong on
 * standard error, and returns the exit status of the process. Called by ctl_main.c and the tests.
 */
#ifndef PLENUM_AGENT_CTL_H
#define PLENUM_AGENT_CTL_H

#include "netcfg/base/base.h"
#include <jansson.h>
#include <stdio.h>

/* Exit statuses; the numbers from 64 on are those of sysexits.h. */
enum ctl_exit {
	CTL_OK = 0,
	CTL_DIFFERS = 1,      /* diff found differences */
	CTL_DEGRADED = 2,     /* status: not all is well */
	CTL_DOCTOR_WARN = 1,  /* doctor: warnings are the worst of what it found */
	CTL_DOCTOR_FAIL = 2,  /* a check failed */
	CTL_ROLLED_BACK = 3,  /* the change was made, and rolled back: the host is as before */
	CTL_USAGE = 64,	      /* wrong arguments */
	CTL_DATA = 65,	      /* a configuration has errors, or the agent refused a request */
	CTL_NO_INPUT = 66,    /* a file or object is not there or cannot be read */
	CTL_UNAVAILABLE = 69, /* the agent does not answer */
	CTL_SOFTWARE = 70,    /* the agent failed, or answered what nobody understands */
	CTL_OS = 71,	      /* out of memory; the host cannot be read */
	CTL_IO = 74,	      /* the result cannot be written */
	CTL_BUSY = 75,	      /* another change is under way, or waits for its confirmation */
	CTL_NO_PERMISSION = 77
};

#define CTL_SOCKET PLENUM_RUNDIR "/plenumd.sock"
#define CTL_SECRET_FILE PLENUM_SYSCONFDIR "/cluster.key"

#define CTL_CONFIRM_S_MAX 86400 /* PRIVSEP_CONFIRM_S_MAX */

#define CTL_LIST_MAX 8 /* PRIVSEP_FORCES_MAX */

struct ctl_list { /* of an option that can be given several times */
	const char *items[CTL_LIST_MAX];
	int n;
};

struct ctl_view {		    /* of a table */
	const char *columns, *sort; /* NULL: as the command has them */
	struct ctl_list filters;
	bool no_header, csv;
};

struct ctl_args {
	const char *socket;
	bool json;
	bool follow, running, staged;
	bool once, batch;  /* top */
	const char *since; /* events */
	/* net add, net set */
	const char *name, *device, *network, *label, *ips, *netmask, *gateway, *vlan, *vfs, *unset;
	const char *vf_spoof_check, *vf_trust, *vf_rate;
	const char *dcb, *ipoib_mode, *kernel_port, *roce_mode, *roce_tos;
	bool auto_label, inet6, shared_ip, soft_roce, rdma_off, rdma_on, rdma_only;
	struct ctl_list forces; /* apply, rollback */
	bool dry_run;
	const char *confirm;	  /* apply, rollback: a time */
	const char *snapshot;	  /* inventory */
	const char *inventory;	  /* plan */
	const char *peer;	  /* doctor */
	const char *leg;	  /* ping, capture, top, fault add */
	const char *size, *count; /* ping */
	const char *drop, *duplicate, *reorder, *delay, *direction, *ttl; /* fault add */
	bool blackhole;
	const char *worker, *write, *seconds, *packets, *snap, *buffer, *keys; /* capture */
	struct ctl_view view;
	char **operands; /* after the command's words */
	int n_operands;
};

/* All of plenum: parses, runs one command, returns its exit status. */
int ctl_run(int argc, char **argv);

/* ---- the agent, by HTTP over its socket (ctl_http.c) ---- */

struct ctl_reply {
	long status; /* of HTTP */
	char *body;  /* ends in NUL; heap */
	size_t len;
	char etag[32]; /* the version of what it shows; "": it has none */
};

#define CTL_TIMEOUT_S 30
/* An apply waits for links and addresses, and for as long as the policy lets it. */
#define CTL_APPLY_TIMEOUT_S 600

struct ctl_request {
	const char *method, *path;
	const char *content_type, *body; /* NULL: none */
	size_t body_len;		 /* 0: up to the NUL */
	const char *if_match;		 /* the version that a change is for; NULL: whichever */
	unsigned timeout_s;		 /* 0: CTL_TIMEOUT_S */
};

/* `socket` is the one for looking; a change (any method but GET) goes to the admin socket beside
 * it. 0 with the reply, whatever its status; negative errno where there was none: -ENOENT and
 * -ECONNREFUSED mean that no agent runs. Prints nothing. */
int ctl_http(const char *socket, const struct ctl_request *rq, struct ctl_reply *ret);
/* The same over this socket alone, whatever the method (ctl_exchange.c). */
int ctl_exchange(const char *socket_path, const struct ctl_request *rq, struct ctl_reply *ret);
void ctl_reply_done(struct ctl_reply *r);
/* CTL_OK where the reply is a 2xx; else what it says is printed, and its exit status returned. */
int ctl_judge(const struct ctl_args *a, const struct ctl_reply *r);
/* Both for commands: CTL_OK with a 2xx reply, else the error was printed. */
int ctl_ask(const struct ctl_args *a, const struct ctl_request *rq, struct ctl_reply *ret);
/* The reply as JSON; the caller drops the reference. */
int ctl_ask_json(const struct ctl_args *a, const struct ctl_request *rq, json_t **ret);
/* Sends a change; prints `done`, or the answer with -j. Of ctl_net.c. */
int ctl_change(const struct ctl_args *a, struct ctl_request *rq, const json_t *body,
	       const char *done);
/* Says on standard error that the agent cannot be reached; the exit status. */
int ctl_unreachable(const struct ctl_args *a, int error);

/* ---- printing (ctl_print.c) ---- */

/* "plenum: TEXT" on standard error. */
void ctl_complain(const char *fmt, ...) PLENUM_PRINTF(1, 2);
/* Text of others: control characters become '?'. */
void ctl_put(const char *text, FILE *out);
/* Indented JSON and a newline. */
int ctl_put_json(const json_t *o);
/* A text that belongs to the caller and may be NULL (out of memory). */
int ctl_put_text(const char *text);

/* The agent's plan, with warnings on standard error. */
int ctl_put_plan(const json_t *o);
/* A line for every leg that has a reason. Whether none of them is absent or refused. */
bool ctl_put_legs(const json_t *legs);
/* What the agent's answer warns of, on standard error. */
void ctl_put_warnings(const json_t *answer);
/* The text of a member, "" where it has none. */
const char *ctl_text(const json_t *o, const char *key);
json_int_t ctl_int(const json_t *o, const char *key);
/* "1.5 MiB" and "3m 20s" into buf; return buf. */
const char *ctl_format_bytes(json_int_t bytes, char *buf, size_t size);
const char *ctl_format_seconds(json_int_t seconds, char *buf, size_t size);

/* Rows of text under headings, printed in columns as wide as their widest cell. On a terminal (or
 * where COLUMNS says how wide) no line is longer: text in the last column is broken at blanks or
 * put below its row, and the columns that matter least are left out, which a line at the end says.
 */
struct ctl_table {
	const char *const *headings;
	size_t n_columns, n_cells, cap;
	char **cells;
	bool out_of_memory;
	bool no_header;
	bool keep_all; /* columns are not left out for want of width */
};
#define CTL_TABLE(headings_)                                                            \
	{                                                                               \
		.headings = headings_, .n_columns = ARRAY_SIZE(headings_), .n_cells = 0 \
	}
/* How wide lines may be; SIZE_MAX: as wide as they like. */
size_t ctl_line_width(void);
/* The next cell; an empty one is printed as "-". */
void ctl_table_add(struct ctl_table *t, const char *fmt, ...) PLENUM_PRINTF(2, 3);
/* Members of a list of texts, joined by ", ". */
void ctl_table_add_list(struct ctl_table *t, const json_t *list);
int ctl_table_print(const struct ctl_table *t);
void ctl_table_done(struct ctl_table *t);
/* What of it the options ask for; `columns` where they name none, as -o takes them. */
int ctl_view_print(const struct ctl_args *a, const struct ctl_table *t, const char *columns);

/* Lines of a as '-', of b as '+', common ones near them as ' '; whether they differ, or -ENOMEM. */
int ctl_diff(const char *a, const char *b, FILE *out);

/* ---- devices (ctl_devices.c) ---- */

struct inventory;
/* What the agent says of its legs, where one runs: a new reference; NULL: none does. Prints
 * nothing. */
json_t *ctl_legs_if_any(const struct ctl_args *a);
/* The table of devices for legs, as the options ask for it; `legs` (may be NULL) has the switches.
 * title: NULL where it stands alone; else a host without such devices has none. */
int ctl_put_devices(const struct ctl_args *a, const struct inventory *inv, const json_t *legs,
		    const char *title);

/* ---- configurations (ctl_local.c) ---- */

struct spec;
struct inventory;
struct diag;
struct plan;
/* As the agent does it: the file, and the *.yaml of plenum.d beside it. 0; negative errno with the
 * errors in d. */
int ctl_load_file(const char *file, struct diag *d, struct spec **ret);
/* The plan of this host by the agent's records. 0; negative errno with the errors in d. */
int ctl_plan_here(const struct spec *s, const struct inventory *inv, struct diag *d,
		  struct plan **ret);
/* This host's; CTL_OK, or the errors were printed. Warnings are, too. */
int ctl_collect(struct inventory **ret);
/* With the drop-ins beside it; CTL_OK, or the errors were printed. */
int ctl_load(const char *file, struct spec **ret);
/* `which`: running or staged. */
int ctl_ask_config(const struct ctl_args *a, const char *which, struct ctl_reply *ret);

/* ---- the commands ---- */

int ctl_cmd_processes(const struct ctl_args *a);
int ctl_cmd_status(const struct ctl_args *a);
int ctl_cmd_events(const struct ctl_args *a);
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
int ctl_cmd_fault_add(const struct ctl_args *a);
int ctl_cmd_fault_show(const struct ctl_args *a);
int ctl_cmd_fault_remove(const struct ctl_args *a);
int ctl_cmd_stop(const struct ctl_args *a);
int ctl_cmd_validate(const struct ctl_args *a);
int ctl_cmd_config_show(const struct ctl_args *a);
int ctl_cmd_config_generate(const struct ctl_args *a);
int ctl_cmd_diff(const struct ctl_args *a);
int ctl_cmd_config_stage(const struct ctl_args *a);
int ctl_cmd_config_schema(const struct ctl_args *a);
int ctl_cmd_secret_generate(const struct ctl_args *a);
int ctl_cmd_secret_add(const struct ctl_args *a);
int ctl_cmd_secret_switch(const struct ctl_args *a);
int ctl_cmd_secret_drop(const struct ctl_args *a);
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
