/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes and reads invitations to a cluster. */
#include "agent/ctl/join/ctl_join.h"
#include "netcfg/base/file.h"
#include "netcfg/base/files/secret.h"
#include "netcfg/base/when.h"
#include "netcfg/spec/spec.h"
#include <fcntl.h>
#include <string.h>
#include <time.h>

#define CONFIG_FILE PLENUM_SYSCONFDIR "/plenum.yaml"
#define VERSION_KEY "plenum-invitation"
#define INVITATION_VERSION 1
#define VALID_S_DEFAULT 3600
#define VALID_S_MAX (30 * 86400)

static uint64_t now_ms(void)
{
	return (uint64_t)time(NULL) * 1000;
}

/* ---- read ---- */

static const char *text_of(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static bool all_texts(const json_t *list)
{
	const json_t *o;
	size_t i;

	json_array_foreach (list, i, o)
		if (!json_is_string(o))
			return false;
	return json_array_size(list) > 0;
}

/* Returns whether the member is absent, or is a text that the file may contain. */
static bool member_is_valid(const char *file, const char *key, const json_t *value)
{
	static const char *const texts[] = {"cluster",	"ca",	     "user",	   "password",
					    "security", "secret",    "expires",	   "host",
					    "identity", "authority", "permission", "once"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (strcmp(key, texts[i]) == 0) {
			if (json_is_string(value) && *json_string_value(value))
				return true;
			ctl_complain("%s: %s: expected a text", file, key);
			return false;
		}
	if (strcmp(key, VERSION_KEY) == 0) {
		if (json_integer_value(value) == INVITATION_VERSION)
			return true;
		ctl_complain("%s: " VERSION_KEY ": this version reads invitations of version %d; "
			     "update this host",
			     file, INVITATION_VERSION);
		return false;
	}
	if (strcmp(key, "etcd") == 0 && all_texts(value))
		return true;
	if (strcmp(key, "legs") == 0 && json_is_array(value) && json_array_size(value) > 0)
		return true;
	ctl_complain("%s: %.40s: expected etcd with texts, legs with maps, cluster, ca, user, "
		     "password, security, "
		     "secret, expires, host, identity, authority, permission or once, as 'plenum "
		     "cluster invite' writes them",
		     file, key);
	return false;
}

static bool is_expired(const char *file, const json_t *all)
{
	const char *text = text_of(all, "expires");
	uint64_t at;

	if (!text)
		return false;
	if (when_parse(text, now_ms(), false, &at) < 0) {
		ctl_complain("%s: expires: expected a time such as 2026-12-01T10:00:00Z, found "
			     "'%.40s'",
			     file, text);
		return true;
	}
	if (at > now_ms())
		return false;
	ctl_complain("%s: the invitation was valid until %.40s; 'plenum cluster invite' on a host "
		     "of the cluster makes a new one",
		     file, text);
	return true;
}

static int read_file(const char *file, json_t **ret)
{
	struct reason why;
	json_error_t at;
	char *text = NULL;
	const char *key;
	json_t *value;
	size_t len;
	int r = secret_read_file(file, JOIN_FILE_BYTES_MAX, &text, &len, &why);

	if (r < 0) {
		ctl_complain("%s: %s", file, why.text);
		return r == -ENOENT ? CTL_NO_INPUT : r == -EACCES ? CTL_NO_PERMISSION : CTL_DATA;
	}
	*ret = json_loadb(text, len, JSON_REJECT_DUPLICATES, &at);
	explicit_bzero(text, len);
	free(text);
	if (!json_is_object(*ret)) {
		ctl_complain("%s: line %d: expected an invitation, a JSON object as 'plenum "
			     "cluster invite' writes it",
			     file, *ret ? 1 : at.line);
		return CTL_DATA;
	}
	json_object_foreach (*ret, key, value)
		if (!member_is_valid(file, key, value))
			return CTL_DATA;
	return is_expired(file, *ret) ? CTL_DATA : CTL_OK;
}

/* Adds the values of the command line's options to the invitation. */
static void add_arguments(json_t *all, const char *url, const char *cluster)
{
	json_t *urls = json_array();

	if (url)
		json_array_append_new(urls, json_string(url));
	if (url && json_object_get(all, "etcd"))
		json_array_extend(urls, json_object_get(all, "etcd"));
	if (url)
		json_object_set(all, "etcd", urls);
	if (cluster)
		json_object_set_new(all, "cluster", json_string(cluster));
	json_decref(urls);
}

static int check(const struct invitation *i)
{
	const json_t *url;
	bool tls = false;
	size_t k;

	json_array_foreach (i->etcd, k, url)
		tls |= json_is_string(url) &&
		       strncmp(json_string_value(url), "https:", strlen("https:")) == 0;
	if (!i->etcd)
		ctl_complain("no URL of etcd is given; write it, or use an invitation: 'plenum "
			     "join --token-file FILE'");
	else if (!i->cluster)
		ctl_complain("the name of the cluster is not given; write --cluster NAME, or use "
			     "an invitation of 'plenum cluster invite'");
	else if (!record_name_is_valid(i->cluster))
		ctl_complain(
			"'%.60s' is not a valid name of a cluster; write letters, digits, '.', '_' "
			"and '-'",
			i->cluster);
	else if (tls && !i->ca)
		ctl_complain("an https:// URL needs the certificates of etcd's CA; write them as "
			     "'ca' into the file of --token-file");
	else if (!i->user != !i->password)
		ctl_complain("the invitation has only one of 'user' and 'password'; write both");
	else
		return CTL_OK;
	return CTL_USAGE;
}

int invitation_read(const char *file, const char *url, const char *cluster, struct invitation *ret)
{
	json_t *all = NULL;
	int r = CTL_OK;

	*ret = (struct invitation){.all = NULL};
	if (file)
		r = read_file(file, &all);
	else
		all = json_object();
	if (r == CTL_OK && !all)
		r = ctl_put_text(NULL);
	ret->all = all;
	if (r != CTL_OK)
		return r;
	add_arguments(all, url, cluster);
	invitation_use(ret, all);
	return check(ret);
}

void invitation_use(struct invitation *i, json_t *all)
{
	*i = (struct invitation){.all = all,
				 .cluster = text_of(all, "cluster"),
				 .ca = text_of(all, "ca"),
				 .user = text_of(all, "user"),
				 .password = text_of(all, "password"),
				 .security = text_of(all, "security"),
				 .secret = text_of(all, "secret"),
				 .etcd = json_object_get(all, "etcd"),
				 .legs = json_object_get(all, "legs"),
				 .host = text_of(all, "host"),
				 .identity = text_of(all, "identity"),
				 .authority = text_of(all, "authority"),
				 .permission = text_of(all, "permission"),
				 .once = text_of(all, "once")};
}

void invitation_done(struct invitation *i)
{
	char *secrets[] = {(char *)i->password, (char *)i->secret, (char *)i->once};

	for (size_t k = 0; k < ARRAY_SIZE(secrets); k++)
		if (secrets[k])
			explicit_bzero(secrets[k], strlen(secrets[k]));
	json_decref(i->all);
	*i = (struct invitation){.all = NULL};
}

/* ---- invite ---- */

/* Adds the text of a file. If the file has only one line, leaves out its newline. */
static int add_file(json_t *o, const char *key, const char *path, bool one_line)
{
	struct reason why = {.code = ""};
	char *text = NULL;
	size_t len = 0;
	int r;

	if (!path)
		return CTL_OK;
	r = one_line || strcmp(key, "secret") == 0
		    ? secret_read_file(path, JOIN_FILE_BYTES_MAX, &text, &len, &why)
		    : file_read(path, JOIN_FILE_BYTES_MAX, &text, &len);
	if (r < 0) {
		ctl_complain("cannot read %s: %s", path, why.text[0] ? why.text : strerror(-r));
		return r == -EACCES ? CTL_NO_PERMISSION : CTL_NO_INPUT;
	}
	if (one_line)
		text[strcspn(text, "\r\n")] = '\0';
	json_object_set_new(o, key, json_string(text));
	explicit_bzero(text, len);
	free(text);
	if (json_object_get(o, key))
		return CTL_OK;
	ctl_complain("%s is not UTF-8 text", path);
	return CTL_DATA;
}

static const struct spec_network *network_of(const struct spec *s, const char *name)
{
	for (size_t i = 0; i < s->n_networks; i++)
		if (strcmp(s->networks[i].name, name) == 0)
			return &s->networks[i];
	return NULL;
}

/* Adds the legs of this host that have a match, because the same match selects the devices of
 * similar hosts. */
static void add_legs(json_t *o, const struct spec *s)
{
	json_t *legs = json_array();

	for (size_t i = 0; i < s->n_nets; i++) {
		const struct spec_network *network = network_of(s, s->nets[i].network);
		autofree char *text = spec_net_to_json(&s->nets[i]);
		json_t *net = text ? json_loads(text, 0, NULL) : NULL;
		json_t *match = json_object_get(net, "match"), *value;
		const char *key;
		void *next;

		if (network && network->pool[0] && spec_match_is_set(&s->nets[i].match)) {
			json_object_foreach_safe(match, next, key, value) if (json_is_null(value))
				json_object_del(match, key);
			json_array_append_new(legs, json_pack("{s:s, s:O}", "pool", network->pool,
							      "match", match));
		}
		json_decref(net);
	}
	if (json_array_size(legs))
		json_object_set(o, "legs", legs);
	json_decref(legs);
}

static int take_valid(const char *text, unsigned long *ret_s)
{
	const size_t len = text ? strlen(text) : 0;
	const char unit = len > 1 ? text[len - 1] : 's';
	char digits[12] = "";

	*ret_s = VALID_S_DEFAULT;
	if (!text)
		return CTL_OK;
	snprintf(digits, sizeof(digits), "%.*s", (int)MIN_OF(len - (len > 1), sizeof(digits) - 1),
		 text);
	*ret_s = strtoul(digits, NULL, 10) * (unit == 'm'   ? 60
					      : unit == 'h' ? 3600
					      : unit == 'd' ? 86400
							    : 1);
	if (len > 1 && len < sizeof(digits) && strspn(digits, "0123456789") == len - 1 &&
	    strchr("smhd", unit) && *ret_s > 0 && *ret_s <= VALID_S_MAX)
		return CTL_OK;
	ctl_complain("--valid needs a time from 1s to 30d, with its unit s, m, h or d, found "
		     "'%.40s'",
		     text);
	return CTL_USAGE;
}

int invitation_make(const struct spec *s, unsigned long valid_s, json_t **ret)
{
	char when[WHEN_TEXT_MAX];
	json_t *urls = json_array(), *o;
	int r = CTL_OK;

	for (size_t i = 0; i < s->cluster.n_etcd; i++)
		json_array_append_new(urls, json_string(s->cluster.etcd[i]));
	o = json_pack("{s:i, s:s, s:s, s:o, s:s}", VERSION_KEY, INVITATION_VERSION, "expires",
		      when_format(now_ms() + valid_s * 1000, when), "cluster", s->cluster.name,
		      "etcd", urls, "security", spec_security_to_string(s->cluster.security));
	*ret = o;
	if (!o)
		return ctl_put_text(NULL);
	if (s->cluster.etcd_user[0])
		json_object_set_new(o, "user", json_string(s->cluster.etcd_user));
	r = add_file(o, "ca", s->cluster.etcd_ca, false);
	if (r == CTL_OK)
		r = add_file(o, "password", s->cluster.etcd_password_file, true);
	if (r == CTL_OK)
		r = add_file(o, "secret", s->cluster.secret_file, false);
	add_legs(o, s);
	return r;
}

/* Creates the file with its final mode, so that other users can never open it. */
static int put(const char *path, const json_t *o)
{
	char *text = json_dumps(o, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	autoclose int fd = -1;
	int r = text ? 0 : -ENOMEM;

	if (r == 0) {
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		r = fd < 0 ? -errno : file_write_all(fd, text, strlen(text));
	}
	if (r >= 0)
		r = file_write_all(fd, "\n", 1);
	if (r >= 0 && fsync(fd) < 0)
		r = -errno;
	if (r < 0 && fd >= 0)
		unlink(path);
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
	if (r >= 0)
		return CTL_OK;
	ctl_complain("cannot write %s: %s", path, strerror(-r));
	return r == -EACCES ? CTL_NO_PERMISSION : CTL_IO;
}

int ctl_cmd_cluster_invite(const struct ctl_args *a)
{
	struct invitation i = {.all = NULL};
	unsigned long valid_s;
	struct spec *s = NULL;
	int r = take_valid(a->valid, &valid_s);

	if (r == CTL_OK)
		r = ctl_load(CONFIG_FILE, &s);
	if (r == CTL_OK && s->cluster.n_etcd == 0) {
		ctl_complain("cluster.etcd is not in " CONFIG_FILE ", so this host is in no "
			     "cluster that another host could join");
		r = CTL_DATA;
	}
	if (r == CTL_OK)
		r = invitation_make(s, valid_s, &i.all);
	if (r == CTL_OK && a->n_operands > 1)
		r = join_identity_permit(s, a->operands[1], i.all);
	if (r == CTL_OK)
		r = put(a->operands[0], i.all);
	if (r == CTL_OK)
		printf("%s is valid until %s. Copy it to the new host over an encrypted "
		       "connection, run 'plenum "
		       "join --token-file FILE' there, and delete it: it has the keys of the "
		       "cluster.\n",
		       a->operands[0], text_of(i.all, "expires"));
	invitation_use(&i, i.all);
	invitation_done(&i);
	spec_free(s);
	return r;
}
