/* The object of the application that retains most of what a root does. "A socket engine holds it" is true of all that a request reaches, and
 * nobody can change it; the lowest object of a type of the application on that way is what a person can change. Pure; any thread. */
#ifndef DRDOTNET_SURVIVORS_KEEPER_H
#define DRDOTNET_SURVIVORS_KEEPER_H

#include "agent/profilers/survivors/survivors.h"

/* A node of the tree: down from `top` each retains half at least of what the one above does. The lowest of an application's type that is few
 * objects and mostly holds others; 0: there is none. */
uint32_t survivors_keeper_below(const struct survivors *s, uint32_t top);

/* Whether a person looks for the root itself: an application's static, or running code that works on what it holds. Else what it leads to
 * through types of .NET is of more use. */
bool survivors_keeper_is_root(const struct survivors *s, const struct survivors_holder *h);

/* The part of a path that begins at the keeper. false: it does not lead through it. */
bool survivors_keeper_path(const struct survivors *s, uint32_t keeper, const struct heap_path *path, struct heap_path *out);
bool survivors_keeper_is_delegate(const struct heap_type *t);

#endif
