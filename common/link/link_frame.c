#include "common/link/link_frame.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <libwebsockets.h>
#include <string.h>

int link_frame_send(struct lws *wsi, const char *text)
{
	size_t len = strlen(text);
	AUTO_FREE unsigned char *frame = mem_realloc(NULL, LWS_PRE + len, 1);
	memcpy(frame + LWS_PRE, text, len);
	if (lws_write(wsi, frame + LWS_PRE, len, LWS_WRITE_TEXT) < (int)len)
		return -1;
	lws_callback_on_writable(wsi);
	return 0;
}
