/* The web page's files (common/web_ui/): embedded and compressed when this is built, served with an ETag. Any thread. */
#ifndef DRDOTNET_PAGE_FILES_H
#define DRDOTNET_PAGE_FILES_H

#include "common/web/web_server.h"

/* index.html as "/", viewer.html as "/viewer.html", the others as "/assets/<name>". */
void page_files_add_routes(struct web_server *s);

#endif
