/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands `plenum mount` and `plenum umount`. The agent makes and ends mounts. If a mount command
 * is interrupted before the server serves the mount, the agent ends that mount. */
#include "agent/ctl/ctl.h"
#include "agent/ctl/mount/ctl_mount_options.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* The agent needs less time to answer, even if a mount fails and the agent has to unmount it. */
#define MOUNT_TIMEOUT_S 60

/* Resolves the path as mount(8) and umount(8) do. realpath(3) sends no request to a file system
 * that is mounted at the path itself, so it does not wait for that server. A path that cannot be
 * resolved stays unchanged, and the agent explains what is wrong with it. */
static int parse_dir(const char *text, char *buf, size_t size)
{
	char cwd[PATH_MAX], resolved[PATH_MAX];
	struct reason why;

	if (*text && realpath(text, resolved))
		text = resolved;
	if (*text != '/' && !getcwd(cwd, sizeof(cwd))) {
		ctl_complain("cannot find the current folder: %s", strerror(errno));
		return CTL_OS;
	}
	if (ctl_mount_dir_parse(text, *text == '/' ? "/" : cwd, buf, size, &why) < 0) {
		ctl_complain("%s", why.text);
		return CTL_USAGE;
	}
	return CTL_OK;
}

/* Makes the JSON body of the request in *ret, a new reference. Returns CTL_OK, or another exit
 * status after printing the error. */
static int make_body(const struct ctl_mount *m, json_t **ret)
{
	char host[PLENUM_NAME_MAX], export_name[PLENUM_NAME_MAX], dir[PRIVSEP_PATH_MAX];
	struct ctl_mount_options o;
	struct reason why;
	json_t *body;
	int r = ctl_mount_source_parse(m->source, host, export_name, sizeof(host), &why);

	if (r >= 0)
		r = ctl_mount_options_parse(m->options, &o, &why);
	if (r < 0) {
		ctl_complain("%s", why.text);
		return CTL_USAGE;
	}
	r = parse_dir(m->dir, dir, sizeof(dir));
	if (r != CTL_OK)
		return r;
	body = json_pack("{s:s, s:s, s:s, s:b, s:b, s:b, s:b, s:b, s:s}", "path", dir, "peer", host,
			 "export", export_name, "read_only", o.read_only, "nosuid", o.nosuid,
			 "nodev", o.nodev, "noexec", o.noexec, "noatime", o.noatime, "locks",
			 o.locks);
	if (!body) {
		ctl_complain("argument is not valid UTF-8");
		return CTL_USAGE;
	}
	if (o.soft_s)
		json_object_set_new(body, "soft_s", json_integer((json_int_t)o.soft_s));
	if (o.remount)
		json_object_set_new(body, "remount", json_true());
	if (o.max_kbs)
		json_object_set_new(body, "max_kbytes_per_s", json_integer(o.max_kbs));
	if (o.max_operations)
		json_object_set_new(body, "max_operations_per_s", json_integer(o.max_operations));
	if (m->worker)
		json_object_set_new(body, "worker", json_integer((json_int_t)m->worker));
	*ret = body;
	return CTL_OK;
}

static int ask(const struct ctl_args *a, enum resource_id resource, json_t *body, json_t **ret)
{
	autofree char *text = json_dumps(body, JSON_COMPACT);
	const struct ctl_request rq = {
		.resource = resource, .body = text, .timeout_s = MOUNT_TIMEOUT_S};

	json_decref(body);
	return text ? ctl_ask_json(a, &rq, ret) : ctl_put_text(NULL);
}

int ctl_mount(const struct ctl_args *a, const struct ctl_mount *m, json_t **ret)
{
	json_t *body = NULL;
	int r = make_body(m, &body);

	if (r == CTL_OK && m->only_check) {
		json_decref(body);
		*ret = NULL;
		return CTL_OK;
	}
	return r == CTL_OK ? ask(a, RESOURCE_MOUNT, body, ret) : r;
}

static bool remounts(const struct ctl_mount *m)
{
	struct ctl_mount_options o;
	struct reason why;

	return ctl_mount_options_parse(m->options, &o, &why) >= 0 && o.remount;
}

int ctl_cmd_mount(const struct ctl_args *a)
{
	struct ctl_mount m = {
		.source = a->operands[0], .dir = a->operands[1], .options = a->view.columns};
	json_t *o;
	int r = ctl_take_number("--worker", a->worker, 1, UINT32_MAX, &m.worker);

	if (r == CTL_OK)
		r = ctl_mount(a, &m, &o);
	if (r != CTL_OK)
		return r;
	if (a->json) {
		r = ctl_put_json(o);
	} else {
		fputs(remounts(&m) ? "Remounted " : "Mounted ", stdout);
		ctl_put(ctl_text(o, "path"), stdout);
		printf(", worker %" JSON_INTEGER_FORMAT ".\n", ctl_int(o, "worker"));
	}
	json_decref(o);
	return r;
}

int ctl_cmd_umount(const struct ctl_args *a)
{
	char dir[PRIVSEP_PATH_MAX];
	json_t *o, *body;
	int r = parse_dir(a->operands[0], dir, sizeof(dir));

	if (r != CTL_OK)
		return r;
	body = json_pack("{s:s, s:b}", "path", dir, "force", a->detach);
	if (!body) {
		ctl_complain("argument is not valid UTF-8");
		return CTL_USAGE;
	}
	r = ask(a, RESOURCE_UNMOUNT, body, &o);
	if (r != CTL_OK)
		return r;
	if (a->json) {
		r = ctl_put_json(o);
	} else {
		fputs("Unmounted ", stdout);
		ctl_put(ctl_text(o, "unmounted"), stdout);
		puts(".");
	}
	json_decref(o);
	return r;
}
