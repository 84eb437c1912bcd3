/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a fuzz target gives: libFuzzer's entry point. Linked with clang's -fsanitize=fuzzer it is
 * explored by coverage; linked with fuzz_main.c it is fed its corpus and seeded mutations of it,
 * which is what `make check` does.
 */
#ifndef PLENUM_TESTS_FUZZ_H
#define PLENUM_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
