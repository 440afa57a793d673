/* What kind of .NET a process is, by its mapped files and its executable's exports. Host PID mode only. Any thread. */
#ifndef DRDOTNET_RUNTIME_KIND_H
#define DRDOTNET_RUNTIME_KIND_H

enum runtime_kind {
	RUNTIME_NONE,       /* not .NET, as far as one can see */
	RUNTIME_CORECLR,    /* libcoreclr.so, or linked into a single-file executable */
	RUNTIME_NATIVE_AOT,
	RUNTIME_MONO,
	RUNTIME_UNREADABLE, /* errno says why: maps may not be read */
};

/* What is said of one that is refused for it. */
#define NATIVE_AOT_TEXT "a Native AOT application has no profiling interface: CPUHotpaths, Waits and Threads work"

/* proc_fd: an open /proc/PID. */
enum runtime_kind runtime_kind_of(int proc_fd);

#endif
