/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the settings of the role `cluster` from the configuration and the files that it names. */
#include "agent/cluster/cluster_settings.h"
#include "agent/cluster/pools/pool.h"
#include "netcfg/base/file.h"
#include "netcfg/base/files/secret.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_BYTES_MAX (1U << 20)
#define PASSWORD_BYTES_MAX 512

static int read_regular(const char *path, char **ret)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	size_t len;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? file_read_fd(fd, FILE_BYTES_MAX, ret, &len) : -EINVAL;
}

/* Adds the texts of both files. Returns 0, or negative errno with the reason in why. */
static int add_files(const struct spec_cluster *s, json_t *o, struct reason *why)
{
	autofree char *ca = NULL;
	char *password = NULL;
	size_t len = 0;
	int r = s->etcd_ca ? read_regular(s->etcd_ca, &ca) : 0;

	if (r < 0) {
		reason_set_text(why, "cannot read %.120s (cluster.etcd-ca): %s", s->etcd_ca,
				strerror(-r));
		return r;
	}
	if (ca)
		json_object_set_new(o, "ca", json_string(ca));
	if (!s->etcd_user[0])
		return 0;
	r = secret_read_file(s->etcd_password_file, PASSWORD_BYTES_MAX, &password, &len, why);
	if (r < 0) {
		reason_prefix(why, "%.120s (cluster.etcd-password-file)", s->etcd_password_file);
		return r;
	}
	password[strcspn(password, "\r\n")] = '\0';
	json_object_set_new(o, "user", json_string(s->etcd_user));
	if (json_object_set_new(o, "password", json_string(password)) < 0) {
		reason_set_text(why, "%.120s (cluster.etcd-password-file) is not UTF-8 text",
				s->etcd_password_file);
		r = -EINVAL;
	}
	explicit_bzero(password, len);
	free(password);
	return r;
}

json_t *cluster_settings_servers(const struct spec *s)
{
	json_t *seen = json_object(), *list = json_array();

	for (size_t i = 0; seen && list && i < s->n_workers; i++)
		for (size_t k = 0; k < s->workers[i].n_mounts; k++) {
			const char *host = s->workers[i].mounts[k].from_host;

			if (json_object_get(seen, host) || json_array_size(list) == SERVERS_MAX)
				continue;
			json_object_set_new(seen, host, json_true());
			json_array_append_new(list, json_string(host));
		}
	json_decref(seen);
	return list;
}

char *cluster_settings_make(const struct cluster_setup *setup, const struct spec *s,
			    struct reason *why)
{
	const struct servers *self = setup->servers;
	json_t *endpoints = json_array(), *o;
	char *text = NULL;

	for (size_t i = 0; i < s->cluster.n_etcd; i++)
		json_array_append_new(endpoints, json_string(s->cluster.etcd[i]));
	o = json_pack("{s:s, s:s, s:s, s:I, s:s, s:o, s:o, s:o}", "cluster", s->cluster.name,
		      "host", s->host, "id", self->id, "epoch", (json_int_t)self->epoch, "nonce",
		      self->nonce, "endpoints", endpoints, "servers", cluster_settings_servers(s),
		      "pools", cluster_pools_wanted(setup->pools, s));
	if (s->cluster.identity != SPEC_IDENTITY_OFF)
		json_object_set_new(o, "identity", json_true());
	reason_set_text(why, "out of memory");
	if (o && add_files(&s->cluster, o, why) >= 0)
		text = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	return text;
}
