/* Where in the source a frame is, in the words of all reports. Pure; any thread. */
#ifndef DRDOTNET_FRAME_PLACE_H
#define DRDOTNET_FRAME_PLACE_H

#include "agent/symbols/frame.h"
#include "common/base/buf.h"

/* Appends "Cart.cs:118"; nothing where it is not known. */
void frame_place_put(const struct frame *f, struct buf *out);

/* Appends " (Cart.cs:118)"; nothing where it is not known. */
void frame_place_put_behind(const struct frame *f, struct buf *out);

#endif
