/* fake_runtime LIBRARY CLIENT-DATA-IN-HEX: stands in for a runtime where none can be had (musl, arm64): loads the profiler library as the
 * runtime does, calls it in the runtime's order, answers what it asks and unloads it. Three functions of its own burn CPU below each other; it
 * knows their addresses and names as those of dynamic methods. Says what happens on standard output, one line each. The agent's end of the
 * channel is somebody else's. */
#include "common/proto/channel.h"
#include "profiler/clr/cor_abi.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INFO_SLOTS 128
#define REFUSED_FIRST COR_HR(0x80131367u)
#define NOINLINE __attribute__((noinline, noclone))

struct object {
	void **vtable;
};

static void *info_vtable[INFO_SLOTS];
static struct object info = {info_vtable};
static sem_t detach_wanted;
static _Atomic int detach_requests;
static uint32_t mask_low;
static volatile double sink;
static _Atomic bool end;
static _Atomic int activations;
static int interrupts; /* sent, of the worker */

/* What is sampled ------------------------------------------------------------------------------------------------------------ */
NOINLINE void fake_inner(void);
NOINLINE void fake_outer(void);
NOINLINE void *fake_thread(void *unused);

void fake_inner(void)
{
	volatile uintptr_t frame = (uintptr_t)__builtin_frame_address(0); /* asked for: a leaf has one only then */
	double x = 1;
	for (int i = 0; i < 100000; i++)
		x = x * 1.0000001 + 0.5;
	sink = x + (double)(frame & 1);
}

void fake_outer(void)
{
	for (int i = 0; i < 100; i++)
		fake_inner();
	sink = 0;
}

void *fake_thread(void *unused)
{
	while (!atomic_load(&end)) {
		fake_outer();
		pthread_kill(pthread_self(), SIGRTMIN);
		interrupts++;
	}
	sink = 1;
	return unused;
}

/* What the library asks ------------------------------------------------------------------------------------------------------- */
static const struct {
	const char *name;
} functions[] = {{"fake_inner"}, {"fake_outer"}, {"fake_thread"}};
#define FUNCTION_COUNT (sizeof functions / sizeof *functions)

static hresult not_here(void)
{
	return COR_E_FAIL;
}

static uint32_t count(void)
{
	return 1;
}

static hresult query(struct object *self, const struct guid *iid, void **out)
{
	*out = memcmp(iid, &(struct guid){0x27b24ccd, 0x1cb1, 0x47c5, {0x96, 0xee, 0x98, 0x19, 0x0d, 0xc3, 0x09, 0x59}}, sizeof *iid) ? NULL : self;
	return *out ? COR_S_OK : COR_E_NOINTERFACE;
}

static hresult runtime_information(struct object *self, uint16_t *instance, int32_t *type, uint16_t *major, uint16_t *minor, uint16_t *build)
{
	(void)self;
	*instance = 0;
	*type = 2;
	*major = 99;
	*minor = 1;
	*build = 7;
	return COR_S_OK;
}

static hresult set_event_mask(struct object *self, uint32_t low, uint32_t high)
{
	(void)self;
	(void)high;
	mask_low = low;
	return COR_S_OK;
}

static hresult function_from_ip(struct object *self, uintptr_t ip, cor_id *function)
{
	Dl_info found;

	(void)self;
	for (size_t i = 0; dladdr((void *)ip, &found) && found.dli_sname && i < FUNCTION_COUNT; i++)
		if (strcmp(found.dli_sname, functions[i].name) == 0) {
			*function = i + 1;
			return COR_S_OK;
		}
	return COR_E_FAIL;
}

static hresult is_dynamic(struct object *self, cor_id function, int32_t *dynamic)
{
	(void)self;
	*dynamic = function >= 1 && function <= FUNCTION_COUNT;
	return COR_S_OK;
}

static hresult dynamic_info(struct object *self, cor_id function, cor_id *module, const uint8_t **sig, uint32_t *sig_len, uint32_t cap,
			    uint32_t *len, wchar16 *name)
{
	const char *s = functions[function - 1].name;

	(void)self;
	*module = 0;
	*sig = NULL;
	*sig_len = 0;
	for (*len = 0; s[*len] && *len + 1 < cap; ++*len)
		name[*len] = (wchar16)s[*len];
	name[(*len)++] = 0;
	return COR_S_OK;
}

/* Refuses once, as the runtime does while an attach goes on. */
static hresult request_detach(struct object *self, uint32_t hint_ms)
{
	(void)self;
	(void)hint_ms;
	if (atomic_fetch_add(&detach_requests, 1) == 0)
		return REFUSED_FIRST;
	sem_post(&detach_wanted);
	return COR_S_OK;
}

static void fill_vtable(void)
{
	for (int i = 0; i < INFO_SLOTS; i++)
		info_vtable[i] = (void *)not_here;
	info_vtable[0] = (void *)query;
	info_vtable[1] = (void *)count;
	info_vtable[2] = (void *)count;
	info_vtable[INFO_GET_RUNTIME_INFORMATION] = (void *)runtime_information;
	info_vtable[INFO_SET_EVENT_MASK2] = (void *)set_event_mask;
	info_vtable[INFO_GET_FUNCTION_FROM_IP3] = (void *)function_from_ip;
	info_vtable[INFO_IS_FUNCTION_DYNAMIC] = (void *)is_dynamic;
	info_vtable[INFO_GET_DYNAMIC_FUNCTION_INFO] = (void *)dynamic_info;
	info_vtable[INFO_REQUEST_PROFILER_DETACH] = (void *)request_detach;
}

/* Signals, as the runtime has them: the one for its own threads is kept away from the handler on the alternate stack. */
static void on_fault(int signo, siginfo_t *what, void *context)
{
	(void)signo;
	(void)what;
	(void)context;
	_Exit(2);
}

static void on_activation(int signo, siginfo_t *what, void *context)
{
	(void)signo;
	(void)what;
	(void)context;
	atomic_fetch_add(&activations, 1);
}

static void handle_signals(void)
{
	struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
	struct sigaction activation = {.sa_sigaction = on_activation, .sa_flags = SA_SIGINFO | SA_RESTART};

	sigaddset(&fault.sa_mask, SIGRTMIN);
	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGRTMIN, &activation, NULL);
}

/* The runtime's side of a session ----------------------------------------------------------------------------------------------- */
static void say(const char *what)
{
	puts(what);
	fflush(stdout);
}

static void check(bool right, const char *what)
{
	if (right)
		return;
	printf("wrong: %s\n", what);
	fflush(stdout);
	_Exit(1);
}

static struct object *make_callback(void *library)
{
	typedef hresult get_class(const void *, const struct guid *, void **);
	static const struct guid factory_iid = {1, 0, 0, {0xc0, 0, 0, 0, 0, 0, 0, 0x46}};
	static const struct guid callback2_iid = {0x8a8cc829, 0xccf2, 0x49fe, {0xbb, 0xae, 0x0f, 0x02, 0x22, 0x28, 0x07, 0x1a}};
	struct object *factory = NULL, *callback = NULL;
	int32_t notification_only = 0;

	get_class *get = (get_class *)dlsym(library, "DllGetClassObject");
	check(get && get(channel_clsid_notification, &factory_iid, (void **)&factory) == COR_S_OK, "class factory");
	check(((hresult(*)(void *, void *, const struct guid *, void **))factory->vtable[3])(factory, NULL, &callback2_iid, (void **)&callback) ==
		      COR_S_OK,
	      "callback object");
	((hresult(*)(void *, int32_t *))callback->vtable[CB_LOAD_AS_NOTIFICATION_ONLY])(callback, &notification_only);
	check(notification_only, "notification-only");
	return callback;
}

static void events(struct object *callback)
{
	int32_t generations[5] = {1, 1, 0, 0, 0};

	((hresult(*)(void *, cor_id, int32_t, const uint8_t *, uint32_t))callback->vtable[CB_DYNAMIC_METHOD_JIT_COMPILATION_STARTED])(callback, 1, 1,
																      NULL, 0);
	((hresult(*)(void *, int32_t, int32_t *, int32_t))callback->vtable[CB_GARBAGE_COLLECTION_STARTED])(callback, 5, generations, 1);
	((hresult(*)(void *))callback->vtable[CB_GARBAGE_COLLECTION_FINISHED])(callback);
}

/* What it has changed of its mappings, and of the one of its variables, which has no name and follows: -1: none. Its code is the page cache's. */
static long own_kb(void)
{
	char line[4096], permissions[8], name[4096];
	unsigned long low, high, last = 0;
	long kb, sum = -1;
	FILE *f = fopen("/proc/self/smaps", "r");

	while (f && fgets(line, sizeof line, f)) {
		name[0] = '\0';
		if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %4095s", &low, &high, permissions, name) >= 3) {
			bool ours = strstr(name, "libdrdotnet") || (low == last && !name[0]);
			last = ours ? high : 0;
		} else if (last && sscanf(line, "Anonymous: %ld kB", &kb) == 1) {
			sum = (sum < 0 ? 0 : sum) + kb;
		}
	}
	if (f)
		fclose(f);
	return sum;
}

static void say_what_stays(void)
{
	long kb = own_kb();

	if (kb < 0)
		say("unmapped");
	else
		printf("still mapped: %ld KB\n", kb);
}

static size_t from_hex(const char *s, uint8_t *out, size_t cap)
{
	size_t n = 0;

	for (; n < cap && s[2 * n] && s[2 * n + 1]; n++) {
		char byte[3] = {s[2 * n], s[2 * n + 1], 0};
		out[n] = (uint8_t)strtoul(byte, NULL, 16);
	}
	return n;
}

int main(int argc, char **argv)
{
	uint8_t data[CHANNEL_CLIENT_DATA_MAX];
	pthread_t worker;

	check(argc == 3, "usage: fake_runtime LIBRARY CLIENT-DATA");
	sem_init(&detach_wanted, 0, 0);
	fill_vtable();
	handle_signals();
	pthread_create(&worker, NULL, fake_thread, NULL);
	void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	check(library != NULL, "dlopen");
	struct object *callback = make_callback(library);
	size_t len = from_hex(argv[2], data, sizeof data);
	check(((hresult(*)(void *, void *, void *, uint32_t))callback->vtable[CB_INITIALIZE_FOR_ATTACH])(callback, &info, data, (uint32_t)len) ==
		      COR_S_OK,
	      "InitializeForAttach");
	check(mask_low != 0, "SetEventMask2");
	events(callback);
	((hresult(*)(void *))callback->vtable[CB_PROFILER_ATTACH_COMPLETE])(callback);
	say("attached");
	while (sem_wait(&detach_wanted))
		;
	poll(NULL, 0, 50);
	((hresult(*)(void *))callback->vtable[CB_PROFILER_DETACH_SUCCEEDED])(callback);
	check(((hresult(*)(void))dlsym(library, "DllCanUnloadNow"))() == COR_S_OK, "DllCanUnloadNow");
	dlclose(library);
	say_what_stays();
	atomic_store(&end, true);
	pthread_join(worker, NULL);
	check(atomic_load(&activations) == interrupts, "the runtime gets all of its signals");
	say("ended");
	return 0;
}
