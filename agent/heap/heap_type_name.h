/* Names of types on the heap as the user wrote them, from the metadata's. Pure; any thread. */
#ifndef DRDOTNET_HEAP_TYPE_NAME_H
#define DRDOTNET_HEAP_TYPE_NAME_H

#include "agent/heap/heap_snapshot.h"

/* Name and namespace of a type from the parts of its metadata name (see agent/symbols/frame.h): "Shop.Outer`1+Inner", "System.Int32", and what
 * comes after ("[]", "[,]"). */
void heap_type_set_name(struct heap_type *t, const char *metadata_name);
/* To the name of a class of captured variables, the method whose lambdas use them: "Cart.(closure)" becomes "Cart.Add.(closure)". `lambda` is the
 * metadata's name of one ("<Add>b__0"); what is none changes nothing. */
void heap_type_set_lambda(struct heap_type *t, const char *lambda, size_t len);

#endif
