/* The steps of a session, by name, at which tests make something go wrong. Only a build with DRDOTNET_FAULTS has them (make
 * FLAVOUR=faults): there the calling thread waits at a step while the folder named by the environment's DRDOTNET_STEPS holds a FIFO of
 * the step's name. A test opens the FIFO for writing when the step has come, and closes it to let the thread go on; the other
 * threads go on all the while. In every other build a step is nothing. */
#ifndef DRDOTNET_STEP_H
#define DRDOTNET_STEP_H

#ifdef DRDOTNET_FAULTS
void step_come(const char *name);
#define STEP(name) step_come(name)
#define STEP_HOLD_MS 240000 /* so long it may take a test on a busy machine */
#else
#define STEP(name) ((void)0)
#define STEP_HOLD_MS 0
#endif

#endif
