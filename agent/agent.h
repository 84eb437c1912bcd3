/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PLENUM_AGENT_AGENT_H
#define PLENUM_AGENT_AGENT_H
#endif
