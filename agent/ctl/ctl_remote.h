/* SPDX-License-Identifier: BSD-3-Clause */
/* The agent of another host, which plenum reaches over the network with --host. For ctl.c, which
 * opens it, and ctl_http.c, which sends the requests. */
#ifndef PLENUM_AGENT_CTL_REMOTE_H
#define PLENUM_AGENT_CTL_REMOTE_H

#include "agent/ctl/ctl.h"
#include <curl/curl.h>

#define CTL_REMOTE_TEXT_MAX 1024

struct ctl_remote {
	char place[300];	       /* such as "host-b port 7443", for texts */
	char url[300];		       /* such as "https://host-b:7443" */
	char *header;		       /* with the token; heap */
	const char *ca;		       /* file with authorities; NULL: the system's */
	char pin[64];		       /* in the format of libcurl; "": none */
	char detail[CURL_ERROR_SIZE];  /* libcurl's text for the last error */
	char why[CTL_REMOTE_TEXT_MAX]; /* why the last request got no answer, and what to do */
	int exit;		       /* exit status of the command in this case */
};

/* Makes a->remote from the options. Returns CTL_OK, or another exit status after printing the
 * error. */
int ctl_remote_open(struct ctl_args *a);
/* Wipes the token, and frees a->remote. */
void ctl_remote_close(struct ctl_args *a);
/* Sets the options of a request that depend on the host: TLS, and the authority or key to trust. */
CURLcode ctl_remote_set(struct ctl_remote *remote, CURL *curl);
/* Sets remote->why and remote->exit after a request has failed. change: the request is for a
 * change. */
void ctl_remote_explain(struct ctl_remote *remote, CURL *curl, CURLcode e, bool change);
/* Sets remote->why and remote->exit for an answer that is too large. */
void ctl_remote_explain_large(struct ctl_remote *remote, bool change);

#endif
