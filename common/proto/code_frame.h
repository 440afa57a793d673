/* How a managed function's code takes its caller's frame down, read from the code itself, and one step up a stack by it. The chain of
 * frame pointers alone leaves callers out: a small optimized method keeps no frame, so the chain goes from it to its caller's caller.
 *
 * The shapes are those that RyuJIT writes (dotnet/runtime, src/coreclr/jit/codegencommon.cpp and codegenxarch.cpp, codegenarm64.cpp: genFnProlog,
 * genFnEpilog, genFuncletProlog) for tiers 0 and 1, on-stack replacement and ReadyToRun alike; return address and frame chain are those of the
 * System V ABI (AMD64 supplement, 3.2.2) and of AAPCS64 (6.4.6). A frame pointer that RyuJIT keeps outside of Windows points at the
 * caller's saved one, the return address above it.
 *
 * Pure: no memory of its own, no I/O; any thread, and a signal handler. The code's bytes and the stack are the profiled process's, so anything. */
#ifndef DRDOTNET_CODE_FRAME_H
#define DRDOTNET_CODE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CODE_FRAME_PROLOG_BYTES 64 /* more than the longest prolog that RyuJIT writes before its frame stands */
#define CODE_FRAME_AT_BYTES 32     /* more than the longest epilog */
#define CODE_FRAME_NO_FP UINT32_MAX

enum code_frame_kind {
	CODE_FRAME_UNKNOWN,   /* the bytes are not understood */
	CODE_FRAME_FRAMED,    /* the frame pointer points at {caller's frame pointer, return address} */
	CODE_FRAME_FRAMELESS, /* the return address lies `size` above the stack pointer */
	CODE_FRAME_LINK,      /* arm64: it is in the link register, the caller's stack pointer `size` above this one */
	CODE_FRAME_SAVED,     /* arm64: it lies `link_at` above the stack pointer, the caller's stack pointer `size` above it */
	CODE_FRAME_FIRST,     /* nobody called it: a thread begins there */
};

struct code_frame {
	enum code_frame_kind kind;
	/* On-stack replacement: the code goes on in the frame of the code that it replaced. What it would return to is an address in that code
	 * (the call that made the switch), whose frame lies above, without a frame pointer of its own. */
	bool replaces;
	bool jumped;     /* that made the switch by a jump (.NET 11): there is no return address into it. Its frame is found by what its code has saved */
	uint32_t prolog; /* bytes of code until the frame stands */
	uint32_t size;   /* x64: bytes that pushes and locals take below the return address; of a framed function too */
	uint32_t above;  /* arm64, framed: so far above the frame pointer is the caller's stack pointer; 0: not known, 16 at least */
	uint32_t link_at;
	uint32_t fp_at;  /* not framed: the caller's frame pointer lies so far above the stack pointer; CODE_FRAME_NO_FP: it is in the register */
};

struct code_registers {
	uint64_t ip, sp, fp;
	uint64_t lr;   /* arm64, the leaf's */
	bool sp_least; /* arm64: the stack pointer is this or a higher one */
	bool replaced; /* `ip` is in code that was replaced on the stack: a frame to step over, not one to show */
};

/* The 8 bytes at an address of the stack. false: not to be had. */
typedef bool code_frame_read_fn(void *ctx, uint64_t address, uint64_t *word);

enum code_step {
	CODE_STEP_CALLER, /* *r is the caller's */
	CODE_STEP_END,    /* there is none: the return address is null, or nearly */
	CODE_STEP_BEYOND, /* the stack could not be read there */
	CODE_STEP_BROKEN, /* what was found leads down the stack, or is not aligned */
	CODE_STEP_UNKNOWN /* the code was not understood */
};

/* Frame of code whose bytes nobody knows, on the word that it keeps frame pointers (the runtime, its JIT). */
extern const struct code_frame code_frame_by_pointer;

/* The frame as it stands once the prolog is through. `code` begins at the function's first instruction and may end anywhere. */
void code_frame_decode(const uint8_t *code, size_t len, struct code_frame *out);
/* The frame as it stands when the instruction at `offset` of the function is to run next: in its prolog, in an epilog, or as code_frame_decode()
 * has it. `at`: the code from there on; NULL: not asked for, for no call returns into an epilog. */
void code_frame_decode_at(const uint8_t *code, size_t len, uint64_t offset, const uint8_t *at, size_t at_len, struct code_frame *out);
/* From the registers of a frame to those of its caller. *r is left alone unless CODE_STEP_CALLER is returned. */
enum code_step code_frame_step(const struct code_frame *f, struct code_registers *r, code_frame_read_fn *read, void *ctx);

/* Of each machine apart; the ones above are those of the machine that this is built for. `address_bits` are those of an address of code: what else a
 * return address has on arm64 is its signature (pointer authentication), which is taken off. */
struct code_machine {
	void (*decode)(const uint8_t *code, size_t len, uint64_t offset, const uint8_t *at, size_t at_len, struct code_frame *out);
	uint64_t address_bits;
	bool links; /* a call leaves its return address in a register */
};
extern const struct code_machine code_machine_x64, code_machine_arm64;

#if defined(__aarch64__)
#define code_machine_ours code_machine_arm64
#else
#define code_machine_ours code_machine_x64
#endif

/* Frame of a leaf without one, which is entered by a call. */
extern const struct code_frame code_frame_of_leaf;
enum code_step code_frame_step_on(const struct code_machine *machine, const struct code_frame *f, struct code_registers *r, code_frame_read_fn *read,
				  void *ctx);
void code_frame_x64(const uint8_t *code, size_t len, uint64_t offset, const uint8_t *at, size_t at_len, struct code_frame *out);
void code_frame_arm64(const uint8_t *code, size_t len, uint64_t offset, const uint8_t *at, size_t at_len, struct code_frame *out);

#endif
