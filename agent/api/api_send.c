/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends answers to clients: the head and the body with one system call, and the rest when the
 * socket takes more. */
#include "agent/api/api_internal.h"
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

struct api_text *api_text_new(char *text, size_t len)
{
	struct api_text *t = malloc(sizeof(*t));

	if (!t) {
		free(text);
		return NULL;
	}
	*t = (struct api_text){.refs = 1, .len = len, .text = text};
	return t;
}

struct api_text *api_text_ref(struct api_text *t)
{
	t->refs++;
	return t;
}

struct api_text *api_text_unref(struct api_text *t)
{
	if (t && --t->refs == 0) {
		free(t->text);
		free(t);
	}
	return NULL;
}

bool api_send_is_pending(const struct api_client *cl)
{
	return cl->out.sent < cl->out.head_len + cl->out.body_len;
}

void api_send_done(struct api_client *cl)
{
	free(cl->out.head);
	api_text_unref(cl->out.text);
	cl->out = (struct api_out){.head = NULL};
	cl->blocked_ns = 0;
}

void api_send_begin(struct api_client *cl, char *head, struct api_text *text, const char *body,
		    size_t body_len)
{
	api_send_done(cl);
	cl->out = (struct api_out){.head = head,
				   .head_len = head ? strlen(head) : 0,
				   .body = body,
				   .body_len = body_len,
				   .text = text ? api_text_ref(text) : NULL};
}

int api_send_flush(struct api_client *cl)
{
	struct api_out *o = &cl->out;

	while (api_send_is_pending(cl)) {
		const size_t from_head = MIN_OF(o->sent, o->head_len),
			     from_body = o->sent - from_head;
		struct iovec parts[2];
		struct msghdr m = {.msg_iov = parts};
		ssize_t n;

		if (from_head < o->head_len)
			parts[m.msg_iovlen++] =
				(struct iovec){o->head + from_head, o->head_len - from_head};
		if (from_body < o->body_len)
			parts[m.msg_iovlen++] = (struct iovec){
				(void *)(uintptr_t)(o->body + from_body), o->body_len - from_body};
		n = sendmsg(cl->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			if (!cl->blocked_ns)
				cl->blocked_ns = clock_now_ns();
			return 0;
		}
		if (n < 0)
			return -errno;
		o->sent += (size_t)n;
		cl->blocked_ns = 0;
	}
	api_send_done(cl);
	return 1;
}
