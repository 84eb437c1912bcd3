/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles the options for the agent of another host: its address, the token, and the authority or
 * key to trust. Explains why that agent does not answer. A request is sent only after the
 * certificate or the key has been checked, so no other machine gets the token. */
#include "agent/ctl/ctl_remote.h"

#include "netcfg/base/files/secret.h"
#include "netcfg/spec/spec.h"
#include <arpa/inet.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define TOKEN_MAX 512
#define TOKEN_FILE_BYTES_MAX 4096
#define NAME_MAX_BYTES 255
#define PIN_BYTES 32

/* ---- the address ---- */

static int complain_host(const char *text)
{
	ctl_complain("--host needs a name or an address, perhaps with a port, such as host-b, "
		     "192.0.2.11:7443 or [2001:db8::1]:7443, found '%.80s'",
		     text);
	return CTL_USAGE;
}

static bool is_name(const char *text)
{
	size_t n =
		strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_");

	return n > 0 && !text[n] && text[0] != '-';
}

/* Splits the text: NAME, ADDRESS, NAME:PORT, ADDRESS:PORT, or [IPV6]:PORT. `host` has room for
 * NAME_MAX_BYTES + 1. Returns whether the text has one of these forms. */
static bool split(const char *text, char *host, bool *ret_inet6, const char **ret_port)
{
	const bool bracket = *text == '[';
	const char *colon = strchr(text, ':'), *end;
	struct in6_addr address;
	size_t len;

	if (bracket)
		end = strchr(++text, ']');
	else if (colon && !strchr(colon + 1, ':'))
		end = colon;
	else
		end = text + strlen(text);
	len = end ? (size_t)(end - text) : 0;
	if (len == 0 || len > NAME_MAX_BYTES)
		return false;
	snprintf(host, NAME_MAX_BYTES + 1, "%.*s", (int)len, text);
	end += bracket;
	*ret_port = *end == ':' ? end + 1 : NULL;
	*ret_inet6 = inet_pton(AF_INET6, host, &address) == 1;
	return (!*end || *ret_port) && (*ret_inet6 || (!bracket && is_name(host)));
}

static int take_host(const char *text, struct ctl_remote *remote)
{
	char host[NAME_MAX_BYTES + 1];
	unsigned long port = SPEC_API_PORT_DEFAULT;
	const char *port_text;
	bool inet6;

	if (!split(text, host, &inet6, &port_text))
		return complain_host(text);
	if (ctl_take_number("the port of --host", port_text, 1, UINT16_MAX, &port) != CTL_OK)
		return CTL_USAGE;
	snprintf(remote->place, sizeof(remote->place), "%s port %lu", host, port);
	snprintf(remote->url, sizeof(remote->url), inet6 ? "https://[%s]:%lu" : "https://%s:%lu",
		 host, port);
	return CTL_OK;
}

/* ---- the token ---- */

static int refuse_file(const char *path, int e, const struct reason *why)
{
	if (e == -EPERM)
		ctl_complain("%s: other users can read or write the file; it must belong to you or "
			     "root and have the mode 0600. Replace the token if another user may "
			     "have read it",
			     path);
	else
		ctl_complain("%s: %s", path, why->text);
	return e == -EPERM || e == -EACCES ? CTL_NO_PERMISSION : CTL_NO_INPUT;
}

/* Returns the token in the text: its only word, of visible ASCII characters. NULL: the text has
 * another form. */
static char *only_word(char *text, size_t len)
{
	static const char blanks[] = " \t\r\n";
	char *word = text + strspn(text, blanks), *end = word + strcspn(word, blanks);

	if (strlen(text) != len || end == word || end - word > TOKEN_MAX ||
	    end[strspn(end, blanks)])
		return NULL;
	*end = '\0';
	for (const char *c = word; *c; c++)
		if (*c <= ' ' || *c > '~')
			return NULL;
	return word;
}

static int take_token(const char *path, struct ctl_remote *remote)
{
	const struct rlimit no_core = {0, 0};
	struct reason why;
	char *text = NULL;
	const char *token;
	size_t len = 0;
	int r;

	if (!path || !*path) {
		ctl_complain("--host needs a token: write --token-file FILE, or set "
			     "PLENUM_TOKEN_FILE; 'plenum token add' on that host makes a token");
		return CTL_USAGE;
	}
	setrlimit(RLIMIT_CORE, &no_core); /* no core file, because it would contain the token */
	r = secret_read_file(path, TOKEN_FILE_BYTES_MAX, &text, &len, &why);
	if (r < 0)
		return refuse_file(path, r, &why);
	token = only_word(text, len);
	if (!token)
		ctl_complain("%s: the file needs one line with one token, as 'plenum token add' "
			     "prints it",
			     path);
	else if (asprintf(&remote->header, "Authorization: Bearer %s", token) < 0)
		remote->header = NULL;
	explicit_bzero(text, len);
	free(text);
	if (token && !remote->header)
		ctl_complain("out of memory");
	return !token ? CTL_DATA : remote->header ? CTL_OK : CTL_OS;
}

/* ---- whom to trust ---- */

static int hex_value(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Writes the bytes in base64. buf has room for 45 bytes. */
static void put_base64(const uint8_t bytes[PIN_BYTES], char *buf)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < PIN_BYTES; i += 3) {
		const size_t n = MIN_OF(PIN_BYTES - i, 3);
		const uint32_t v = (uint32_t)bytes[i] << 16 |
				   (uint32_t)(n > 1 ? bytes[i + 1] : 0) << 8 |
				   (n > 2 ? bytes[i + 2] : 0);

		for (size_t j = 0; j < 4; j++)
			*buf++ = j <= n ? digits[v >> (18 - 6 * j) & 63] : '=';
	}
	*buf = '\0';
}

static int take_pin(const char *text, struct ctl_remote *remote)
{
	uint8_t bytes[PIN_BYTES];
	bool good = strlen(text) == 2 * sizeof(bytes);

	for (size_t i = 0; good && i < sizeof(bytes); i++) {
		const int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);

		good = high >= 0 && low >= 0;
		if (good)
			bytes[i] = (uint8_t)(high << 4 | low);
	}
	if (!good) {
		ctl_complain("--pin needs the SHA-256 of a public key, %d digits from 0 to f, "
			     "found '%.80s'; plenum(1) says how to get it",
			     2 * PIN_BYTES, text);
		return CTL_USAGE;
	}
	strcpy(remote->pin, "sha256//");
	put_base64(bytes, remote->pin + strlen(remote->pin));
	return CTL_OK;
}

static int take_ca(const char *path, struct ctl_remote *remote)
{
	if (!path || !*path)
		return CTL_OK;
	if (access(path, R_OK) < 0) {
		ctl_complain("%s: %s; --ca needs a file with certificates in PEM", path,
			     strerror(errno));
		return errno == EACCES ? CTL_NO_PERMISSION : CTL_NO_INPUT;
	}
	remote->ca = path;
	return CTL_OK;
}

/* ---- the options ---- */

int ctl_remote_open(struct ctl_args *a)
{
	struct ctl_remote *remote = calloc(1, sizeof(*remote));
	int r;

	if (!remote)
		return ctl_put_text(NULL);
	a->remote = remote;
	r = take_host(a->host, remote);
	if (r == CTL_OK)
		r = take_ca(a->ca ? a->ca : getenv("PLENUM_CA_FILE"), remote);
	if (r == CTL_OK && a->pin)
		r = take_pin(a->pin, remote);
	if (r == CTL_OK)
		r = take_token(a->token_file ? a->token_file : getenv("PLENUM_TOKEN_FILE"), remote);
	if (r == CTL_OK)
		ctl_format_users_of_another_host();
	else
		ctl_remote_close(a);
	return r;
}

void ctl_remote_close(struct ctl_args *a)
{
	struct ctl_remote *remote = a->remote;

	if (remote && remote->header)
		explicit_bzero(remote->header, strlen(remote->header));
	if (remote)
		free(remote->header);
	free(remote);
	a->remote = NULL;
}

CURLcode ctl_remote_set(struct ctl_remote *remote, CURL *curl)
{
	/* With only a pin, the key identifies the host, so ignore the names in the certificate. */
	const long verify = !*remote->pin || remote->ca;
	CURLcode e = CURLE_OK;

	remote->detail[0] = remote->why[0] = '\0';
#define SET(option, value)                                                   \
	do {                                                                 \
		if (e == CURLE_OK)                                           \
			e = curl_easy_setopt(curl, CURLOPT_##option, value); \
	} while (0)
	SET(ERRORBUFFER, remote->detail);
	SET(PROTOCOLS_STR, "https");
	SET(SSLVERSION, (long)CURL_SSLVERSION_TLSv1_3);
	SET(HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(SSL_VERIFYPEER, verify);
	SET(SSL_VERIFYHOST, verify ? 2L : 0L);
	SET(TCP_KEEPALIVE, 1L); /* Keepalives detect that the host has vanished during an apply,
				   which may take minutes. */
	SET(TCP_KEEPIDLE, 10L);
	SET(TCP_KEEPINTVL, 10L);
	if (remote->ca) {
		SET(CAINFO, remote->ca);
		SET(CAPATH, NULL); /* otherwise libcurl would accept the system's authorities too */
	}
	if (*remote->pin)
		SET(PINNEDPUBLICKEY, remote->pin);
#undef SET
	return e;
}

/* ---- errors ---- */

static void explain_connect(struct ctl_remote *remote, CURL *curl)
{
	long error = 0;

	curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &error);
	if (error == ECONNREFUSED)
		snprintf(remote->why, sizeof(remote->why),
			 "%s refuses connections: its agent does not serve the API there; see the "
			 "section api of its configuration, and 'plenum status' on that host",
			 remote->place);
	else
		snprintf(remote->why, sizeof(remote->why), "cannot connect to %s: %s",
			 remote->place, error ? strerror((int)error) : remote->detail);
}

static bool is_connected(CURL *curl)
{
	curl_off_t us = 0;

	return curl_easy_getinfo(curl, CURLINFO_APPCONNECT_TIME_T, &us) == CURLE_OK && us > 0;
}

/* If the error is an error of TLS, explains it and returns true. */
static bool explain_tls(struct ctl_remote *remote, CURLcode e)
{
	switch (e) {
	case CURLE_PEER_FAILED_VERIFICATION:
		snprintf(remote->why, sizeof(remote->why),
			 "the certificate of %s is not trusted: %s; give the file of its authority "
			 "with --ca, the SHA-256 of its key with --pin, or a name that it has with "
			 "--host",
			 remote->place, remote->detail);
		remote->exit = CTL_NO_PERMISSION;
		return true;
	case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
		snprintf(remote->why, sizeof(remote->why),
			 "%s has another public key than --pin says: the host has a new key, or "
			 "another machine answers in its place",
			 remote->place);
		remote->exit = CTL_NO_PERMISSION;
		return true;
	case CURLE_SSL_CACERT_BADFILE:
		snprintf(remote->why, sizeof(remote->why), "%s cannot be used as --ca: %s",
			 remote->ca ? remote->ca : "the system's file of authorities",
			 remote->detail);
		return true;
	case CURLE_SSL_CONNECT_ERROR:
		snprintf(
			remote->why, sizeof(remote->why),
			"%s does not accept TLS 1.3: %s; perhaps another program uses the port, or "
			"this address has too many connections",
			remote->place, remote->detail);
		return true;
	default:
		return false;
	}
}

static void add_doubt(struct ctl_remote *remote)
{
	const size_t len = strlen(remote->why);

	snprintf(remote->why + len, sizeof(remote->why) - len,
		 "; the change may have been made, 'plenum events' shows it");
}

void ctl_remote_explain(struct ctl_remote *remote, CURL *curl, CURLcode e, bool change)
{
	const bool connected = is_connected(curl);

	remote->exit = CTL_UNAVAILABLE;
	if (explain_tls(remote, e))
		return;
	if (e == CURLE_COULDNT_CONNECT)
		explain_connect(remote, curl);
	else if (e == CURLE_COULDNT_RESOLVE_HOST)
		snprintf(remote->why, sizeof(remote->why),
			 "no address is known for %s; write an address, or a name that this host "
			 "can resolve",
			 remote->place);
	else if (e == CURLE_OPERATION_TIMEDOUT && !connected)
		snprintf(remote->why, sizeof(remote->why),
			 "%s does not answer: the host is off, or a firewall drops the packets",
			 remote->place);
	else if (e == CURLE_OPERATION_TIMEDOUT)
		snprintf(remote->why, sizeof(remote->why),
			 "the agent of %s does not answer in time: it is busy or hangs, or the "
			 "network has failed",
			 remote->place);
	else
		snprintf(remote->why, sizeof(remote->why),
			 "the connection to %s has ended without an answer: %s", remote->place,
			 *remote->detail ? remote->detail : curl_easy_strerror(e));
	if (change && connected)
		add_doubt(remote);
}

void ctl_remote_explain_large(struct ctl_remote *remote, bool change)
{
	remote->exit = CTL_SOFTWARE;
	snprintf(remote->why, sizeof(remote->why),
		 "the answer of %s is larger than an agent's: another program answers there, or "
		 "its agent is compromised",
		 remote->place);
	if (change)
		add_doubt(remote);
}
