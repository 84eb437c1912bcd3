/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 'plenum join': asks the cluster's etcd for the pools, makes the first configuration of this host,
 * and shows it with its plan. When the operator agrees, writes the configuration and the files that
 * it names, and makes the agent apply it. An error before that changes nothing.
 */
#include "agent/ctl/join/ctl_join.h"
#include "netcfg/base/file.h"
#include "netcfg/base/files/identity.h"
#include "netcfg/base/files/secret.h"
#include "netcfg/plan/plan.h"
#include "netcfg/spec/spec.h"
#include <string.h>
#include <sys/stat.h>

#define CONFIG_FILE PLENUM_SYSCONFDIR "/plenum.yaml"
#define FILES_MAX 3

/* A file that the configuration names. */
struct file {
	const char *path, *text;
	mode_t mode;
	bool is_new;
};

static int refuse_existing(void)
{
	if (access(CONFIG_FILE, F_OK) < 0)
		return CTL_OK;
	ctl_complain(CONFIG_FILE " exists already, so this host has a configuration; change it "
				 "with 'plenum net' and 'plenum apply', or move it away to join "
				 "as a new host");
	return CTL_DATA;
}

/* ---- files ---- */

/* Lists the files to write. If the invitation lacks the key of the cluster, a file of this host
 * must have it. */
static int list_files(const struct invitation *i, struct file files[FILES_MAX], size_t *ret_n)
{
	const bool has_key = !i->security || strcmp(i->security, "none") != 0;
	size_t n = 0;

	if (i->ca)
		files[n++] = (struct file){JOIN_CA_FILE, i->ca, 0644, false};
	if (i->password)
		files[n++] = (struct file){JOIN_PASSWORD_FILE, i->password, 0600, false};
	if (has_key && i->secret)
		files[n++] = (struct file){CTL_SECRET_FILE, i->secret, 0600, false};
	*ret_n = n;
	if (!has_key || i->secret || access(CTL_SECRET_FILE, F_OK) == 0)
		return CTL_OK;
	ctl_complain("the invitation has no key of the cluster, and this host has no "
		     "" CTL_SECRET_FILE "; copy this file from a host of the cluster, or use an "
		     "invitation of 'plenum cluster invite'");
	return CTL_NO_INPUT;
}

/* Fails if the file exists and its content differs from the invitation. */
static int check_file(struct file *f)
{
	autofree char *text = NULL;
	size_t len = 0;
	int r = file_read(f->path, JOIN_FILE_BYTES_MAX, &text, &len);
	bool same;

	f->is_new = r == -ENOENT;
	if (f->is_new)
		return CTL_OK;
	if (r < 0) {
		ctl_complain("cannot read %s: %s", f->path, strerror(-r));
		return r == -EACCES ? CTL_NO_PERMISSION : CTL_IO;
	}
	while (len && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		text[--len] = '\0';
	same = strlen(f->text) >= len && memcmp(text, f->text, len) == 0 &&
	       strspn(f->text + len, "\r\n") == strlen(f->text + len);
	explicit_bzero(text, len);
	if (same)
		return CTL_OK;
	ctl_complain("the content of %s differs from the invitation; if the file belongs to "
		     "another cluster, move it away",
		     f->path);
	return CTL_DATA;
}

static void remove_files(const struct file *files, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (files[i].is_new)
			unlink(files[i].path);
}

/* Writes the new files. After an error, removes all files that it has written. */
static int write_files(const struct file *files, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int r = files[i].is_new ? file_write(files[i].path, files[i].text,
						     strlen(files[i].text), files[i].mode)
					: 0;

		if (r >= 0)
			continue;
		ctl_complain("cannot write %s: %s", files[i].path, strerror(-r));
		remove_files(files, i);
		return r == -EACCES ? CTL_NO_PERMISSION : CTL_IO;
	}
	return CTL_OK;
}

/* ---- the plan ---- */

/* Refuses a configuration with a leg that has no device now. A leg may lack its addresses, which
 * the agent takes from the pool. */
static int check_legs(const struct plan *p)
{
	int r = CTL_OK;

	for (size_t i = 0; i < p->n_legs; i++) {
		const struct plan_leg_info *leg = &p->legs[i];

		if (plan_leg_is_configured(leg) || strcmp(leg->reason.code, "pool-pending") == 0)
			continue;
		ctl_complain("%s (pool %s): %s; choose the device with --nic %s=DEVICE or --nic "
			     "%s={MATCH}",
			     leg->name, leg->network, leg->reason.text, leg->network, leg->network);
		r = CTL_DATA;
	}
	return r;
}

/* ---- the command ---- */

/* Makes, shows and checks the configuration. *ret_yaml is on the heap. */
static int prepare(const struct ctl_args *a, const struct invitation *i, char **ret_yaml)
{
	struct cluster_pool *pools = NULL;
	struct inventory *inv = NULL;
	size_t n = 0;
	int r = join_pools_read(i, &pools, &n);

	if (r == CTL_OK)
		r = ctl_collect(&inv);
	if (r == CTL_OK && i->permission && (!i->host || strcmp(i->host, inv->host) != 0)) {
		ctl_complain(
			"the invitation is for the host '%.63s', and this host is '%.63s'; use "
			"an invitation of 'plenum cluster invite FILE %.63s'",
			i->host ? i->host : "", inv->host, inv->host);
		r = CTL_DATA;
	}
	if (r == CTL_OK)
		r = join_config_make(a, i, pools, n, inv, ret_yaml);
	if (r == CTL_OK)
		r = ctl_setup_show("join", *ret_yaml, inv, check_legs);
	inv_free(inv);
	free(pools);
	return r;
}

int ctl_cmd_join(const struct ctl_args *a)
{
	struct file files[FILES_MAX];
	struct invitation i;
	autofree char *yaml = NULL;
	bool agent_runs = false;
	size_t n = 0;
	int r = refuse_existing();

	if (r != CTL_OK)
		return r;
	r = invitation_read(a->token_file, a->n_operands ? a->operands[0] : NULL, a->cluster, &i);
	if (r == CTL_OK)
		r = list_files(&i, files, &n);
	for (size_t k = 0; k < n && r == CTL_OK; k++)
		r = check_file(&files[k]);
	if (r == CTL_OK)
		r = prepare(a, &i, &yaml);
	if (r == CTL_OK && !a->dry_run)
		r = ctl_setup_look_at_agent(a, &agent_runs);
	if (r == CTL_OK && !a->dry_run && (a->yes || ctl_setup_consents())) {
		/* Check again, because another join may have run before the operator answered. */
		r = refuse_existing();
		for (size_t k = 0; k < n && r == CTL_OK; k++)
			r = check_file(&files[k]);
		if (r == CTL_OK)
			r = write_files(files, n);
		if (r == CTL_OK && i.permission)
			r = join_identity_make(&i, i.host, IDENTITY_DIR);
		if (r == CTL_OK) {
			r = ctl_setup_write(yaml);
			if (r != CTL_OK)
				remove_files(files, n);
		}
		if (r == CTL_OK)
			r = ctl_setup_apply(a, agent_runs);
	}
	invitation_done(&i);
	return r;
}
