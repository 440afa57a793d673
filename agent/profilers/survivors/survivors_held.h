/* The sentences about who holds most of a heap, each at most a headline long. All append. Pure; any thread. */
#ifndef DRDOTNET_SURVIVORS_HELD_H
#define DRDOTNET_SURVIVORS_HELD_H

#include "agent/profilers/survivors/survivors_numbers.h"

void survivors_held_part(struct buf *line, double part, double all, const char *what); /* "412 MB of 530 MB" and what */
void survivors_held_by_one(const struct survivors_numbers *n, struct buf *line);
void survivors_held_together(const struct survivors_numbers *n, struct buf *line);
void survivors_held_by_none(const struct survivors_numbers *n, struct buf *line);
void survivors_held_type(const struct survivors_numbers *n, struct buf *line);

#endif
