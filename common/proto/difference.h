/* Differences of unsigned numbers that end at 0, and the mark of functions in which numbers wrap on purpose. tests/style/test_differences.py holds the
 * library's code to it: where the compiler cannot prove that a difference does not wrap, the line, or the one above it, says why it does not. Any context. */
#ifndef DRDOTNET_DIFFERENCE_H
#define DRDOTNET_DIFFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __clang__
#define WRAPS __attribute__((no_sanitize("unsigned-integer-overflow")))
#else
#define WRAPS
#endif

/* 0 where `less` is more. */
static inline uint64_t difference(uint64_t more, uint64_t less)
{
	return more > less ? more - less : 0;
}

/* One of the `length` numbers from `start` on. */
static inline bool is_within(uint64_t x, uint64_t start, uint64_t length)
{
	return x >= start && x - start < length;
}

#endif
