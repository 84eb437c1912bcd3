/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the files of the unprivileged children. From the lowest to the highest: api_tell.c
 * sends messages to the monitor, api_answer.c gives answers to the HTTP library, api_page.c the
 * web page, api_login.c shows clients' tokens to the monitor, api_stream.c serves streams of
 * events, api_snapshot.c answers that many clients get, api_request.c takes requests, api_client.c
 * connections before the library has them, api_tls.c those with TLS, api_http.c runs the library,
 * api.c has the loop and the monitor's messages. api_sandbox.c drops privileges.
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

struct api_client { /* one connection handed over by the monitor */
	struct api *api;
	uint64_t id;
	int fd;	     /* -1 once the library owns it */
	bool barred; /* without the right to read: the monitor refuses each request */
	struct loop_source *source; /* until its head is complete */
	size_t n_discarded;
	bool refused; /* answered; further bytes are read and discarded */
	struct api_client *next;
};

enum api_stage {
	API_LOGIN, /* suspended before the body, until the monitor says what the client may do */
	API_LOGGED_IN, /* or not: see api_call.role */
	API_READING,   /* the body arrives */
	API_WAITING,   /* suspended, waiting for the monitor or for events */
	API_ANSWERED,
	API_DROPPED /* by the monitor */
};

struct api_call { /* the request of a client */
	enum api_stage stage;
	struct MHD_Connection *connection;
	struct api_client *client;
	char *body;
	size_t body_len;
	bool no_memory;
	bool has_token;	       /* the client has shown one */
	enum access_role role; /* of a client of the network, by its token */
	bool head_only;	       /* HEAD: the answer to GET without its body */
	bool asked;	       /* false: held back until there are events */
	bool shared;	       /* waits for an answer that other clients get too */
	uint64_t generation;   /* of api.generation, when it began to wait for that */
	uint64_t deadline_ns;  /* while waiting */
	struct privsep_msg question;
	struct api_list list;	      /* the page of the answer's list */
	char link[API_LIST_LINK_MAX]; /* header Link; "": none */
	struct privsep_reply reply;
	int reply_fd;
	struct api_error error;	   /* http_status 0: no answer yet */
	struct api_stream *stream; /* NULL: the answer ends */
	struct api_call *next;
};

struct api {
	enum privsep_role role;
	struct loop *loop;
	struct MHD_Daemon *daemon;
	int (*run)(struct api *a); /* lets the library work; set by api_http_open() */
	/* Handles the monitor's messages that have arrived; set by api_main(). */
	void (*catch_up)(struct api *a);
	int ended; /* 1: the monitor has exited; negative errno: it sent an invalid message */
	struct api_client *clients,
		*arriving; /* the connection that is being passed to the library */
	struct api_call *waiting;
	struct api_streams *streams; /* NULL: none is open */
	struct api_snapshots *snapshots;
	struct tls_server *tls; /* NULL: clients come by Unix sockets */
	uint64_t generation;	/* counts the events and changes that the monitor has reported */
	struct loop_source *timer;
	uint64_t next_event, instance; /* number of the monitor's latest event */
};

/* ---- api_tell.c ---- */

/* Blocks while the monitor does not read: it always does, sooner or later. */
int api_tell(struct privsep_msg *m, int fd);

/* ---- api_answer.c: each queues the one answer of the request ---- */

/* Answers with the page of the list in the text that the client asks for. etag 0: a hash. */
enum MHD_Result api_answer_page(struct api_call *c, const char *text, size_t len, uint64_t etag);
bool api_call_is_change(const struct api_call *c);
/* Takes rsp; NULL: out of memory. type, allow NULL: the answer has none. */
enum MHD_Result api_answer_queue(struct api_call *c, unsigned status, struct MHD_Response *rsp,
				 const char *type, const char *allow);
/* Adds the headers of every answer; etag 0: none. */
void api_answer_headers(struct MHD_Response *rsp, const char *type, const char *allow,
			uint64_t etag);
/* The ETag of that content; not 0. */
uint64_t api_answer_hash(const char *text, size_t len);
/* Whether the client has this content already. If-None-Match is a list of ETags, or *. */
bool api_answer_is_known(const struct api_call *c, uint64_t etag);
/* An answer without a body. */
enum MHD_Result api_answer_empty(struct api_call *c, unsigned status, const char *type,
				 const char *allow);
/* The error in c->error. */
enum MHD_Result api_answer_error(struct api_call *c);
enum MHD_Result api_answer_refuse(struct api_call *c, unsigned status, const char *code,
				  const char *text);
/* The reply in c->reply. */
enum MHD_Result api_answer_reply(struct api_call *c);
/* A document that this process makes, without the monitor. */
enum MHD_Result api_answer_local(struct api_call *c, enum resource_local local);

/* ---- api_page.c ---- */

/* Answers requests for the web page, and refuses those for the name of another site, whatever they
 * ask for; host: the header, or NULL. False: the request is for the API. */
bool api_page_take(struct api_call *c, const struct api_request *rq, const char *host,
		   enum MHD_Result *ret);

/* ---- api_client.c ---- */

/* Takes fd. */
void api_client_accept(struct api *a, uint64_t connection, bool barred, int fd);
/* Whether that connection is here. */
bool api_client_has(const struct api *a, uint64_t connection);
/* Closes a connection that the library does not own (any more), and frees cl. */
void api_client_gone(struct api_client *cl);
/* Closes and frees the connection with that number, unless the library owns it. */
void api_client_drop(struct api *a, uint64_t connection);

/* ---- api_login.c ---- */

/* Whether the client must say who it is before its request is read. */
bool api_login_is_needed(const struct api *a, const struct api_call *c, const char *url);
/* Asks the monitor for the role of the client's token; its answer is api_login_take(). */
int api_login_ask(struct api_call *c);
/* Refuses a client without a role. */
enum MHD_Result api_login_refuse(struct api_call *c);

/* ---- api_tls.c ---- */

int api_tls_open(struct api *a);
/* The certificate and its key, from the monitor. */
void api_tls_take_files(struct api *a, const struct privsep_msg *m, int fd);

/* ---- api_request.c ---- */

/* The library calls it after the headers, for each piece of the body, at its end, and after a
 * resume; user: struct api. */
enum MHD_Result api_request_take(void *user, struct MHD_Connection *connection, const char *url,
				 const char *method, const char *version, const char *data,
				 size_t *size, void **call);
/* The library calls it when the answer has been sent, or the connection has ended. */
void api_request_done(void *user, struct MHD_Connection *connection, void **call,
		      enum MHD_RequestTerminationCode toe);
/* The role of the client whose token was shown. */
void api_request_role(struct api *a, const struct privsep_msg *m);
/* The monitor's reply. Takes *fd. */
void api_request_reply(struct api *a, const struct privsep_msg *m, int *fd);
/* There are events: asks for the requests that wait for them. */
void api_request_note(struct api *a, uint64_t next);
/* The monitor's answer to a question of this process. */
void api_request_seen(struct api *a, const struct privsep_msg *m, int fd);
/* The monitor has shut down the connection. */
void api_request_drop(struct api *a, uint64_t connection);
/* When the next request has waited for too long; UINT64_MAX: none waits. */
uint64_t api_request_deadline(const struct api *a);
void api_request_tick(struct api *a, uint64_t now_ns);

/* ---- api_http.c ---- */

int api_http_open(struct api *a);
int api_http_run(struct api *a);

/* ---- api_sandbox.c ---- */

/* The first and the last step of the sandbox, as in sandbox.h. */
int api_sandbox_enter(void);
int api_sandbox_seal(enum privsep_role role);

#endif
