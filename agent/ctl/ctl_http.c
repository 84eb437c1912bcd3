/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends requests with libcurl to the agent's sockets, or to the agent of another host. No other
 * file sends requests or chooses the socket for a request. */
#include "agent/ctl/ctl_remote.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#define REPLY_BYTES_MAX (64U << 20)
/* No agent sends more: PRIVSEP_REPLY_MAX. */
#define REMOTE_BYTES_MAX (16U << 20)
/* Objects and arrays of JSON in the answer of another host. An empty one has two bytes, for which
 * jansson takes more than 200; the longest list of an agent has fewer than a hundred thousand. */
#define REMOTE_VALUES_MAX (256U << 10)
#define CONNECT_TIMEOUT_S 5
/* After this time without an answer, checks whether the agent's process is stopped. A working agent
 * answers sooner. */
#define STOPPED_NS (1 * NSEC_PER_SEC)

void ctl_reply_done(struct ctl_reply *r)
{
	free(r->body);
	*r = (struct ctl_reply){0};
}

/* libcurl's write callback. If it does not return size * n, libcurl aborts the transfer. */
static size_t on_body(char *data, size_t size, size_t n, void *user)
{
	struct ctl_reply *r = user;
	size_t len = size * n;

	if (r->len + len > r->limit)
		return 0;
	if (r->len + len >= r->size) {
		size_t larger = MAX_OF(2 * r->size, r->len + len + 1);
		char *body = realloc(r->body, larger);

		if (!body) {
			r->limit = 0;
			return 0;
		}
		r->body = body;
		r->size = larger;
	}
	memcpy(r->body + r->len, data, len);
	r->len += len;
	r->body[r->len] = '\0';
	return len;
}

/* libcurl's header callback: keeps the version of the resource. */
static size_t on_header(char *data, size_t size, size_t n, void *user)
{
	static const char name[] = "etag: ";
	struct ctl_reply *r = user;
	size_t len = size * n, skip = sizeof(name) - 1, at = 0;

	if (len <= skip || strncasecmp(data, name, skip) != 0)
		return len;
	for (size_t i = skip; i < len && at + 1 < sizeof(r->etag); i++)
		if (data[i] > ' ' && data[i] <= '~')
			r->etag[at++] = data[i];
	r->etag[at] = '\0';
	return len;
}

static bool is_change(const struct ctl_request *rq)
{
	return strcmp(resources[rq->resource].method, "GET") != 0;
}

struct ctl_place { /* destination of a request: `remote` or, if that is NULL, `socket` */
	const char *socket;
	struct ctl_remote *remote;
};

struct ctl_wait { /* a wait for an answer */
	const struct ctl_place *to;
	bool change, shown; /* shown: a line about the wait is on the terminal */
	uint64_t since_ns;
};

static struct curl_slist *headers_of(const struct ctl_remote *remote, const struct ctl_request *rq)
{
	struct curl_slist *list = NULL;
	char line[128];

	/* Suppresses "Expect: 100-continue", which only adds a round trip on a Unix socket. */
	snprintf(line, sizeof(line), "Content-Type: %s",
		 rq->content_type ? rq->content_type : "application/json");
	list = curl_slist_append(curl_slist_append(list, line), "Expect:");
	snprintf(line, sizeof(line), "Accept: %s", rq->accept ? rq->accept : "*/*");
	list = curl_slist_append(list, line);
	if (list && remote)
		list = curl_slist_append(list, remote->header);
	snprintf(line, sizeof(line), "If-Match: %s", rq->if_match ? rq->if_match : "");
	return list && rq->if_match && *rq->if_match ? curl_slist_append(list, line) : list;
}

/* Shows on a terminal for how long a change has been waiting. */
static void show_wait(struct ctl_wait *w)
{
	const uint64_t s = (clock_now_ns() - w->since_ns) / NSEC_PER_SEC;
	const char *term = getenv("TERM");

	if (s == 0 || !isatty(STDERR_FILENO) || !term || !*term || strcmp(term, "dumb") == 0)
		return;
	fprintf(stderr, "\r\033[Kwaiting for %s: %" PRIu64 " s",
		w->to->remote ? w->to->remote->place : "the agent", s);
	w->shown = true;
}

static void hide_wait(const struct ctl_wait *w)
{
	if (w->shown)
		fputs("\r\033[K", stderr);
}

/* libcurl's progress callback, called about once a second. If it does not return 0, libcurl aborts
 * the transfer. */
static int on_progress(void *user, curl_off_t to_load, curl_off_t loaded, curl_off_t to_send,
		       curl_off_t sent)
{
	struct ctl_wait *w = user;

	(void)to_load, (void)loaded, (void)to_send, (void)sent;
	if (w->change)
		show_wait(w);
	/* Only for reads. A stopped agent may carry out a change when it continues, so the sender
	 * of a change waits. */
	return !w->change && !w->to->remote && clock_now_ns() > w->since_ns + STOPPED_NS &&
	       ctl_agent_is_stopped(w->to->socket);
}

static CURLcode set_socket(CURL *curl, const char *socket)
{
	CURLcode e = curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, socket);

	return e == CURLE_OK ? curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http") : e;
}

static int set_options(CURL *curl, const struct ctl_place *to, const struct ctl_request *rq,
		       const struct curl_slist *headers, struct ctl_reply *reply)
{
	char url[1024];
	CURLcode e = to->remote ? ctl_remote_set(to->remote, curl) : set_socket(curl, to->socket);

	if ((size_t)snprintf(url, sizeof(url), "%s%s%s%s%s%s",
			     to->remote ? to->remote->url : "http://plenum",
			     resources[rq->resource].path, rq->name ? rq->name : "",
			     resources[rq->resource].suffix ? resources[rq->resource].suffix : "",
			     rq->query ? "?" : "", rq->query ? rq->query : "") >= sizeof(url))
		return -ENAMETOOLONG;
#define SET(option, value)                                                   \
	do {                                                                 \
		if (e == CURLE_OK)                                           \
			e = curl_easy_setopt(curl, CURLOPT_##option, value); \
	} while (0)
	SET(URL, url);
	SET(PROXY, ""); /* ignore proxies of the environment: the two hosts are connected
			   directly */
	SET(CUSTOMREQUEST, resources[rq->resource].method);
	SET(HTTPHEADER, headers);
	SET(NOSIGNAL, 1L);
	SET(CONNECTTIMEOUT, (long)CONNECT_TIMEOUT_S);
	SET(TIMEOUT, (long)(rq->timeout_s ? rq->timeout_s : CTL_TIMEOUT_S));
	SET(WRITEFUNCTION, on_body);
	SET(WRITEDATA, reply);
	SET(HEADERFUNCTION, on_header);
	SET(HEADERDATA, reply);
	if (rq->body) {
		size_t len = rq->body_len ? rq->body_len : strlen(rq->body);

		SET(POSTFIELDSIZE_LARGE, (curl_off_t)len);
		SET(POSTFIELDS, rq->body);
	}
#undef SET
	return e == CURLE_OK ? 0 : -ENOMEM;
}

static int error_of(CURL *curl, CURLcode e)
{
	long os_error = 0;

	switch (e) {
	case CURLE_COULDNT_CONNECT:
		curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &os_error);
		return os_error ? -(int)os_error : -ECONNREFUSED;
	case CURLE_OPERATION_TIMEDOUT:
	case CURLE_ABORTED_BY_CALLBACK:
		return -ETIMEDOUT;
	case CURLE_OUT_OF_MEMORY:
		return -ENOMEM;
	case CURLE_WRITE_ERROR:
		return -EFBIG;
	case CURLE_GOT_NOTHING:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
	case CURLE_PARTIAL_FILE:
		return -ECONNRESET;
	default:
		return -EPROTO;
	}
}

/*
 * Returns a handle for the request. Reads share their connections, so that plenum top does not open
 * one for each of them. A change gets a new connection: libcurl repeats a request if a connection
 * that was kept ends without an answer, and a change must not be made twice. No handle is used
 * again, because libcurl 7.88 then appends a continued header line to a freed header of the
 * previous answer.
 */
static CURL *handle_of(const struct ctl_request *rq)
{
	static CURLSH *kept;
	CURL *curl = curl_easy_init();

	if (is_change(rq) || !curl)
		return curl;
	if (!kept) {
		kept = curl_share_init();
		if (kept)
			curl_share_setopt(kept, CURLSHOPT_SHARE, CURL_LOCK_DATA_CONNECT);
	}
	if (kept)
		curl_easy_setopt(curl, CURLOPT_SHARE, kept);
	return curl;
}

/* Frees the headers. They have a copy of the token, which is wiped. */
static void headers_done(struct curl_slist *list)
{
	for (struct curl_slist *h = list; h; h = h->next)
		explicit_bzero(h->data, strlen(h->data));
	curl_slist_free_all(list);
}

/* Returns whether the body may be JSON for which jansson would take hundreds of MB. Brackets in
 * texts count too. */
static bool has_too_many_values(const struct ctl_reply *r)
{
	const char *body = r->body ? r->body : "";
	size_t n = 0, i = strspn(body, " \t\r\n");

	if (body[i] != '{' && body[i] != '[')
		return false;
	for (; i < r->len; i++)
		n += body[i] == '{' || body[i] == '[';
	return n > REMOTE_VALUES_MAX;
}

/* Sends the request, for which the handle is ready. Returns 0 or negative errno. */
static int perform(CURL *curl, const struct ctl_place *to, bool change, struct ctl_reply *reply)
{
	struct ctl_wait wait = {.to = to, .change = change, .since_ns = clock_now_ns()};
	CURLcode e;
	int r = 0;

	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &wait);
	e = curl_easy_perform(curl);
	hide_wait(&wait);
	if (e == CURLE_OK)
		curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &reply->status);
	else
		r = e == CURLE_WRITE_ERROR && !reply->limit ? -ENOMEM : error_of(curl, e);
	if (!to->remote)
		return r;
	if (r == 0 && has_too_many_values(reply))
		r = -EFBIG;
	if (r == -EFBIG)
		ctl_remote_explain_large(to->remote, change);
	else if (r < 0)
		ctl_remote_explain(to->remote, curl, e, change);
	return r;
}

static int ask_once(const struct ctl_place *to, const struct ctl_request *rq, struct ctl_reply *ret)
{
	struct ctl_reply reply = {.limit = to->remote ? REMOTE_BYTES_MAX : REPLY_BYTES_MAX};
	CURL *curl = handle_of(rq);
	struct curl_slist *headers = headers_of(to->remote, rq);
	int r = -ENOMEM;

	if (curl && headers)
		r = set_options(curl, to, rq, headers, &reply);
	if (r == 0)
		r = perform(curl, to, is_change(rq), &reply);
	if (r == 0 && !reply.body && !(reply.body = calloc(1, 1)))
		r = -ENOMEM;
	curl_easy_cleanup(curl);
	headers_done(headers);
	if (r < 0)
		ctl_reply_done(&reply);
	else
		*ret = reply;
	return r;
}

/* The TLS library may write to a connection that the other host has closed, which raises SIGPIPE.
 * So ignore SIGPIPE during the request. At other times it must end the program when the reader of
 * standard output has gone. */
static int ask_at(const struct ctl_place *to, const struct ctl_request *rq, struct ctl_reply *ret)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct sigaction before;
	int r;

	if (!to->remote)
		return strlen(to->socket) < sizeof(((struct sockaddr_un *)0)->sun_path)
			       ? ask_once(to, rq, ret)
			       : -ENAMETOOLONG;
	sigaction(SIGPIPE, &ignore, &before);
	r = ask_once(to, rq, ret);
	sigaction(SIGPIPE, &before, NULL);
	return r;
}

/* Makes the path of plenumd-admin.sock in the folder of plenumd.sock. */
static int admin_socket(const char *socket, char *buf, size_t size)
{
	size_t len = strlen(socket), ending = strlen(".sock");
	bool ends = len > ending && strcmp(socket + len - ending, ".sock") == 0;

	if (ends)
		len -= ending;
	if ((size_t)snprintf(buf, size, "%.*s-admin%s", (int)len, socket, ends ? ".sock" : "") >=
	    size)
		return -ENAMETOOLONG;
	return 0;
}

static int ask_sockets(const char *socket, const struct ctl_request *rq, struct ctl_reply *ret)
{
	bool change = is_change(rq);
	char admin[sizeof(((struct sockaddr_un *)0)->sun_path) + 8];
	const struct ctl_place read_place = {.socket = socket}, admin_place = {.socket = admin};
	int r = admin_socket(socket, admin, sizeof(admin));

	if (r < 0)
		return r;
	r = ask_at(change ? &admin_place : &read_place, rq, ret);
	/* There may be no admin socket beside a socket that the user chose by --socket. The request
	 * then goes to the chosen socket, and the agent refuses it with an explanation if that
	 * socket allows no changes. */
	if (change && r == -ENOENT)
		return ask_at(&read_place, rq, ret);
	/* Users whom the configuration allows to make changes may also read. If they are not in the
	 * readers' group, they can do so only through the admin socket. */
	if (!change && (r == -EACCES || r == -EPERM)) {
		int second = ask_at(&admin_place, rq, ret);

		if (second != -ENOENT && second != -ECONNREFUSED)
			return second;
	}
	return r;
}

int ctl_http(const struct ctl_args *a, const struct ctl_request *rq, struct ctl_reply *ret)
{
	const struct ctl_place remote = {.remote = a->remote};

	return a->remote ? ask_at(&remote, rq, ret) : ask_sockets(a->socket, rq, ret);
}

const char *ctl_place(const struct ctl_args *a)
{
	return a->remote ? a->remote->place : a->socket;
}

static int no_permission_to_change(void)
{
	ctl_complain("no permission to make changes; only root and the users and groups in the "
		     "configuration's 'admin' may");
	return CTL_NO_PERMISSION;
}

int ctl_unreachable(const struct ctl_args *a, int error)
{
	struct ctl_silence s;

	if (error == -ENAMETOOLONG) {
		ctl_complain("the name of the socket or of the object is too long");
		return CTL_USAGE;
	}
	if (error == -ENOMEM) {
		ctl_complain("out of memory");
		return CTL_OS;
	}
	if (a->remote) {
		ctl_complain("%s", a->remote->why);
		return a->remote->exit;
	}
	if (error == -EFBIG) {
		ctl_complain("the answer from %s is larger than %u MiB: another program may answer "
			     "in the agent's place; see 'systemctl status plenumd'",
			     a->socket, REPLY_BYTES_MAX >> 20);
		return CTL_SOFTWARE;
	}
	ctl_explain_silence(a->socket, error, &s);
	ctl_complain("%s; %s", s.text, s.remedy);
	return s.state == CTL_AGENT_FORBIDDEN ? CTL_NO_PERMISSION : CTL_UNAVAILABLE;
}

static int exit_of_status(long status)
{
	if (status == 401 || status == 403)
		return CTL_NO_PERMISSION;
	if (status == 404)
		return CTL_NO_INPUT;
	if (status == 503)
		return CTL_UNAVAILABLE;
	return status >= 400 && status < 500 ? CTL_DATA : CTL_SOFTWARE;
}

/* Returns the exit status for a reply, by which scripts distinguish errors. The status depends on
 * the error's code if the reply has one, otherwise on the HTTP status. */
static int exit_of_reply(const struct ctl_reply *r)
{
	static const struct {
		const char *code;
		int exit;
	} codes[] = {{"rolled-back", CTL_ROLLED_BACK},
		     {"unverified", CTL_ROLLED_BACK},
		     {"not-served", CTL_UNSERVED},
		     {"waiting", CTL_BUSY},
		     {"another", CTL_BUSY},
		     {"not-yet", CTL_BUSY},
		     {"busy", CTL_BUSY}};
	json_t *o = json_loadb(r->body, r->len, 0, NULL);
	const char *code = ctl_text(o, "code");
	int e = exit_of_status(r->status);

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (strcmp(code, codes[i].code) == 0)
			e = codes[i].exit;
	json_decref(o);
	return e;
}

/* Prints the problem in the agent's reply (agent/api/rest/problem.h) as text or, with -j,
 * unchanged. */
static void complain_reply(const struct ctl_args *a, const struct ctl_reply *r)
{
	json_t *o = json_loadb(r->body, r->len, 0, NULL);
	const json_t *details = json_object_get(o, "details"), *line;
	const char *text = ctl_text(o, "detail");
	size_t i;

	if (a->json && o)
		ctl_put_json(o);
	if (!*text) {
		ctl_complain("the agent answered with HTTP status %ld", r->status);
	} else {
		ctl_complain("%s", text);
		json_array_foreach (details, i, line) {
			ctl_put(json_is_string(line) ? json_string_value(line) : "?", stderr);
			fputc('\n', stderr);
		}
	}
	json_decref(o);
}

int ctl_judge(const struct ctl_args *a, const struct ctl_reply *r)
{
	if (r->status >= 200 && r->status < 300)
		return CTL_OK;
	complain_reply(a, r);
	return exit_of_reply(r);
}

int ctl_failed(const struct ctl_args *a, const struct ctl_request *rq, int error)
{
	if (!a->remote && (error == -EACCES || error == -EPERM) && is_change(rq))
		return no_permission_to_change();
	return ctl_unreachable(a, error);
}

int ctl_ask(const struct ctl_args *a, const struct ctl_request *rq, struct ctl_reply *ret)
{
	struct ctl_reply reply;
	int r = ctl_http(a, rq, &reply);

	if (r < 0)
		return ctl_failed(a, rq, r);
	r = ctl_judge(a, &reply);
	if (r == CTL_OK)
		*ret = reply;
	else
		ctl_reply_done(&reply);
	return r;
}

json_t *ctl_parse_if_any(const struct ctl_reply *r)
{
	json_t *o = json_loadb(r->body, r->len, 0, NULL);

	if (json_is_object(o))
		return o;
	json_decref(o);
	return NULL;
}

json_t *ctl_parse(const struct ctl_request *rq, const struct ctl_reply *r)
{
	const struct resource *what = &resources[rq->resource];
	json_t *o = ctl_parse_if_any(r);

	if (!o) {
		ctl_complain("the agent's answer to %s %s is not a JSON object; see 'systemctl "
			     "status plenumd'",
			     what->method, what->path);
	} else if (rq->list && !json_is_array(json_object_get(o, rq->list))) {
		ctl_complain("the agent's answer to %s %s has no list '%s'; see 'systemctl status "
			     "plenumd'",
			     what->method, what->path, rq->list);
		json_decref(o);
		o = NULL;
	}
	return o;
}

int ctl_ask_json(const struct ctl_args *a, const struct ctl_request *rq, json_t **ret)
{
	struct ctl_reply reply;
	json_t *o;
	int r = ctl_ask(a, rq, &reply);

	if (r != CTL_OK)
		return r;
	o = ctl_parse(rq, &reply);
	ctl_reply_done(&reply);
	if (!o)
		return CTL_SOFTWARE;
	*ret = o;
	return CTL_OK;
}
