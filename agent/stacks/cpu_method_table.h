/* Turns the frames of a capture into methods: frames with one shown name, module and layer are one method. Part of the
 * analysis (agent/stacks/cpu_analysis.h); one thread. */
#ifndef DRDOTNET_CPU_METHOD_TABLE_H
#define DRDOTNET_CPU_METHOD_TABLE_H

#include "agent/stacks/cpu_analysis.h"

struct cpu_method_table {
	uint32_t *method_of;       /* by capture frame */
	unsigned *frame_marks;     /* by capture frame: METHOD_* of that frame alone */
	enum frame_role *roles;    /* by capture frame */
	enum cpu_layer *layers;    /* by capture frame */
	bool *is_starter;          /* by capture frame: AsyncMethodBuilder.Start and its like */
	bool *is_resumer;          /* by capture frame: what continues a state machine after its await */
	bool *is_resume_stub;      /* by capture frame: what continues a method that the runtime itself suspends (.NET 11) */
};

/* Fills a->methods and the table. */
void cpu_method_table_build(struct cpu_method_table *t, struct cpu_analysis *a);
void cpu_method_table_fini(struct cpu_method_table *t);

/* A method that stands for no frame ("[stack cut]"). */
uint32_t cpu_method_table_special(struct cpu_analysis *a, const char *name, enum cpu_layer layer);

/* Whether frame `at` of a stack (leaf first) is an async method that continues after an await: nobody above calls it. Where the code that completes a
 * task runs the task's continuations at once, their work is that of the methods that awaited, not of the code that completed it. */
bool cpu_method_table_resumed(const struct cpu_method_table *t, const uint32_t *frames, size_t depth, size_t at);

/* The methods of a stack, root first, into out[depth + 1]; returns how many. A method that continues after an await stands where its thread's first
 * method of the application stood. Notes on the way whether state machines are async methods or iterators. */
size_t cpu_method_table_logical(const struct cpu_method_table *t, struct cpu_analysis *a, const struct capture_stack *s,
				uint32_t *out);
/* The same, with the frame of the stack that each of the methods stands for into frames[depth + 1]. */
size_t cpu_method_table_logical_frames(const struct cpu_method_table *t, struct cpu_analysis *a, const struct capture_stack *s, uint32_t *out,
				       uint32_t *frames);

/* After all stacks: a state machine that any driver of async methods calls is async, else one that is called is an iterator. */
void cpu_method_table_decide_machines(struct cpu_analysis *a);

#endif
