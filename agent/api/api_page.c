/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The web page. A browser reaches the page through a program that forwards a port to the Unix
 * socket, such as ssh -L. Any web site in the same browser could reach that port too, because a
 * site can make its own name resolve to the address. So only requests with a host name that no site
 * can have are answered.
 */
#include "agent/api/api_internal.h"
#include "agent/page/page.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

/* The browser loads and executes only the page's own files, and no other site can show the page in
 * a frame. */
#define POLICY                                                                                  \
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src " \
	"'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/* Returns whether the host is a name without a dot, or an address; a port may follow. NULL counts
 * as local: only an HTTP/1.0 client sends no host, and browsers do not use HTTP/1.0. */
static bool host_is_local(const char *host)
{
	unsigned char address[sizeof(struct in6_addr)];
	char name[64];
	size_t len;

	if (!host || !strchr(host, '.'))
		return true;
	if (*host == '[') {
		len = strcspn(++host, "]");
		if (host[len] != ']' || strchr(host + len, '.'))
			return false;
	} else {
		len = strcspn(host, ":");
	}
	if (len >= sizeof(name))
		return false;
	memcpy(name, host, len);
	name[len] = '\0';
	return inet_pton(host[len] == ']' ? AF_INET6 : AF_INET, name, address) == 1;
}

static int answer_file(struct api_call *c, const struct page_file *f)
{
	c->reply.etag = api_answer_hash(f->data, f->len);
	if (api_answer_is_known(c, c->reply.etag))
		return api_answer_empty(c, 304, NULL, NULL);
	return api_answer_static(c, 200, f->type,
				 "Content-Security-Policy: " POLICY
				 "\r\nX-Content-Type-Options: nosniff\r\n"
				 "Referrer-Policy: no-referrer\r\n",
				 f->data, f->len);
}

/* Returns whether the client wants the page. For the root path a browser gets the page, and a
 * program gets the list of documents. */
static bool wants_page(const char *path, const char *accept)
{
	return strcmp(path, "/") == 0 && accept && strstr(accept, "text/html");
}

bool api_page_take(struct api_call *c, const struct api_request *rq, const char *host, int *ret)
{
	const struct page_file *f = page_find(rq->path);

	/* With TLS the certificate proves the host's name, so that another site's name cannot lead
	 * here. */
	if (c->client->api->role != PRIVSEP_API_TLS && !host_is_local(host)) {
		*ret = api_answer_refuse(c, 421, "host",
					 "the header Host names another site; use an address or a "
					 "name without a dot, such as localhost");
	} else if (f && strcmp(rq->method, "GET") != 0) {
		c->error = (struct api_error){
			.http_status = 405, .code = "method", .allow = "GET, HEAD"};
		snprintf(c->error.message, sizeof(c->error.message), "%s takes GET, HEAD", f->path);
		*ret = api_answer_error(c);
	} else if (f) {
		*ret = answer_file(c, f);
	} else if (wants_page(rq->path, rq->accept)) {
		*ret = api_answer_static(c, 303, NULL, "Location: " PAGE_PATH "\r\n", "", 0);
	} else {
		return false;
	}
	return true;
}
