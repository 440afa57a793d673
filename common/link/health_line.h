/* What an agent's probes answer: a line that begins with "ok" while it is well; a second one that begins so while it has no link to a controller,
 * whose rest says why. The kubelet puts what `drdotnet-agent ready` prints into an event, where the doctor finds it. */
#ifndef DRDOTNET_HEALTH_LINE_H
#define DRDOTNET_HEALTH_LINE_H

#define HEALTH_LINE_BARE "not linked: "
#define HEALTH_LINE_SIZE 768

#endif
