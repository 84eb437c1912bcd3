/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements the operations of the store by etcd's JSON gateway (v3). If an endpoint does not give
 * an answer of etcd, or etcd cannot carry out the request at the moment, the request is sent to the
 * next endpoint, once to each. A watch stays on one endpoint; the caller gets its end as an event.
 */
#include "agent/cluster/store/etcd_json.h"
#include "agent/cluster/store/http_client.h"
#include <stdio.h>
#include <string.h>

#define REQUEST_TIMEOUT_S 5
#define CONNECT_TIMEOUT_S 3U
#define LINE_BYTES_MAX (1U << 20) /* maximum length of one event of a watch */
#define URL_MAX (CLUSTER_URL_MAX + 64)

struct request {
	struct kv *kv;
	enum etcd_call call;
	char *body;
	bool logs_in; /* this transfer is a login; the request itself follows */
	bool renewed; /* the token was renewed for this request */
	bool too_large;
	size_t endpoint, n_tries;
	struct http_call *http;
	char *text; /* the part of the answer that has arrived */
	size_t len;
	kv_answer_cb cb;
	void *user;
	struct request *next;
};

struct watch {
	struct http_call *http; /* NULL: no watch has begun, or its stream has ended */
	bool active, ended;
	/* counts the watches of this object, to notice that a callback has replaced the watch */
	unsigned number;
	char *text; /* received bytes that are not handled yet */
	size_t len;
	long status;
	enum cluster_trouble trouble; /* why the stream has ended */
	char why[CLUSTER_TEXT_MAX];
	kv_answer_cb cb;
	void *user;
	struct loop_source *deliver;
};

struct kv {
	struct http_client *client;
	char *endpoints[KV_ENDPOINTS_MAX];
	size_t n_endpoints, current;
	bool answered; /* the current endpoint has answered */
	unsigned timeout_s, connect_timeout_s;
	char *ca, *user, *password;
	char token_header[ETCD_TOKEN_MAX + 24]; /* "": no token yet, or no authentication */
	struct request *requests;
	struct watch watch;
};

/* ---- requests ---- */

static void request_free(struct request *q)
{
	for (struct request **at = &q->kv->requests; *at; at = &(*at)->next)
		if (*at == q) {
			*at = q->next;
			break;
		}
	http_call_free(q->http);
	if (q->body)
		explicit_bzero(q->body, strlen(q->body));
	free(q->body);
	free(q->text);
	free(q);
}

static void finish(struct request *q, struct kv_answer *a)
{
	const kv_answer_cb cb = q->cb;
	void *user = q->user;

	request_free(q);
	cb(user, a);
	kv_answer_done(a);
}

/* Appends to a text of at most `max` bytes. Returns false if it would be longer, or memory is
 * short. */
static bool append(char **text, size_t *len, const char *data, size_t n, size_t max)
{
	char *longer;

	if (n > max - *len)
		return false;
	longer = realloc(*text, *len + n + 1);
	if (!longer)
		return false;
	memcpy(longer + *len, data, n);
	*len += n;
	longer[*len] = '\0';
	*text = longer;
	return true;
}

static bool on_request_data(void *user, long status, const char *data, size_t len)
{
	struct request *q = user;

	(void)status;
	q->too_large = len > KV_ANSWER_BYTES_MAX - q->len;
	return append(&q->text, &q->len, data, len, KV_ANSWER_BYTES_MAX);
}

static void on_request_end(void *user, enum cluster_trouble trouble, long status, const char *text);

/* Sends the request, or the login that must precede it, to its endpoint. */
static int transfer(struct request *q)
{
	struct kv *kv = q->kv;
	autofree char *login = NULL;
	char url[URL_MAX];
	struct http_request rq = {.url = url,
				  .body = q->body,
				  .ca = kv->ca,
				  .timeout_s = kv->timeout_s,
				  .connect_timeout_s = kv->connect_timeout_s,
				  .on_data = on_request_data,
				  .on_end = on_request_end,
				  .user = q};
	int r;

	q->logs_in = kv->user && !kv->token_header[0];
	if (q->logs_in && !(rq.body = login = etcd_login_request(kv->user, kv->password)))
		return -ENOMEM;
	if (kv->token_header[0])
		rq.headers[0] = kv->token_header;
	snprintf(url, sizeof(url), "%s%s", kv->endpoints[q->endpoint],
		 etcd_path(q->logs_in ? ETCD_LOGIN : q->call));
	free(ptr_take(q->text));
	q->len = 0;
	r = http_client_post(kv->client, &rq, &q->http);
	if (login)
		explicit_bzero(login, strlen(login));
	return r;
}

/* Tries the next endpoint. Returns false if all have been tried. */
static bool try_next(struct request *q)
{
	struct kv *kv = q->kv;

	if (kv->current == q->endpoint) {
		kv->current = (kv->current + 1) % kv->n_endpoints;
		kv->answered = false;
	}
	q->endpoint = (q->endpoint + 1) % kv->n_endpoints;
	return ++q->n_tries < kv->n_endpoints && transfer(q) == 0;
}

/* Sends the next transfer of the request: itself after a login, or a login. Returns true if that
 * failed, which ends the request. */
static bool ends_again(struct request *q, struct kv_answer *a)
{
	if (transfer(q) == 0)
		return false;
	a->trouble = CLUSTER_UNREACHABLE;
	snprintf(a->text, sizeof(a->text), "out of memory");
	return true;
}

/* Handles the answer to a login or to the request itself. Returns whether the request has ended. */
static bool take_answer(struct request *q, long status, struct kv_answer *a)
{
	struct kv *kv = q->kv;
	char token[ETCD_TOKEN_MAX] = "";
	bool expired = etcd_parse(q->logs_in ? ETCD_LOGIN : q->call, status, q->text ? q->text : "",
				  q->len, a, token);

	if (a->trouble == CLUSTER_FINE) {
		kv->current = q->endpoint;
		kv->answered = true;
	}
	if (q->logs_in && a->trouble == CLUSTER_FINE) {
		snprintf(kv->token_header, sizeof(kv->token_header), "Authorization: %s", token);
		return ends_again(q, a);
	}
	if (expired && !q->logs_in && !q->renewed && kv->user) {
		q->renewed = true;
		kv->token_header[0] = '\0';
		return ends_again(q, a);
	}
	/* Another endpoint may be a working etcd, even if this one is unreachable or another
	 * program. */
	return (a->trouble != CLUSTER_UNREACHABLE && a->trouble != CLUSTER_WRONG) || !try_next(q);
}

static void on_request_end(void *user, enum cluster_trouble trouble, long status, const char *text)
{
	struct request *q = user;
	struct kv_answer a = {.trouble = trouble};

	q->http = NULL;
	if (trouble == CLUSTER_FINE) {
		if (take_answer(q, status, &a))
			finish(q, &a);
		else
			kv_answer_done(&a);
		return;
	}
	snprintf(a.text, sizeof(a.text), "%s: %.100s", q->kv->endpoints[q->endpoint], text);
	if (q->too_large) { /* the answer of any other endpoint would be as large */
		a.trouble = CLUSTER_WRONG;
		a.too_large = true;
		snprintf(a.text, sizeof(a.text), "the answer has more than %u MiB",
			 KV_ANSWER_BYTES_MAX >> 20);
	}
	if (q->too_large || !try_next(q))
		finish(q, &a);
}

/* Begins a request. Becomes the owner of the body, which may be NULL if memory is short. */
static int begin(struct kv *kv, enum etcd_call call, char *body, kv_answer_cb cb, void *user)
{
	struct request *q = body ? calloc(1, sizeof(*q)) : NULL;
	int r;

	if (!q) {
		free(body);
		return -ENOMEM;
	}
	*q = (struct request){.kv = kv,
			      .call = call,
			      .body = body,
			      .endpoint = kv->current,
			      .cb = cb,
			      .user = user,
			      .next = kv->requests};
	kv->requests = q;
	r = transfer(q);
	if (r < 0)
		request_free(q);
	return r;
}

static int etcd_range(struct kv *kv, const struct kv_range *r, kv_answer_cb cb, void *user)
{
	return begin(kv, ETCD_RANGE, etcd_range_request(r), cb, user);
}

static int etcd_txn(struct kv *kv, const struct kv_txn *t, kv_answer_cb cb, void *user)
{
	return begin(kv, ETCD_TXN, etcd_txn_request(t), cb, user);
}

static int etcd_grant(struct kv *kv, uint64_t ttl_s, kv_answer_cb cb, void *user)
{
	return begin(kv, ETCD_GRANT, etcd_grant_request(ttl_s), cb, user);
}

static int etcd_renew(struct kv *kv, uint64_t lease, kv_answer_cb cb, void *user)
{
	return begin(kv, ETCD_RENEW, etcd_renew_request(lease), cb, user);
}

/* ---- the watch ---- */

/* Passes an event to the callback. Returns whether the watch still exists, because the callback may
 * have ended or replaced it. */
static bool report(struct kv *kv, struct kv_answer *a)
{
	struct watch *w = &kv->watch;
	const unsigned was = w->number;
	const bool is_last = a->trouble != CLUSTER_FINE || a->compacted;

	if (is_last)
		kv_etcd.unwatch(kv);
	if (is_last || a->n_pairs > 0)
		w->cb(w->user, a);
	kv_answer_done(a);
	return !is_last && w->active && w->number == was;
}

/* Handles the complete lines that have arrived. The event loop calls this, not libcurl, because the
 * callbacks may begin and end requests. */
static int on_deliver(void *user)
{
	struct kv *kv = user;
	struct watch *w = &kv->watch;
	struct kv_answer a;
	char *end;

	while (w->active && w->text && (end = memchr(w->text, '\n', w->len))) {
		const size_t n = (size_t)(end - w->text);

		(void)etcd_parse(ETCD_WATCH, w->status, w->text, n, &a, NULL);
		w->len -= n + 1;
		memmove(w->text, end + 1, w->len + 1);
		if (!report(kv, &a))
			return 0;
	}
	if (!w->active || !w->ended)
		return 0;
	a = (struct kv_answer){.trouble = w->trouble};
	if (w->trouble == CLUSTER_FINE && w->len > 0)
		(void)etcd_parse(ETCD_WATCH, w->status, w->text, w->len, &a, NULL);
	if (a.trouble == CLUSTER_FINE) {
		a.trouble = CLUSTER_UNREACHABLE;
		snprintf(a.text, sizeof(a.text), "the store closed the watch");
	} else if (!a.text[0]) {
		memcpy(a.text, w->why, sizeof(a.text));
	}
	(void)report(kv, &a);
	return 0;
}

static bool on_watch_data(void *user, long status, const char *data, size_t len)
{
	struct kv *kv = user;
	struct watch *w = &kv->watch;

	w->status = status;
	loop_timer_arm(w->deliver, 0);
	return append(&w->text, &w->len, data, len, LINE_BYTES_MAX);
}

static void on_watch_end(void *user, enum cluster_trouble trouble, long status, const char *text)
{
	struct kv *kv = user;
	struct watch *w = &kv->watch;

	w->http = NULL;
	w->ended = true;
	w->trouble = trouble;
	w->status = status;
	snprintf(w->why, sizeof(w->why), "%.*s", CLUSTER_TEXT_MAX - 1, text);
	loop_timer_arm(w->deliver, 0);
}

static void etcd_unwatch(struct kv *kv)
{
	struct watch *w = &kv->watch;

	w->http = http_call_free(w->http);
	loop_timer_disarm(w->deliver);
	free(ptr_take(w->text));
	w->len = 0;
	w->active = w->ended = false;
}

static int etcd_watch(struct kv *kv, const char *const *keys, size_t n, uint64_t revision,
		      kv_answer_cb cb, void *user)
{
	autofree char *body = etcd_watch_request(keys, n, revision);
	struct watch *w = &kv->watch;
	char url[URL_MAX];
	/* Without the header hasleader, a member that has lost contact with the others would never
	 * end the watch. */
	const struct http_request rq = {.url = url,
					.body = body,
					.headers = {"Grpc-Metadata-hasleader: true",
						    kv->token_header[0] ? kv->token_header : NULL},
					.ca = kv->ca,
					.connect_timeout_s = kv->connect_timeout_s,
					.on_data = on_watch_data,
					.on_end = on_watch_end,
					.user = kv};
	int r;

	etcd_unwatch(kv);
	if (!body)
		return -ENOMEM;
	snprintf(url, sizeof(url), "%s%s", kv->endpoints[kv->current], etcd_path(ETCD_WATCH));
	w->cb = cb;
	w->user = user;
	w->number++;
	r = http_client_post(kv->client, &rq, &w->http);
	w->active = r == 0;
	return r;
}

/* ---- lifetime ---- */

static struct kv *etcd_close(struct kv *kv)
{
	if (!kv)
		return NULL;
	if (kv->watch.deliver)
		etcd_unwatch(kv);
	while (kv->requests)
		request_free(kv->requests);
	loop_source_free(kv->watch.deliver);
	http_client_free(kv->client);
	for (size_t i = 0; i < kv->n_endpoints; i++)
		free(kv->endpoints[i]);
	if (kv->password)
		explicit_bzero(kv->password, strlen(kv->password));
	free(kv->password);
	free(kv->user);
	free(kv->ca);
	explicit_bzero(kv->token_header, sizeof(kv->token_header));
	free(kv);
	return NULL;
}

static int copy(const char *text, char **ret)
{
	*ret = text ? strdup(text) : NULL;
	return text && !*ret ? -ENOMEM : 0;
}

static int etcd_open(const struct kv_setup *setup, struct kv **ret)
{
	struct kv *kv = calloc(1, sizeof(*kv));
	int r = kv ? http_client_new(setup->loop, &kv->client) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < MIN_OF(setup->n_endpoints, KV_ENDPOINTS_MAX); i++) {
		r = copy(setup->endpoints[i], &kv->endpoints[i]);
		kv->n_endpoints += r == 0;
	}
	if (r == 0 && kv->n_endpoints == 0)
		r = -EINVAL;
	if (r == 0) {
		kv->timeout_s = setup->timeout_s ? setup->timeout_s : REQUEST_TIMEOUT_S;
		kv->connect_timeout_s = MIN_OF(kv->timeout_s, CONNECT_TIMEOUT_S);
	}
	if (r == 0)
		r = copy(setup->ca, &kv->ca);
	if (r == 0)
		r = copy(setup->user, &kv->user);
	if (r == 0)
		r = copy(setup->password ? setup->password : "", &kv->password);
	if (r == 0)
		r = loop_add_timer(setup->loop, NSEC_PER_MSEC, on_deliver, kv, &kv->watch.deliver);
	if (r < 0) {
		etcd_close(kv);
		return r;
	}
	*ret = kv;
	return 0;
}

static const char *etcd_endpoint(const struct kv *kv)
{
	return kv->answered ? kv->endpoints[kv->current] : "";
}

const struct kv_ops kv_etcd = {
	.open = etcd_open,
	.close = etcd_close,
	.range = etcd_range,
	.txn = etcd_txn,
	.grant = etcd_grant,
	.renew = etcd_renew,
	.watch = etcd_watch,
	.unwatch = etcd_unwatch,
	.endpoint = etcd_endpoint,
};
