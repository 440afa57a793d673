/* What the controller does with what agents tell and ask. */
#ifndef DRDOTNET_CONTROLLER_LINKS_H
#define DRDOTNET_CONTROLLER_LINKS_H

#include "controller/daemon/controller.h"

/* To make the hub with, before controller_start(). */
void controller_hub_callbacks(struct controller *c, struct agent_hub_callbacks *out);

#endif
