/* SPDX-License-Identifier: BSD-3-Clause */
/* Drives libcurl's multi interface from the event loop. */
#include "agent/cluster/store/http_client.h"
#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

#define CONNECTIONS_MAX 8L

struct http_call {
	struct http_client *client;
	CURL *curl;
	struct curl_slist *headers;
	char *body;
	struct http_request rq;
	char error[CURL_ERROR_SIZE];
	struct http_call *next;
};

struct http_client {
	struct loop *loop;
	CURLM *multi;
	struct loop_source *timer;
	struct http_call *calls;
};

/* ---- the event loop ---- */

/* Reports the requests that have ended. The search starts again after each report, because the
 * callback may begin or end other requests. */
static void reap(struct http_client *h)
{
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(h->multi, &left))) {
		const CURLcode e = m->data.result;
		enum cluster_trouble trouble = CLUSTER_FINE;
		struct http_call *c = NULL;
		struct http_request rq;
		char text[CURL_ERROR_SIZE];
		long status = 0;

		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&c);
		curl_easy_getinfo(m->easy_handle, CURLINFO_RESPONSE_CODE, &status);
		if (e == CURLE_PEER_FAILED_VERIFICATION || e == CURLE_SSL_CACERT_BADFILE)
			trouble = CLUSTER_CERTIFICATE;
		else if (e == CURLE_WRITE_ERROR)
			trouble = CLUSTER_WRONG;
		else if (e != CURLE_OK)
			trouble = CLUSTER_UNREACHABLE;
		snprintf(text, sizeof(text), "%s", c->error[0] ? c->error : curl_easy_strerror(e));
		rq = c->rq;
		http_call_free(c);
		rq.on_end(rq.user, trouble, status, text);
	}
}

static int on_socket_event(void *user, int fd, uint32_t revents)
{
	struct http_client *h = user;
	int running, what = 0;

	if (revents & (EPOLLIN | EPOLLHUP))
		what |= CURL_CSELECT_IN;
	if (revents & EPOLLOUT)
		what |= CURL_CSELECT_OUT;
	if (revents & EPOLLERR)
		what |= CURL_CSELECT_ERR;
	curl_multi_socket_action(h->multi, fd, what, &running);
	reap(h);
	return 0;
}

static int on_timer(void *user)
{
	struct http_client *h = user;
	int running;

	curl_multi_socket_action(h->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	reap(h);
	return 0;
}

/* libcurl calls this when it waits for other events of a socket, or has closed it. */
static int on_socket(CURL *curl, curl_socket_t fd, int what, void *user, void *assigned)
{
	struct http_client *h = user;
	struct loop_source *source = loop_source_free(assigned);
	uint32_t events = 0;

	if (what == CURL_POLL_IN || what == CURL_POLL_INOUT)
		events |= EPOLLIN;
	if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT)
		events |= EPOLLOUT;
	if (what != CURL_POLL_REMOVE &&
	    loop_add_fd(h->loop, fd, events, false, on_socket_event, h, &source) < 0)
		source = NULL; /* no event will arrive, so the request ends by its timeout */
	curl_multi_assign(h->multi, fd, source);
	return 0;
}

static int on_timeout(CURLM *multi, long ms, void *user)
{
	struct http_client *h = user;

	if (ms < 0)
		loop_timer_disarm(h->timer);
	else
		loop_timer_arm(h->timer, (uint64_t)ms * NSEC_PER_MSEC);
	return 0;
}

/* ---- requests ---- */

static size_t on_body(char *data, size_t size, size_t n, void *user)
{
	const struct http_call *c = user;
	long status = 0;

	curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
	return c->rq.on_data(c->rq.user, status, data, size * n) ? size * n : 0;
}

static int set_options(struct http_call *c)
{
	const struct http_request *rq = &c->rq;
	CURLcode e = CURLE_OK;

#define SET(option, value)                                                      \
	do {                                                                    \
		if (e == CURLE_OK)                                              \
			e = curl_easy_setopt(c->curl, CURLOPT_##option, value); \
	} while (0)
	SET(URL, rq->url);
	SET(PRIVATE, c);
	SET(ERRORBUFFER, c->error);
	SET(PROXY, ""); /* ignores the proxies in the environment */
	SET(PROTOCOLS_STR, "http,https");
	SET(HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(NOSIGNAL, 1L);
	SET(FOLLOWLOCATION, 0L);
	SET(HTTPHEADER, c->headers);
	SET(POSTFIELDS, c->body);
	SET(TIMEOUT, (long)rq->timeout_s);
	SET(CONNECTTIMEOUT, (long)rq->connect_timeout_s);
	SET(TCP_KEEPALIVE, 1L);
	SET(TCP_KEEPIDLE, 10L);
	SET(TCP_KEEPINTVL, 10L);
	SET(WRITEFUNCTION, on_body);
	SET(WRITEDATA, c);
	/* Without these two, libcurl would read the host's CA files, which this process cannot
	 * open. */
	SET(CAINFO, NULL);
	SET(CAPATH, NULL);
	if (rq->ca) {
		struct curl_blob ca = {
			.data = (void *)rq->ca, .len = strlen(rq->ca), .flags = CURL_BLOB_COPY};

		SET(CAINFO_BLOB, &ca);
	}
#undef SET
	return e == CURLE_OK ? 0 : -ENOMEM;
}

static int set_headers(struct http_call *c)
{
	struct curl_slist *list = curl_slist_append(NULL, "Content-Type: application/json");

	/* Without the empty header Expect, libcurl would wait for "100 Continue" before it sends a
	 * large body. */
	c->headers = list;
	list = list ? curl_slist_append(list, "Expect:") : NULL;
	for (size_t i = 0; list && i < ARRAY_SIZE(c->rq.headers) && c->rq.headers[i]; i++)
		list = curl_slist_append(list, c->rq.headers[i]);
	return list ? 0 : -ENOMEM;
}

int http_client_post(struct http_client *h, const struct http_request *rq, struct http_call **ret)
{
	struct http_call *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->client = h;
	c->rq = *rq;
	c->next = h->calls;
	h->calls = c;
	c->body = strdup(rq->body);
	c->curl = curl_easy_init();
	r = c->body && c->curl ? set_headers(c) : -ENOMEM;
	if (r == 0)
		r = set_options(c);
	if (r == 0 && curl_multi_add_handle(h->multi, c->curl) != CURLM_OK)
		r = -ENOMEM;
	if (r < 0) {
		http_call_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

struct http_call *http_call_free(struct http_call *c)
{
	if (!c)
		return NULL;
	for (struct http_call **at = &c->client->calls; *at; at = &(*at)->next)
		if (*at == c) {
			*at = c->next;
			break;
		}
	if (c->curl) {
		curl_multi_remove_handle(c->client->multi, c->curl);
		curl_easy_cleanup(c->curl);
	}
	curl_slist_free_all(c->headers);
	if (c->body)
		explicit_bzero(c->body, strlen(c->body));
	free(c->body);
	free(c);
	return NULL;
}

/* ---- lifetime ---- */

int http_client_prepare(void)
{
	return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? 0 : -EIO;
}

int http_client_new(struct loop *loop, struct http_client **ret)
{
	struct http_client *h = calloc(1, sizeof(*h));
	int r;

	if (!h)
		return -ENOMEM;
	h->loop = loop;
	h->multi = curl_multi_init();
	r = h->multi ? 0 : -ENOMEM;
	if (r == 0)
		r = loop_add_timer(loop, NSEC_PER_MSEC, on_timer, h, &h->timer);
	if (r < 0) {
		http_client_free(h);
		return r;
	}
	curl_multi_setopt(h->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(h->multi, CURLMOPT_SOCKETDATA, h);
	curl_multi_setopt(h->multi, CURLMOPT_TIMERFUNCTION, on_timeout);
	curl_multi_setopt(h->multi, CURLMOPT_TIMERDATA, h);
	curl_multi_setopt(h->multi, CURLMOPT_MAXCONNECTS, CONNECTIONS_MAX);
	*ret = h;
	return 0;
}

struct http_client *http_client_free(struct http_client *h)
{
	if (!h)
		return NULL;
	while (h->calls)
		http_call_free(h->calls);
	if (h->multi)
		curl_multi_cleanup(h->multi);
	loop_source_free(h->timer);
	free(h);
	return NULL;
}
