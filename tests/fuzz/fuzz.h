/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a fuzz target gives: libFuzzer's entry point. Linked with clang's -fsanitize=fuzzer it is
 * explored by coverage; linked with fuzz_main.c it is fed its corpus and seeded mutations of it,
 * which is what `make check` does.
 */
#ifndef PLENUM_TESTS_FUZZ_H
#define PLENUM_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where a target has it: whether the last of the input came past the door of what is tested. One of
 * the corpus that does not shows nothing, unless its name begins with "refused": that must not. */
bool fuzz_input_taken(void) __attribute__((weak));

#endif
