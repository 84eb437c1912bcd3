/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface of a fuzz target: libFuzzer's entry point. Linked with clang's -fsanitize=fuzzer it
 * is explored by coverage; linked with fuzz_main.c it runs its corpus and seeded mutations of it,
 * as `make check` does.
 */
#ifndef PLENUM_TESTS_FUZZ_H
#define PLENUM_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A target may define this: true if the last input reached the code under test. A corpus file
 * that does not is useless, unless its name begins with "refused": that must not reach it. */
bool fuzz_input_taken(void) __attribute__((weak));

#endif
