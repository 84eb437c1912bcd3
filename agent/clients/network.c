/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the files of the network service, opens its socket, and reports why one of them cannot be
 * used. */
#include "agent/clients/network.h"
#include "netcfg/base/file.h"
#include "netcfg/base/files/secret.h"
#include "netcfg/base/log.h"
#include "netcfg/base/os/memfd.h"
#include "netcfg/base/when.h"
#include <fcntl.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/stat.h>

#define BACKLOG 128
/* If a client acknowledges no data for this time, the kernel ends the connection. */
#define GONE_MS 30000

void network_init(struct network *n)
{
	*n = (struct network){.offered = {.fd = -1}, .used = {.fd = -1}};
}

void network_config_done(struct network_config *c)
{
	free(c->certificate);
	free(c->key);
	free(c->tokens);
	*c = (struct network_config){.port = 0};
}

void network_done(struct network *n)
{
	network_config_done(&n->config);
	access_done(&n->access);
	cleanup_close(&n->offered.fd);
	cleanup_close(&n->used.fd);
	network_init(n);
}

bool network_config_equal(const struct network_config *a, const struct network_config *b)
{
	if (!a->listen.family || !b->listen.family)
		return a->listen.family == b->listen.family;
	return ip_addr_equal(&a->listen, &b->listen) && a->port == b->port &&
	       strcmp(a->certificate, b->certificate) == 0 && strcmp(a->key, b->key) == 0 &&
	       strcmp(a->tokens, b->tokens) == 0;
}

/* ---- files ---- */

static void load_tokens(struct network *n)
{
	struct access_table table;

	if (access_read(n->config.tokens, &table, &n->tokens_why) < 0) {
		reason_prefix(&n->tokens_why, "%.120s", n->config.tokens);
		return;
	}
	reason_clear(&n->tokens_why);
	access_done(&n->access);
	n->access = table;
}

/* Writes the certificate and then the key to a sealed memfd. Returns the descriptor or negative
 * errno. */
static int join(const char *certificate, size_t certificate_len, const char *key, size_t key_len)
{
	char *both = malloc(certificate_len + key_len + 1);
	int fd;

	if (!both)
		return -ENOMEM;
	memcpy(both, certificate, certificate_len);
	memcpy(both + certificate_len, key, key_len);
	fd = memfd_new_sealed("plenum-certificate", both, certificate_len + key_len);
	explicit_bzero(both, certificate_len + key_len);
	free(both);
	return fd;
}

/* Reads a regular file. If the path were a pipe, reading it could block the agent. */
static int read_regular(const char *path, char **ret_text, size_t *ret_len)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? file_read_fd(fd, PRIVSEP_PEM_MAX, ret_text, ret_len) : -EINVAL;
}

static void load_certificate(struct network *n)
{
	struct reason *why = &n->certificate_why;
	autofree char *certificate = NULL;
	size_t len = 0, key_len = 0;
	char *key = NULL;
	int r = read_regular(n->config.certificate, &certificate, &len), fd;

	if (r < 0) {
		reason_set_text(why, "%.120s: %s", n->config.certificate, strerror(-r));
		return;
	}
	r = secret_read_file(n->config.key, PRIVSEP_PEM_MAX, &key, &key_len, why);
	if (r < 0) {
		reason_prefix(why, "%.120s", n->config.key);
		return;
	}
	fd = join(certificate, len, key, key_len);
	explicit_bzero(key, key_len);
	free(key);
	if (fd < 0) {
		reason_set_text(why, "cannot pass the certificate on: %s", strerror(-fd));
		return;
	}
	cleanup_close(&n->offered.fd);
	n->offered = (struct network_files){fd, {len, key_len}};
}

void network_offer_again(struct network *n)
{
	if (n->used.fd < 0)
		return;
	cleanup_close(&n->offered.fd);
	n->offered = n->used;
	n->used.fd = -1;
}

bool network_needs_files(const struct network *n)
{
	return reason_is_set(&n->certificate_why) || reason_is_set(&n->tokens_why);
}

void network_load(struct network *n)
{
	load_tokens(n);
	load_certificate(n);
}

void network_take_state(struct network *n, const struct privsep_tls_state *state)
{
	if (n->offered.fd < 0)
		return;
	if (!state->good) {
		reason_set_text(&n->certificate_why, "%.100s, %.100s: %s", n->config.certificate,
				n->config.key, state->text);
		cleanup_close(&n->offered.fd);
	} else {
		reason_clear(&n->certificate_why);
		cleanup_close(&n->used.fd);
		n->used = n->offered;
		n->expires_s = state->expires_s;
	}
	n->offered.fd = -1;
}

/* ---- the socket ---- */

static void refuse_address(struct network *n, int error)
{
	char buf[IP_ADDR_STR_MAX];

	ip_addr_format(&n->config.listen, buf, sizeof(buf));
	if (error == -EADDRNOTAVAIL)
		reason_set_text(&n->address_why, "this host does not have the address %s", buf);
	else
		reason_set_text(&n->address_why, "cannot listen at %s port %u: %s", buf,
				n->config.port, strerror(-error));
}

static int open_socket(const struct network_config *c)
{
	struct sockaddr_storage at;
	const int on = 1, len = ip_addr_to_sockaddr(&c->listen, c->port, &at);
	autoclose int fd = -1;

	if (len < 0)
		return len;
	fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* Needed after a restart of the agent, while connections of the previous agent may still
	 * exist. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, (struct sockaddr *)&at, (socklen_t)len) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	return fd_take(fd);
}

int network_listen(struct network *n)
{
	const int fd = open_socket(&n->config);

	if (fd < 0)
		refuse_address(n, fd);
	else
		reason_clear(&n->address_why);
	return fd;
}

int network_peer(int fd, struct ip_addr *ret)
{
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	uint16_t port;

	if (getpeername(fd, (struct sockaddr *)&from, &len) < 0)
		return -errno;
	return ip_addr_from_sockaddr((struct sockaddr *)&from, ret, &port);
}

void network_tune(int fd)
{
	const unsigned gone_ms = GONE_MS;
	const int on = 1, idle_s = GONE_MS / 2000;

	/* Errors are ignored, because the connection also works without these options. */
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &idle_s, sizeof(idle_s)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &gone_ms, sizeof(gone_ms)) < 0)
		log_debug("cannot set an option of a client's connection: %s", strerror(errno));
}

/* ---- problems ---- */

static void add(json_t *list, const struct reason *why)
{
	char text[REASON_FORMAT_MAX];

	json_array_append_new(list, json_string(reason_format(why, text, sizeof(text))));
}

json_t *network_problems(const struct network *n, uint64_t now_s)
{
	json_t *list = json_array();
	char when[WHEN_TEXT_MAX];
	struct reason why;

	if (!list || !n->config.listen.family)
		return list;
	if (reason_is_set(&n->address_why)) {
		reason_set(&why, "api-address",
			   "the API is not served over the network: %s; the agent tries again "
			   "every few seconds; correct api.listen if the address is wrong",
			   n->address_why.text);
		add(list, &why);
	}
	if (reason_is_set(&n->certificate_why)) {
		reason_set(&why, "api-certificate",
			   "%s: %s; correct the files, or install new ones",
			   n->used.fd < 0 ? "the API is not served over the network"
					  : "the API still uses its former certificate",
			   n->certificate_why.text);
		add(list, &why);
	} else if (n->expires_s && n->expires_s <= now_s) {
		reason_set(&why, "api-certificate",
			   "the certificate of the API expired at %s, and clients refuse it; renew "
			   "%.120s, then 'systemctl reload plenumd'",
			   when_format(n->expires_s * 1000, when), n->config.certificate);
		add(list, &why);
	}
	if (reason_is_set(&n->tokens_why)) {
		reason_set(&why, "api-tokens", "%s: %s",
			   n->access.n == 0 ? "no client can use the API over the network"
					    : "the API still uses the former tokens",
			   n->tokens_why.text);
		add(list, &why);
	}
	return list;
}
