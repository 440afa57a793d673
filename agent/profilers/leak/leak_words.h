/* The words for what grows and who holds it, as a person would say them. Pure. */
#ifndef DRDOTNET_LEAK_WORDS_H
#define DRDOTNET_LEAK_WORDS_H

#include "agent/profilers/leak/leak_group.h"
#include "common/base/buf.h"

/* A step's type or root without namespaces, printable, at most so many characters. */
void leak_words_name(struct buf *out, const struct leak_model *m, uint32_t step, size_t max_chars);

/* "+ 100,000 Order", "+ 100 closures of Cart.Add"; of an array that was made larger its type alone. */
void leak_words_more(struct buf *out, const struct leak_model *m, const struct leak_group *g, size_t max_chars);

/* "PriceFeed.Changed": the event whose handlers the path goes through. false, and nothing is put: it has no name there. */
bool leak_words_event(struct buf *out, const struct leak_model *m, uint32_t step, size_t max_chars);

/* Bytes of what the finding is about: a holder's, a type's old objects', or memory outside of the heap. At the last walk, and where its filling would end. */
struct leak_diagnosis;
uint64_t leak_words_now(const struct leak_model *m, const struct leak_diagnosis *d);
uint64_t leak_words_full(const struct leak_model *m, const struct leak_diagnosis *d);

uint32_t leak_words_root(const struct leak_model *m, uint32_t step);      /* the step's root */
void leak_words_period(struct buf *out, const struct leak_model *m);      /* " in 12.6 s" */
enum memory_kind leak_words_memory(const struct leak_model *m);           /* of memory outside of the heap, what grew most */

#endif
