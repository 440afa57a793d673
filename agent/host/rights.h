/* What the agent itself may do, for messages: why a look into a process was refused. */
#ifndef DRDOTNET_RIGHTS_H
#define DRDOTNET_RIGHTS_H

#include <stdint.h>

#define RIGHTS_TEXT_SIZE 96

/* "it lacks SYS_PTRACE and DAC_OVERRIDE", or, with both, who else may have refused. Returns out. Pure. */
const char *rights_explain_refusal(uint64_t capabilities, char out[RIGHTS_TEXT_SIZE]);

/* The same with the calling process's effective capabilities. */
const char *rights_explain_own_refusal(char out[RIGHTS_TEXT_SIZE]);

/* The same for a file or a socket of another user, which needs no SYS_PTRACE. */
const char *rights_explain_own_file_refusal(char out[RIGHTS_TEXT_SIZE]);

#endif
