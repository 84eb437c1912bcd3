/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands that work on files and on this host; most of them need no agent. */
#include "agent/ctl/config/ctl_config.h"

#include "netcfg/base/file.h"
#include "netcfg/base/files/state_file.h"
#include "netcfg/host/inventory.h"
#include "netcfg/plan/plan_owned.h"
#include "netcfg/plan/plan_pools.h"
#include "netcfg/plan/show/generate.h"
#include "netcfg/plan/show/snapshot.h"
#include "netcfg/plan/transport_choice.h"
#include "netcfg/plan/worker/plan_worker_ids.h"
#include "netcfg/spec/spec.h"
#include <string.h>
#include <sys/random.h>

#define CONFIG_FILE PLENUM_SYSCONFDIR "/plenum.yaml"
#define SNAPSHOT_BYTES_MAX (64U << 20)

static const char *file_of(const struct ctl_args *a)
{
	return a->n_operands > 0 ? a->operands[0] : CONFIG_FILE;
}

/* Reads standard input, up to one byte more than a configuration may have. */
static int read_stdin(char **ret_text, size_t *ret_len)
{
	autofree char *text = malloc(SPEC_FILE_BYTES_MAX + 2);

	if (!text)
		return -ENOMEM;
	*ret_len = fread(text, 1, SPEC_FILE_BYTES_MAX + 1, stdin);
	if (ferror(stdin))
		return -EIO;
	text[*ret_len] = '\0';
	*ret_text = ptr_take(text);
	return 0;
}

int ctl_load_file(const char *file, struct diag *d, struct spec **ret)
{
	const char *slash = strrchr(file, '/');
	autofree char *dir = NULL, *text = NULL;
	size_t len;
	int r;

	if (strcmp(file, "-") == 0) {
		r = read_stdin(&text, &len);
		return r < 0 ? r : spec_parse("standard input", text, len, d, ret);
	}
	if (asprintf(&dir, "%.*splenum.d", slash ? (int)(slash + 1 - file) : 0, file) < 0) {
		dir = NULL;
		return -ENOMEM;
	}
	return spec_load(file, dir, d, ret);
}

/* Prints errors and warnings. Returns the exit status. */
static int exit_of_load(int r, const struct diag *d)
{
	diag_print(d, stderr);
	if (r == 0)
		return CTL_OK;
	if (d->n_errors == 0)
		ctl_complain("%s", strerror(-r));
	if (r == -EINVAL)
		return CTL_DATA;
	return r == -ENOMEM ? CTL_OS : r == -EACCES ? CTL_NO_PERMISSION : CTL_NO_INPUT;
}

/* Loads a configuration or prints the error. */
int ctl_load(const char *file, struct spec **ret)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	int r = ctl_load_file(file, &d, ret);

	if (r == 0)
		spec_note_overrides(*ret, NULL, &d);
	return exit_of_load(r, &d);
}

static int validate_json(const struct diag *d, int r)
{
	autofree char *text = diag_format(d);
	json_t *lines = json_array(), *o;
	char *rest = text;
	int e;

	for (char *line; rest && (line = strsep(&rest, "\n"));)
		if (*line)
			json_array_append_new(lines, json_string(line));
	o = json_pack("{s:b, s:o}", "valid", r == 0, "messages", lines);
	e = ctl_put_json(o);
	json_decref(o);
	return e;
}

int ctl_cmd_validate(const struct ctl_args *a)
{
	struct diag d = DIAG_INIT;
	struct spec *s = NULL;
	int r = ctl_load_file(file_of(a), &d, &s), e = CTL_OK;

	if (r == 0)
		r = plan_check(s, &d);
	if (r == 0)
		spec_note_overrides(s, NULL, &d);
	if (a->json)
		e = validate_json(&d, r);
	if (e == CTL_OK && a->json && r < 0)
		e = r == -EINVAL ? CTL_DATA : CTL_NO_INPUT;
	else if (!a->json)
		e = exit_of_load(r, &d);
	if (r == 0 && !a->json)
		printf("%s is valid.\n", s->files[0]);
	spec_free(s);
	diag_done(&d);
	return e;
}

int ctl_put_config(const struct ctl_args *a, const char *yaml)
{
	json_t *o;
	int r;

	if (!yaml || !a->json)
		return ctl_put_text(yaml);
	o = json_pack("{s:s}", "yaml", yaml);
	if (!o) {
		ctl_complain("the configuration is not UTF-8 text");
		return CTL_DATA;
	}
	r = ctl_put_json(o);
	json_decref(o);
	return r;
}

int ctl_ask_config(const struct ctl_args *a, enum resource_id which, struct ctl_reply *ret)
{
	const struct ctl_request rq = {.resource = which};

	return ctl_ask(a, &rq, ret);
}

/* Refuses --host for what the command does with files of this host. */
static int complain_local(const char *text)
{
	ctl_complain("%s", text);
	return CTL_USAGE;
}

int ctl_cmd_config_show(const struct ctl_args *a)
{
	autofree char *yaml = NULL;
	struct spec *s;
	int r;

	if (a->running + a->staged + a->n_operands > 1) {
		ctl_complain("config show takes one of FILE, --running and --staged");
		return CTL_USAGE;
	}
	if (a->running || a->staged) {
		PLENUM_CLEANUP(ctl_reply_done) struct ctl_reply reply = {0};

		r = ctl_ask_config(a, a->running ? RESOURCE_CONFIG_RUNNING : RESOURCE_CONFIG_STAGED,
				   &reply);
		return r == CTL_OK ? ctl_put_config(a, reply.body) : r;
	}
	if (a->remote)
		return complain_local("config show needs --running or --staged with --host");
	r = ctl_load(file_of(a), &s);
	if (r != CTL_OK)
		return r;
	yaml = spec_to_yaml(s);
	spec_free(s);
	return ctl_put_config(a, yaml);
}

/* Reads a file unchanged, with its comments. If it is too long, reads one byte more than
 * allowed. */
int ctl_read_text(const char *file, char **ret_text, size_t *ret_len)
{
	int r;

	if (strcmp(file, "-") != 0 && !freopen(file, "re", stdin)) {
		r = -errno;
		ctl_complain("cannot read %s: %s", file, strerror(-r));
		return CTL_NO_INPUT;
	}
	r = read_stdin(ret_text, ret_len);
	if (r < 0) {
		ctl_complain("cannot read %s: %s", file, strerror(-r));
		return CTL_NO_INPUT;
	}
	if (*ret_len > SPEC_FILE_BYTES_MAX) {
		ctl_complain("%s is larger than the limit of %u bytes", file, SPEC_FILE_BYTES_MAX);
		return CTL_DATA;
	}
	return CTL_OK;
}

/* Merges FILE with the drop-ins in the same folder. If there are no drop-ins, *ret_text is NULL:
 * FILE can be sent unchanged. */
static int join_dropins(const char *file, char **ret_text)
{
	struct spec *s = NULL;
	int r;

	*ret_text = NULL;
	if (strcmp(file, "-") == 0)
		return CTL_OK;
	r = ctl_load(file, &s);
	if (r != CTL_OK)
		return r;
	if (s->n_files > 1) {
		*ret_text = spec_to_yaml(s);
		r = *ret_text ? CTL_OK : CTL_OS;
	}
	spec_free(s);
	return r;
}

/* The check here only finds errors early. The agent checks the configuration again and decides. */
int ctl_cmd_config_stage(const struct ctl_args *a)
{
	struct ctl_request rq = {.resource = RESOURCE_CONFIG_STAGE,
				 .content_type = "application/yaml"};
	autofree char *text = NULL;
	char tag[CTL_TAG_SIZE];
	int r = ctl_take_expect(a, tag);

	rq.if_match = tag;
	if (r == CTL_OK)
		r = join_dropins(a->operands[0], &text);
	if (r == CTL_OK && !text)
		r = ctl_read_text(a->operands[0], &text, &rq.body_len);
	rq.body = text;
	return r == CTL_OK
		       ? ctl_change(a, &rq, NULL,
				    "Staged, in place of the configuration file and all of "
				    "plenum.d; 'plenum diff' shows\nthe difference, 'plenum plan' "
				    "shows the steps, 'plenum apply' applies the configuration.")
		       : r;
}

int ctl_cmd_config_schema(const struct ctl_args *a)
{
	autofree char *text = spec_json_schema();

	return ctl_put_text(text);
}

/* Collects the inventory, and prints its warnings on standard error. */
int ctl_collect(struct inventory **ret)
{
	struct diag d = DIAG_INIT;
	struct kernel *k = NULL;
	int r = kernel_linux_new(&k);

	if (r < 0)
		ctl_complain("cannot read the host's inventory: %s", strerror(-r));
	else
		r = inv_collect(k, &d, ret);
	diag_print(&d, stderr);
	diag_done(&d);
	kernel_free(k);
	return r < 0 ? CTL_OS : CTL_OK;
}

/* Loads the configuration that decides which addresses the snapshot keeps. Without a configuration
 * the snapshot has no addresses. */
static int load_for_snapshot(const struct ctl_args *a, struct spec **ret)
{
	*ret = NULL;
	if (a->n_operands > 0)
		return ctl_load(a->operands[0], ret);
	if (access(CONFIG_FILE, R_OK) == 0)
		return ctl_load(CONFIG_FILE, ret);
	ctl_complain("no configuration names the data networks: all addresses are replaced");
	return CTL_OK;
}

static int write_snapshot(const struct ctl_args *a, const struct inventory *inv)
{
	autofree char *text = NULL;
	struct inventory *redacted = NULL;
	struct spec *s;
	uint64_t key[2];
	int r = load_for_snapshot(a, &s), e;

	if (r != CTL_OK)
		return r;
	if (getrandom(key, sizeof(key), 0) != sizeof(key))
		e = -EIO;
	else
		e = snapshot_make(inv, s, key, &redacted);
	text = e < 0 ? NULL : inv_to_json(redacted);
	inv_free(redacted);
	spec_free(s);
	if (!text)
		return ctl_put_text(NULL);
	e = file_write(a->snapshot, text, strlen(text), 0600);
	if (e >= 0)
		return CTL_OK;
	ctl_complain("cannot write %s: %s", a->snapshot, strerror(-e));
	return CTL_IO;
}

static int put_json(const struct inventory *inv)
{
	autofree char *text = inv_to_json(inv);

	return ctl_put_text(text);
}

/* Returns whether options are given that select columns, rows or values. With them, only the table
 * of devices is printed. */
static bool has_rows(const struct ctl_view *v)
{
	return v->csv || v->columns || v->filters.n;
}

/* Gets the inventory from the agent of another host. */
static int ask_inventory(const struct ctl_args *a, struct inventory **ret)
{
	const struct ctl_request rq = {.resource = RESOURCE_INVENTORY};
	PLENUM_CLEANUP(ctl_reply_done) struct ctl_reply reply = {0};
	struct diag d = DIAG_INIT;
	int r = ctl_ask(a, &rq, &reply), e;

	if (r != CTL_OK)
		return r;
	e = inv_from_json(reply.body, reply.len, &d, ret);
	diag_print(&d, stderr);
	diag_done(&d);
	if (e >= 0)
		return CTL_OK;
	ctl_complain("the inventory of %s cannot be read; its agent may have another version than "
		     "this program, " PLENUM_VERSION,
		     ctl_place(a));
	return CTL_SOFTWARE;
}

static int put_tables(const struct ctl_args *a, const struct inventory *inv)
{
	const bool alone = has_rows(&a->view);
	autofree char *text = alone ? NULL : inv_to_text(inv);
	int r = alone ? CTL_OK : ctl_put_text(text);
	json_t *legs;

	if (r != CTL_OK)
		return r;
	legs = ctl_legs_if_any(a);
	r = ctl_put_devices(a, inv, legs, alone ? NULL : "DATA DEVICES");
	json_decref(legs);
	return r;
}

int ctl_cmd_inventory(const struct ctl_args *a)
{
	struct inventory *inv;
	int r;

	if (!a->snapshot && a->n_operands > 0) {
		ctl_complain("usage: plenum inventory [--snapshot FILE [CONFIG]]");
		return CTL_USAGE;
	}
	if (a->snapshot && (has_rows(&a->view) || a->view.sort || a->view.no_header)) {
		ctl_complain("--snapshot writes the whole inventory; remove the table options");
		return CTL_USAGE;
	}
	if (a->snapshot && a->remote)
		return complain_local("--snapshot writes the inventory of this host");
	r = a->remote ? ask_inventory(a, &inv) : ctl_collect(&inv);
	if (r != CTL_OK)
		return r;
	if (a->snapshot) {
		r = write_snapshot(a, inv);
		inv_free(inv);
		return r;
	}
	r = a->json ? put_json(inv) : put_tables(a, inv);
	inv_free(inv);
	return r;
}

int ctl_cmd_config_generate(const struct ctl_args *a)
{
	autofree char *yaml = NULL;
	struct inventory *inv;
	int r = ctl_collect(&inv);

	if (r != CTL_OK)
		return r;
	yaml = generate_yaml(inv);
	inv_free(inv);
	return ctl_put_config(a, yaml);
}

static int load_agreed(struct transport_choice *g, const char *path, struct diag *d)
{
	int r = access(path, R_OK) == 0 ? transport_choice_load(g, path) : 0;

	if (r == 0 || r == STATE_MISSING || r == -ENOMEM)
		return r == -ENOMEM ? r : 0;
	diag_add(d, DIAG_WARNING, NULL, NULL,
		 "cannot read the record %s (%s): workers with transport: auto are planned on "
		 "kernel sockets",
		 path, state_file_error(r));
	return 0;
}

/* Reads the agent's records of its objects and workers, if the user is allowed to. */
static int load_records(struct plan_owned *o, struct plan_worker_ids *p, struct plan_pools *pools,
			struct transport_choice *g, struct diag *d)
{
	static const char owned[] = PLENUM_STATEDIR "/owned", places[] = PLENUM_STATEDIR "/workers",
			  taken[] = PLENUM_STATEDIR "/" PLAN_POOLS_FILE,
			  agreed[] = PLENUM_STATEDIR "/agreed";
	int r = access(owned, R_OK) == 0 ? plan_owned_load(o, owned, d) : 0;

	if (r >= 0 && access(places, R_OK) == 0)
		r = plan_worker_ids_load(p, places, d);
	if (r >= 0 && access(taken, R_OK) == 0)
		r = plan_pools_load(pools, taken, d);
	return r >= 0 ? load_agreed(g, agreed, d) : r;
}

int ctl_plan_here(const struct spec *s, const struct inventory *inv, const struct plan *running,
		  struct diag *d, struct plan **ret)
{
	PLENUM_CLEANUP(plan_owned_done) struct plan_owned owned = {.path = NULL};
	PLENUM_CLEANUP(plan_worker_ids_done) struct plan_worker_ids places = {0};
	PLENUM_CLEANUP(plan_pools_done) struct plan_pools pools = {.n = 0};
	PLENUM_CLEANUP(transport_choice_done) struct transport_choice agreed = {0};
	const struct plan_context ctx = {.owned = &owned,
					 .worker_ids = &places,
					 .pools = &pools,
					 .accepted = &agreed,
					 .running = running};
	int r = load_records(&owned, &places, &pools, &agreed, d);

	return r >= 0 ? plan_build(s, inv, &ctx, d, ret) : r;
}

/* Makes the plan that an agent would make if it started now. If an agent runs, the plan lacks the
 * changes to its workers, which only that agent knows. */
static int build_here(const struct spec *s, const struct inventory *inv, bool agent_runs,
		      struct diag *d, struct plan **ret)
{
	int r = ctl_plan_here(s, inv, NULL, d, ret);

	return r >= 0 && !agent_runs ? plan_actions_start(*ret, "no agent runs") : r;
}

/* Warns that only the agent can test whether peers answer the workers that an apply would move to
 * VFs. */
static void warn_of_moves(const struct plan *p, struct diag *d)
{
	for (size_t i = 0; i < p->n_workers; i++) {
		const struct plan_worker *w = &p->workers[i];

		if (w->asked != SPEC_TRANSPORT_AUTO || strcmp(w->reason.code, "vf-unused") != 0)
			continue;
		diag_add(d, DIAG_WARNING, NULL, NULL,
			 "this is the plan of a start; 'plenum apply' would also move worker %u to "
			 "VFs, which 'plenum plan' shows while an agent runs",
			 w->id);
		return;
	}
}

static int put_built(const struct ctl_args *a, const struct plan *p)
{
	json_t *o = plan_to_object(p);
	int r = !o ? ctl_put_text(NULL) : a->json ? ctl_put_json(o) : ctl_put_plan(o);

	json_decref(o);
	return r;
}

/* Prints the error `e` of planning, or the plan. */
static int put_planned(const struct ctl_args *a, int e, const struct plan *p, struct diag *d)
{
	if (e >= 0)
		warn_of_moves(p, d);
	diag_print(d, stderr);
	return e == -EINVAL ? CTL_DATA : e < 0 ? CTL_OS : put_built(a, p);
}

/* Reads a snapshot, or an inventory that was printed as JSON. */
static int read_inventory(const char *file, struct inventory **ret)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	autofree char *text = NULL;
	size_t len;
	int r = file_read(file, SNAPSHOT_BYTES_MAX, &text, &len);

	if (r < 0) {
		ctl_complain("cannot read %s: %s", file, strerror(-r));
		return CTL_NO_INPUT;
	}
	if (inv_from_json(text, len, &d, ret) >= 0)
		return CTL_OK;
	ctl_complain("%s is not an inventory:", file);
	diag_print(&d, stderr);
	return CTL_DATA;
}

/* Makes a plan from files alone, without data of this host. */
static int plan_elsewhere(const struct ctl_args *a, const char *file)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct inventory *inv = NULL;
	struct plan *p = NULL;
	struct spec *s;
	int r = ctl_load(file, &s), e;

	if (r != CTL_OK)
		return r;
	r = read_inventory(a->inventory, &inv);
	if (r == CTL_OK) {
		spec_set_default_host(s, inv->host);
		e = plan_build(s, inv, NULL, &d, &p);
		if (e >= 0)
			e = plan_actions_start(p, "no agent runs");
		r = put_planned(a, e, p, &d);
	}
	plan_free(p);
	inv_free(inv);
	spec_free(s);
	return r;
}

static int plan_here(const struct ctl_args *a, const char *file, bool agent_runs)
{
	struct diag d = DIAG_INIT;
	struct inventory *inv = NULL;
	struct plan *p = NULL;
	struct spec *s;
	int r = ctl_load(file, &s), e;

	if (r != CTL_OK)
		return r;
	r = ctl_collect(&inv);
	if (r == CTL_OK) {
		e = build_here(s, inv, agent_runs, &d, &p);
		r = put_planned(a, e, p, &d);
	}
	plan_free(p);
	inv_free(inv);
	spec_free(s);
	diag_done(&d);
	return r;
}

int ctl_put_plan(const json_t *o)
{
	autofree char *text = plan_object_to_text(o, ctl_line_width());

	ctl_put_warnings(o);
	return ctl_put_text(text);
}

/* Prints the agent's plan, and its version if an apply would change something. */
static int put_agents_plan(const json_t *o)
{
	const int r = ctl_put_plan(o);

	if (r == CTL_OK && *ctl_text(o, "version") &&
	    json_array_size(json_object_get(o, "steps")) +
			    json_array_size(json_object_get(o, "actions")) >
		    0)
		ctl_put_version(ctl_text(o, "version"));
	return r;
}

int ctl_cmd_plan(const struct ctl_args *a)
{
	const struct ctl_request rq = {.resource = RESOURCE_PLAN, .list = "steps"};
	PLENUM_CLEANUP(ctl_reply_done) struct ctl_reply reply = {0};
	json_t *o;
	int r;

	if (a->remote && (a->inventory || a->n_operands > 0))
		return complain_local("plan FILE and --inventory make the plan on this host");
	if (a->inventory)
		return plan_elsewhere(a, file_of(a));
	if (a->n_operands > 0) {
		r = plan_here(a, a->operands[0], true);
		if (r == CTL_OK)
			fputs("This plan does not show changes to the workers, mounts and exports "
			      "of a running agent.\n",
			      stderr);
		return r;
	}
	r = ctl_http(a, &rq, &reply);
	if (!a->remote && (r == -ENOENT || r == -ECONNREFUSED)) {
		fprintf(stderr, "No agent runs; planned from %s:\n", CONFIG_FILE);
		return plan_here(a, CONFIG_FILE, false);
	}
	r = r < 0 ? ctl_unreachable(a, r) : ctl_judge(a, &reply);
	if (r != CTL_OK)
		return r;
	o = ctl_parse(&rq, &reply);
	if (!o)
		return CTL_SOFTWARE;
	r = a->json ? ctl_put_json(o) : put_agents_plan(o);
	json_decref(o);
	return r;
}
