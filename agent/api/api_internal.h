/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the files of the unprivileged children. In order from the lowest: api_tell.c sends
 * messages to the monitor. api_answer.c passes answers to the HTTP library. api_page.c serves the
 * web page. api_login.c shows clients' tokens to the monitor. api_stream.c serves streams of
 * events. api_snapshot.c makes answers for many clients at once. api_request.c handles requests.
 * api_client.c keeps connections until the library gets them. api_tls.c connects TLS connections to
 * the library. api_http.c runs the library. api.c runs the event loop and receives the monitor's
 * messages. api_sandbox.c drops privileges.
 */
#ifndef PLENUM_AGENT_API_INTERNAL_H
#define PLENUM_AGENT_API_INTERNAL_H

#include "agent/api/rest/api_list.h"
#include "agent/api/rest/api_route.h"
#include "agent/api/rest/resource.h"
#include "agent/base/child/child_role.h"
#include "agent/base/loop.h"
#include <microhttpd.h>

struct api_snapshots;
struct api_streams;
struct api_stream;
struct tls_server;

struct api_client { /* a connection that the monitor has passed on */
	struct api *api;
	uint64_t id;
	int fd;	     /* -1: the library owns the descriptor */
	bool barred; /* the client may not read, so the monitor refuses all its requests */
	struct loop_source *source; /* watches the socket until the request head is complete */
	size_t n_discarded;
	bool refused; /* an error was sent; further bytes are read and discarded */
	struct api_client *next;
};

enum api_stage {
	API_LOGIN, /* suspended before its body is read, until the monitor has checked the token */
	API_LOGGED_IN, /* the monitor has answered; api_call.role may be none */
	API_READING,   /* the body is arriving */
	API_WAITING,   /* suspended until the monitor answers or there are events */
	API_ANSWERED,
	API_DROPPED /* the monitor has closed the connection */
};

struct api_call { /* a client's request */
	enum api_stage stage;
	struct MHD_Connection *connection;
	struct api_client *client;
	char *body;
	size_t body_len;
	bool no_memory;
	bool has_token;	       /* the client has shown a token */
	enum access_role role; /* role of a network client, by its token */
	bool head_only;	       /* the method is HEAD: as GET, but the answer has no body */
	bool asked;	       /* false: the request is held back until there are events */
	bool shared;	      /* waits for an answer of api_snapshot.c that several clients share */
	uint64_t generation;  /* value of api.generation when that wait began */
	uint64_t deadline_ns; /* valid while waiting */
	struct privsep_msg question;
	struct api_list list;	      /* the requested page of a list */
	char link[API_LIST_LINK_MAX]; /* value of the header Link; "": none */
	struct privsep_reply reply;
	int reply_fd;
	struct api_error error;	   /* http_status 0: there is no answer yet */
	struct api_stream *stream; /* NULL: the answer is not a stream */
	struct api_call *next;
};

struct api {
	enum privsep_role role;
	struct loop *loop;
	struct MHD_Daemon *daemon;
	int (*run)(struct api *a); /* lets the library do its work; set by api_http_open() */
	/* Handles the messages from the monitor that have arrived; set by api_main(). */
	void (*catch_up)(struct api *a);
	int ended; /* 1: the monitor has exited; negative errno: it sent an invalid message */
	struct api_client *clients,
		*arriving; /* the connection that is being passed to the library at this moment */
	struct api_call *waiting;
	struct api_streams *streams; /* NULL: no stream is open */
	struct api_snapshots *snapshots;
	struct tls_server *tls; /* NULL: clients connect by Unix sockets */
	uint64_t generation;	/* number of events and changes that the monitor has reported */
	struct loop_source *timer;
	/* number of the next event; instance to which the numbers belong */
	uint64_t next_event, instance;
};

/* ---- api_tell.c ---- */

/* Sends a message. Blocks while the socket is full, which ends soon because the monitor always
 * reads. */
int api_tell(struct privsep_msg *m, int fd);

/* ---- api_answer.c: each function passes the answer of a request to the library ---- */

/* Answers with the page that the client requested of the list in `text`. etag 0: a hash of the text
 * is the ETag. */
enum MHD_Result api_answer_page(struct api_call *c, const char *text, size_t len, uint64_t etag);
bool api_call_is_change(const struct api_call *c);
/* Queues rsp and releases it; NULL: memory is short. type and allow are header values; NULL: the
 * answer does not have that header. */
enum MHD_Result api_answer_queue(struct api_call *c, unsigned status, struct MHD_Response *rsp,
				 const char *type, const char *allow);
/* Adds the headers that all answers have. etag 0: without ETag. */
void api_answer_headers(struct MHD_Response *rsp, const char *type, const char *allow,
			uint64_t etag);
/* Returns an ETag made from the content; never 0. */
uint64_t api_answer_hash(const char *text, size_t len);
/* Returns whether the client already has this content, according to If-None-Match, which is a list
 * of ETags or *. */
bool api_answer_is_known(const struct api_call *c, uint64_t etag);
/* Answers without a body. */
enum MHD_Result api_answer_empty(struct api_call *c, unsigned status, const char *type,
				 const char *allow);
/* Answers with the error in c->error. */
enum MHD_Result api_answer_error(struct api_call *c);
enum MHD_Result api_answer_refuse(struct api_call *c, unsigned status, const char *code,
				  const char *text);
/* Answers with the monitor's reply in c->reply. */
enum MHD_Result api_answer_reply(struct api_call *c);
/* Answers with a document that this process makes without the monitor. */
enum MHD_Result api_answer_local(struct api_call *c, enum resource_local local);

/* ---- api_page.c ---- */

/* Answers requests for the web page. Also refuses a request, for the page or the API, whose header
 * Host has the name of another site; `host` is its value, NULL if it is absent. Returns false if
 * the request is for the API and was not refused. */
bool api_page_take(struct api_call *c, const struct api_request *rq, const char *host,
		   enum MHD_Result *ret);

/* ---- api_client.c ---- */

/* Begins to serve fd, a new connection, and becomes its owner. */
void api_client_accept(struct api *a, uint64_t connection, bool barred, int fd);
/* Returns whether this process has that connection. */
bool api_client_has(const struct api *a, uint64_t connection);
/* Closes a connection that the library does not own, or no longer owns, and frees cl. */
void api_client_gone(struct api_client *cl);
/* Closes and frees the connection with that number, unless the library owns it. */
void api_client_drop(struct api *a, uint64_t connection);

/* ---- api_login.c ---- */

/* Returns whether the client must show a token before its request is read. */
bool api_login_is_needed(const struct api *a, const struct api_call *c, const char *url);
/* Asks the monitor for the role of the client's token. The answer arrives as api_request_role(). */
int api_login_ask(struct api_call *c);
/* Answers a client without a role with an error. */
enum MHD_Result api_login_refuse(struct api_call *c);

/* ---- api_tls.c ---- */

int api_tls_open(struct api *a);
/* Handles the monitor's message with the certificate and its key. Becomes the owner of fd. */
void api_tls_take_files(struct api *a, const struct privsep_msg *m, int fd);

/* ---- api_request.c ---- */

/* The library calls this after the headers, for each piece of the body, at the end of the body, and
 * after a resume. user: struct api. */
enum MHD_Result api_request_take(void *user, struct MHD_Connection *connection, const char *url,
				 const char *method, const char *version, const char *data,
				 size_t *size, void **call);
/* The library calls this when the answer has been sent or the connection has ended. */
void api_request_done(void *user, struct MHD_Connection *connection, void **call,
		      enum MHD_RequestTerminationCode toe);
/* Handles the monitor's message with the role of a client that has shown a token. */
void api_request_role(struct api *a, const struct privsep_msg *m);
/* Handles the monitor's reply to a request. Becomes the owner of *fd. */
void api_request_reply(struct api *a, const struct privsep_msg *m, int *fd);
/* Call when there are new events, whose numbers are below `next`. Sends the requests that were held
 * back to the monitor. */
void api_request_note(struct api *a, uint64_t next);
/* Handles the monitor's answer to a question that this process asked for several clients. Becomes
 * the owner of fd. */
void api_request_seen(struct api *a, const struct privsep_msg *m, int fd);
/* Call when the monitor has shut down the connection. */
void api_request_drop(struct api *a, uint64_t connection);
/* Returns the earliest time limit of a waiting request, or UINT64_MAX if no request is waiting. */
uint64_t api_request_deadline(const struct api *a);
void api_request_tick(struct api *a, uint64_t now_ns);

/* ---- api_http.c ---- */

int api_http_open(struct api *a);
int api_http_run(struct api *a);

/* ---- api_sandbox.c ---- */

/* Enter and seal the sandbox, see sandbox.h. */
int api_sandbox_enter(void);
int api_sandbox_seal(enum privsep_role role);

#endif
