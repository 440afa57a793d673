/* Sending a link message over libwebsockets: the same at both ends. The connection's thread. */
#ifndef DRDOTNET_LINK_FRAME_H
#define DRDOTNET_LINK_FRAME_H

struct lws;

/* Writes the text as one text frame and asks to be told when the next may follow. -1: the connection is to be closed. */
int link_frame_send(struct lws *wsi, const char *text);

#endif
