/* A thread that the runtime knows and on which it has just called the library back: some calls are possible there only. Looking up a class by
 * its token crashes on a thread that the runtime does not know (own thread), and is refused on one that it knows outside of callbacks. */
#ifndef DRDOTNET_RUNTIME_THREAD_H
#define DRDOTNET_RUNTIME_THREAD_H

/* Own thread. Makes a thread known to the runtime, which tells of it on that very thread (ThreadCreated): there fn(ctx) is called, and the
 * thread ends. fn is not called where no thread can be made, or the runtime does not tell: it is for fn to note that it was. */
void runtime_thread_run(void *info, void (*fn)(void *ctx), void *ctx);

/* CLR callback, ThreadCreated: any new thread. */
void runtime_thread_created(void);

#endif
