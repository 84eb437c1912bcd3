/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists the system calls that the children which serve clients may make. They get their sockets
 * from the monitor. */
#include "agent/api/api_internal.h"
#include "agent/base/child/sandbox.h"
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

static const int allowed[] = {
	/* These calls serve clients and exchange messages with the monitor. */
	SYS_write,
	SYS_writev,
	SYS_recvfrom,
	SYS_sendto,
	SYS_sendmsg,
	SYS_pread64,
	SYS_shutdown,
	SYS_close,
	SYS_getsockopt,
	SYS_setsockopt,
	/* These calls make and read bodies in sealed memfds. */
	SYS_memfd_create,
	SYS_fcntl,
	SYS_lseek,
	SYS_fstat,
	SYS_newfstatat,
};

int api_sandbox_enter(void)
{
	/* Both functions may read a file, which is not possible later. gmtime_r() needs tzset(). */
	json_object_seed(0);
	tzset();
	return sandbox_enter();
}

/* With TLS, the process itself makes the socket pair of each connection. */
int api_sandbox_seal(enum privsep_role role)
{
	static const struct seccomp_rule pairs[] = {{SYS_socketpair, 0, UINT32_MAX, AF_UNIX}};

	return sandbox_seal(allowed, ARRAY_SIZE(allowed), pairs,
			    role == PRIVSEP_API_TLS ? ARRAY_SIZE(pairs) : 0);
}
