/* SPDX-License-Identifier: BSD-3-Clause */
/* The agent over its sockets. Apart so that the commands do not know which socket is for what, nor
 * how an answer becomes an exit status. */
#include "agent/ctl/ctl.h"

#include <string.h>
#include <sys/un.h>

/* plenumd.sock has plenumd-admin.sock beside it. */
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

int ctl_http(const char *socket, const struct ctl_request *rq, struct ctl_reply *ret)
{
	bool change = strcmp(rq->method, "GET") != 0;
	char admin[sizeof(((struct sockaddr_un *)0)->sun_path) + 8];
	int r = admin_socket(socket, admin, sizeof(admin));

	if (r < 0)
		return r;
	r = ctl_exchange(change ? admin : socket, rq, ret);
	/* The socket that was named may be the only one; it says itself what it does not do. */
	if (change && r == -ENOENT)
		return ctl_exchange(socket, rq, ret);
	/* Whom the configuration names may look too, without being in the group of readers. */
	if (!change && (r == -EACCES || r == -EPERM)) {
		int second = ctl_exchange(admin, rq, ret);

		if (second != -ENOENT && second != -ECONNREFUSED)
			return second;
	}
	return r;
}

static int no_permission_to_change(void)
{
	ctl_complain("no permission to make changes; they are for root, and for the users and "
		     "groups that the configuration names under 'admin'");
	return CTL_NO_PERMISSION;
}

int ctl_unreachable(const struct ctl_args *a, int error)
{
	switch (error) {
	case -ENOENT:
	case -ECONNREFUSED:
		ctl_complain("no agent answers on %s; start it with 'systemctl start plenumd', or "
			     "name its socket with --socket",
			     a->socket);
		return CTL_UNAVAILABLE;
	case -EACCES:
	case -EPERM:
		ctl_complain("no permission to use %s; run this as root or as a member of the "
			     "group plenum",
			     a->socket);
		return CTL_NO_PERMISSION;
	case -ENAMETOOLONG:
		ctl_complain("the name of the socket or of the object is too long");
		return CTL_USAGE;
	case -ENOMEM:
		ctl_complain("out of memory");
		return CTL_OS;
	case -ETIMEDOUT:
		ctl_complain("the agent on %s does not answer in time", a->socket);
		return CTL_UNAVAILABLE;
	default:
		ctl_complain("the agent on %s cannot be asked: %s", a->socket, strerror(-error));
		return CTL_UNAVAILABLE;
	}
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

/* What a script may want to tell apart is told by the code of the error, else by its status. */
static int exit_of_reply(const struct ctl_reply *r)
{
	static const struct {
		const char *code;
		int exit;
	} codes[] = {{"rolled-back", CTL_ROLLED_BACK},
		     {"unverified", CTL_ROLLED_BACK},
		     {"waiting", CTL_BUSY},
		     {"another", CTL_BUSY},
		     {"not-yet", CTL_BUSY},
		     {"busy", CTL_BUSY}};
	json_t *o = json_loadb(r->body, r->len, 0, NULL);
	const char *code = ctl_text(json_object_get(o, "error"), "code");
	int e = exit_of_status(r->status);

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (strcmp(code, codes[i].code) == 0)
			e = codes[i].exit;
	json_decref(o);
	return e;
}

/* The agent's {"error": {...}} for people, or as it is for programs. */
static void complain_reply(const struct ctl_args *a, const struct ctl_reply *r)
{
	json_t *o = json_loadb(r->body, r->len, 0, NULL);
	const json_t *error = json_object_get(o, "error");
	const json_t *details = json_object_get(error, "details"), *line;
	size_t i;

	if (a->json && o)
		ctl_put_json(o);
	if (!json_is_object(error)) {
		ctl_complain("the agent answered with HTTP status %ld", r->status);
	} else {
		ctl_complain("%s", ctl_text(error, "message"));
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

int ctl_ask(const struct ctl_args *a, const struct ctl_request *rq, struct ctl_reply *ret)
{
	struct ctl_reply reply;
	int r = ctl_http(a->socket, rq, &reply);

	if ((r == -EACCES || r == -EPERM) && strcmp(rq->method, "GET") != 0)
		return no_permission_to_change();
	if (r < 0)
		return ctl_unreachable(a, r);
	r = ctl_judge(a, &reply);
	if (r == CTL_OK)
		*ret = reply;
	else
		ctl_reply_done(&reply);
	return r;
}

int ctl_ask_json(const struct ctl_args *a, const struct ctl_request *rq, json_t **ret)
{
	struct ctl_reply reply;
	json_t *o;
	int r = ctl_ask(a, rq, &reply);

	if (r != CTL_OK)
		return r;
	o = json_loadb(reply.body, reply.len, 0, NULL);
	ctl_reply_done(&reply);
	if (!o) {
		ctl_complain("the agent's answer to %s %s is not JSON", rq->method, rq->path);
		return CTL_SOFTWARE;
	}
	*ret = o;
	return CTL_OK;
}
