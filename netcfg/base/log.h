/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Logging for the programs. Each message is one line on standard error, with the "<N>" priority
 * prefix of sd-daemon(3) when the journal reads it. Libraries log at debug level only: they return
 * errors, which the agent or the worker logs once, where it decides how to handle them.
 */
#ifndef PLENUM_NETCFG_LOG_H
#define PLENUM_NETCFG_LOG_H

#include "netcfg/base/base.h"

enum log_level { /* the numbers of syslog(3) */
		 LOG_LEVEL_ERR = 3,
		 LOG_LEVEL_WARNING = 4,
		 LOG_LEVEL_NOTICE = 5,
		 LOG_LEVEL_INFO = 6,
		 LOG_LEVEL_DEBUG = 7,
};

/* Configures the log of the whole process. `ident` precedes each line unless the journal reads it;
 * the string must stay valid. */
void log_open(const char *ident, enum log_level max);
void log_set_level(enum log_level max);
enum log_level log_get_level(void);
/* Returns "error", "warning", "notice", "info" or "debug"; "info" for another number. */
const char *log_level_to_string(enum log_level l);
void log_write(enum log_level level, const char *fmt, ...) PLENUM_PRINTF(2, 3);

#define log_err(...) log_write(LOG_LEVEL_ERR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...) log_write(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
