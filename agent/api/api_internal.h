/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the files of the unprivileged children. In order from the lowest: api_tell.c sends
 * messages to the monitor. api_send.c sends answers to clients. api_answer.c makes answers.
 * api_page.c serves the web page. api_login.c shows clients' tokens to the monitor. api_stream.c
 * serves streams of events. api_snapshot.c makes answers for many clients at once. api_request.c
 * handles requests. api_client.c has the connections and reads requests from them, api_tls.c those
 * with TLS. api_run.c runs the connections that have something to do. api_sandbox.c drops
 * privileges. api.c has the event loop and the monitor's messages.
 */
#ifndef PLENUM_AGENT_API_INTERNAL_H
#define PLENUM_AGENT_API_INTERNAL_H

#include "agent/api/api_head.h"
#include "agent/api/rest/api_list.h"
#include "agent/api/rest/api_route.h"
#include "agent/api/rest/resource.h"
#include "agent/base/child/child_role.h"
#include "agent/base/loop.h"

struct api_snapshots;
struct api_streams;
struct api_stream;
struct tls_server;

/* Maximum number of requests on a connection. The answer to the last one closes the connection. */
#define API_REQUESTS_MAX 1000
/* Time limit for an answer of the monitor to a read. */
#define API_ANSWER_LIMIT_NS (90 * NSEC_PER_SEC)

struct api_text { /* an answer's body, which several connections may be sending */
	unsigned refs;
	size_t len;
	char *text;
};

struct api_out { /* data that the client has not received yet */
	char *head;
	size_t head_len;
	const char *body; /* points into `text`, or to static bytes */
	/* sent: number of bytes of head and body that the socket has taken */
	size_t body_len, sent;
	struct api_text *text; /* NULL: the body is static */
};

struct api_client { /* a connection that the monitor has passed on */
	struct api *api;
	uint64_t id;
	int fd;
	bool barred;		 /* has no right to read, so the monitor refuses all its requests */
	bool readable;		 /* the socket may have bytes to receive */
	bool half_closed, ended; /* half_closed: the kernel has reported that the client sends
				    nothing more; ended: all its bytes were received */
	bool wants_room;	 /* waits for an event until the socket takes more bytes */
	bool closing;		 /* the current answer is the last one */
	bool discarding;	 /* the last answer was sent; further bytes are discarded */
	bool dropped;		 /* the connection must be closed without an answer */
	bool gone;		 /* the client has closed the connection */
	bool is_ready;		 /* is in the list api.ready */
	/* The monitor knows of the request, so this process must report the end of the request. */
	bool monitor_waits;
	uint64_t told_ns;    /* time of the last PRIVSEP_NEXT */
	uint64_t blocked_ns; /* time since which the socket is full; 0: it is not full */
	unsigned n_requests;
	size_t n_discarded;
	/* For a network client: the hash of its last token, and the monitor's answer to that
	 * token. */
	uint8_t login_hash[ACCESS_HASH_BYTES];
	enum access_role login_role; /* ACCESS_NONE: the monitor has given none */
	uint64_t login_generation;   /* value of api.generation when the monitor answered */
	struct loop_source *source;
	char *in; /* received bytes that no request has consumed yet; NULL: all bytes are
		     consumed */
	size_t in_len;
	struct api_out out;
	struct api_call *call; /* the current request; NULL: the connection waits for a request */
	struct api_client *next, *next_ready;
};

enum api_stage {
	API_LOGIN,     /* waits until the monitor has checked the token, before the body is read */
	API_LOGGED_IN, /* the monitor has answered; api_call.role may be none */
	API_READING,   /* the body is arriving */
	API_WAITING,   /* waits until the monitor answers or there are events */
	API_REPLIED,   /* the monitor has answered, or the time limit is over */
	API_ANSWERED   /* the answer is being sent */
};

struct api_call { /* a client's request */
	enum api_stage stage;
	struct api_client *client;
	char *body;
	size_t body_len;
	bool has_token;	       /* the client has shown a token */
	enum access_role role; /* role of a network client, by its token */
	bool head_only;	       /* the method is HEAD: as GET, but the answer has no body */
	bool asked;	       /* the request was sent to the monitor */
	bool shared;	       /* waits for an answer that is made for several clients */
	/* value of api.generation when the call began to wait for the shared answer */
	uint64_t generation;
	uint64_t deadline_ns; /* valid while waiting */
	struct privsep_msg question;
	struct api_list list;	      /* the requested page of a list */
	char link[API_LIST_LINK_MAX]; /* value of the header Link; "": none */
	struct privsep_reply reply;
	int reply_fd;
	struct api_error error;	   /* http_status 0: not answered yet */
	struct api_stream *stream; /* NULL: the answer is not a stream */
	struct api_call *next;
	struct api_head head; /* points into head_text */
	char head_text[];
};

struct api {
	enum privsep_role role;
	struct loop *loop;
	void (*run)(struct api *a); /* runs the ready connections; set by api_run_open() */
	/* Handles the messages from the monitor that have arrived; set by api_main(). */
	void (*catch_up)(struct api *a);
	int ended; /* 1: the monitor has exited; negative errno: it sent an invalid message */
	struct api_client *clients;
	struct api_client *ready, **ready_end; /* connections with something to do */
	struct api_call *waiting;
	struct api_streams *streams; /* NULL: no stream is open */
	struct api_snapshots *snapshots;
	struct tls_server *tls; /* NULL: clients connect by Unix sockets */
	uint64_t generation;	/* count of events and changes that the monitor has reported */
	struct loop_source *timer, *again; /* `again` fires at once */
	uint64_t timer_ns;		   /* time for which `timer` is armed; UINT64_MAX: it is not
					      armed */
	uint64_t next_event, instance;	   /* next_event: number that the monitor gives to the next
					      event; instance: the instance of its numbers */
};

/* ---- api_tell.c ---- */

/* Sends a message. Blocks while the socket is full, which ends soon because the monitor always
 * reads. */
int api_tell(struct privsep_msg *m, int fd);

/* Tells the monitor that the connection waits, so that it does not count as idle: PRIVSEP_HELD or
 * PRIVSEP_WAITS. */
int api_tell_wait(struct api_call *c, enum privsep_type type);
/* Tells the monitor that the connection is ready for its next request, or that its client has begun
 * to receive an answer that the monitor did not send. The monitor gives the client its whole time
 * again, and may count the connection as idle. */
void api_tell_next(struct api_client *cl);
/* Puts the connection in the list of connections that have something to do. */
void api_ready(struct api_client *cl);

/* ---- api_send.c ---- */

/* Becomes the owner of `text`, which is on the heap. Returns NULL if memory is short. */
struct api_text *api_text_new(char *text, size_t len);
struct api_text *api_text_ref(struct api_text *t);
struct api_text *api_text_unref(struct api_text *t); /* accepts NULL, returns NULL */

/* Returns whether the client has not received all bytes yet. */
bool api_send_is_pending(const struct api_client *cl);
/* Prepares an answer. Becomes the owner of `head`, which is on the heap. The body is that of
 * `text`, which gets another reference, or is static. */
void api_send_begin(struct api_client *cl, char *head, struct api_text *text, const char *body,
		    size_t body_len);
/* Sends as much as the socket takes. Returns 1 if all was sent, 0 if the socket is full, or
 * negative errno. */
int api_send_flush(struct api_client *cl);
void api_send_done(struct api_client *cl); /* drops the bytes that were not sent */

/* ---- api_answer.c: each function prepares the answer of a request, and returns 0, or negative
 * errno if there can be no answer ---- */

/* Answers with the page of the list `text` that the client requested. etag 0: use a hash. */
int api_answer_page(struct api_call *c, const char *text, size_t len, uint64_t etag);
bool api_call_is_change(const struct api_call *c);
/* Answers with a text, which gets another reference; NULL: out of memory. */
int api_answer_text(struct api_call *c, unsigned status, const char *type, struct api_text *text);
/* Answers with static bytes. headers: further header lines, each with its CR LF. */
int api_answer_static(struct api_call *c, unsigned status, const char *type, const char *headers,
		      const char *body, size_t len);
/* Begins an answer that ends with the connection. */
int api_answer_stream(struct api_call *c, const char *type);
/* Returns an ETag made from the content; never 0. */
uint64_t api_answer_hash(const char *text, size_t len);
/* Returns whether the client already has this content, according to If-None-Match, which is a list
 * of ETags or *. */
bool api_answer_is_known(const struct api_call *c, uint64_t etag);
/* Answers without a body. */
int api_answer_empty(struct api_call *c, unsigned status, const char *type, const char *allow);
/* Answers with the error in c->error. */
int api_answer_error(struct api_call *c);
int api_answer_refuse(struct api_call *c, unsigned status, const char *code, const char *text);
/* Answers with the monitor's reply in c->reply. */
int api_answer_reply(struct api_call *c);
/* Answers with a document that this process makes without the monitor. */
int api_answer_local(struct api_call *c, enum resource_local local);

/* ---- api_page.c ---- */

/* Answers requests for the web page, and redirects browsers to it. In roles other than api-tls,
 * also refuses a request whose header Host names another site. `host` is the value of that header,
 * or NULL if the header is absent. Returns false if the request is for the API and was not
 * refused. */
bool api_page_take(struct api_call *c, const struct api_request *rq, const char *host, int *ret);

/* ---- api_login.c ---- */

/* Returns whether the client must show a token before its request is read. */
bool api_login_is_needed(const struct api *a, const struct api_call *c);
/* Asks the monitor for the role of the client's token. The answer arrives as api_request_role().
 * Returns 1 if the role is known already, or 0, or negative errno. */
int api_login_ask(struct api_call *c);
/* Answers a client without a role with an error. */
int api_login_refuse(struct api_call *c);

/* ---- api_request.c ---- */

/* Begins a request with that head, which api_head_check() has accepted. Returns 0 with the call in
 * cl->call, or negative errno. */
int api_request_begin(struct api_client *cl, const char *head, size_t len);
/* Begins a request whose head is invalid: answers with the error and closes the connection. */
int api_request_refuse(struct api_client *cl, const struct api_error *error);
/* Does the next step of a request in the stage API_LOGGED_IN or API_REPLIED, or API_READING if the
 * body is complete. Returns negative errno if there can be no answer. */
int api_request_step(struct api_call *c);
/* Frees the request; NULL is allowed. */
void api_request_done(struct api_call *c);
/* Stores the role that the monitor has given to the client that showed a token. */
void api_request_role(struct api *a, const struct privsep_msg *m);
/* Handles the monitor's reply to a request. Becomes the owner of *fd. */
void api_request_reply(struct api *a, const struct privsep_msg *m, int *fd);
/* Call when there are new events, whose numbers are below `next`. Sends the monitor the requests
 * that were held back. */
void api_request_note(struct api *a, uint64_t next);
/* Handles the monitor's answer to a question that this process asked for several clients. Becomes
 * the owner of fd. */
void api_request_seen(struct api *a, const struct privsep_msg *m, int fd);
/* Returns the earliest time limit of a waiting request, or UINT64_MAX if no request is waiting. */
uint64_t api_request_deadline(const struct api *a);
void api_request_tick(struct api *a, uint64_t now_ns);

/* ---- api_tls.c ---- */

int api_tls_open(struct api *a);
/* Sets the certificate and its key, which the monitor sends, for new connections. */
void api_tls_take_files(struct api *a, const struct privsep_msg *m, int fd);

/* ---- api_client.c ---- */

/* Adds a new connection. Becomes the owner of fd. */
void api_client_accept(struct api *a, uint64_t connection, bool barred, int fd);
/* Returns whether this process has that connection. */
bool api_client_has(const struct api *a, uint64_t connection);
/* Call when the monitor has shut down the connection. It is closed when it runs next. */
void api_client_drop(struct api *a, uint64_t connection);
/* Does what the connection can do now. May free it. */
void api_client_run(struct api_client *cl);

/* ---- api_run.c ---- */

int api_run_open(struct api *a);

/* ---- api_sandbox.c ---- */

/* Enter and seal the sandbox, see sandbox.h. */
int api_sandbox_enter(void);
int api_sandbox_seal(enum privsep_role role);

#endif
