/* SPDX-License-Identifier: BSD-3-Clause */
/* A back end of no use, with the layout that its build names; test_port_module loads it. */
#include "dataplane/port/port.h"

const struct port_ops plenum_port_module;
const struct port_ops plenum_port_module = {.layout = MODULE_LAYOUT, .name = "of a test"};
