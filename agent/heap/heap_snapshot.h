/* The heap of one process at one moment: what a walk brought, with the names of its types, fields, statics and threads. Read-only
 * once made; any number of readers, each with a cursor of its own. The objects themselves stay in the stream (in memory, beyond
 * HEAP_SNAPSHOT_MEMORY in an unlinked file that is mapped): read them in order, as often as needed.
 *
 *	struct heap_cursor c;
 *	heap_snapshot_cursor(s, &c);
 *	while (heap_snapshot_object(&c))              c.object.type, address, size, references
 *		while (heap_cursor_edge(&c, &offset, &target))
 *			heap_type_field(&s->types[c.object.type], offset)
 *
 * Objects come with rising addresses within a range, ranges in any order; a target may be an object that is not in the snapshot
 * (references into the middle of nothing do not happen in a whole walk, but a reader must bear them: the bytes come from the process).
 *
 * A snapshot of types only has `counts` instead of objects, references and roots (heap_counts.h). */
#ifndef DRDOTNET_HEAP_SNAPSHOT_H
#define DRDOTNET_HEAP_SNAPSHOT_H

#include "common/api/session_spec.h"
#include "common/base/err.h"
#include "common/proto/heap_stream.h"

#define HEAP_SNAPSHOT_MEMORY ((size_t)192 << 20)

struct heap_field {
	uint32_t offset; /* from the object's start; of an array: from its element's start */
	char *name;
};

struct heap_type {
	uint64_t class_id;
	char *name;       /* as it is shown: "Shop.Order", "System.Collections.Generic.Dictionary<int, Shop.Order>", "string[]" */
	char *short_name; /* without namespaces */
	char *raw;        /* the metadata's name, of types with values and of those that a compiler made; else NULL */
	char *space;      /* namespace (of an array: its element's); "" none */
	char *module;     /* "Shop.dll"; "" not known */
	uint8_t flags;    /* enum heap_type_flag */
	uint16_t values;  /* bits of enum heap_value */
	uint32_t base_size;
	uint32_t elements_at, element_size; /* of an array: where its elements begin, and how far apart; 0: not known */
	struct heap_field *fields; /* that may hold references, by offset, inherited ones too */
	size_t field_count;
};

struct heap_method {    /* that the runtime has suspended (runtime-async); by HEAP_VALUE_METHOD - 1 */
	uint64_t function_id; /* 0: not known */
	char *name;           /* as the user wrote it: "Shop.Orders.LoadAsync"; "" not known */
	char *raw;            /* of the metadata, its type's before it: "Shop.Orders+<>c.<LoadAsync>b__0"; "" not known */
};

struct heap_root {
	enum heap_root_kind kind;
	unsigned flags;    /* enum heap_root_flag */
	uint64_t object;   /* INTERIOR, CONSERVATIVE: an address somewhere in it */
	uint64_t second;   /* of a dependent handle: what the object keeps alive; else 0 */
	const char *label; /* "static Shop.Cache._items", "thread static ...", "stack of Shop.Main (thread 12 worker)", "handle (pinned)" */
};

enum heap_way {
	HEAP_WAY_EXACT,         /* roots by a forced collection */
	HEAP_WAY_NO_COLLECTION, /* statics, handles and stacks only: see heap_facts_unheld() */
	HEAP_WAY_TYPES,         /* no roots and no references: see heap_snapshot.counts */
};

/* What the walk that shows holders would need where types alone were counted; 0: enough of it is there. */
struct heap_needs {
	int64_t budget_ms;   /* pauseBudgetMilliseconds */
	int64_t limit_bytes; /* the agent's memory limit */
	int64_t file_bytes;  /* for files beside the reports */
};

struct heap_facts {
	enum heap_way way;
	const char *why;            /* the way: "its predicted stop fits the pause budget", "asked for", ... Static storage. */
	int64_t predicted_stop_us;  /* the longest one of the way taken */
	int64_t collection_stop_us; /* the forced collection with the roots, 0: none */
	int64_t walk_stop_us;       /* on .NET 8 the walk is part of the collection: 0 */
	int64_t walk_cpu_us;        /* the library's processor time in it */
	int64_t paused_us;          /* what of these, and of the look, followed at once: the longest pause that the application felt */
	unsigned tries;             /* walks made until no collection came between */
	uint64_t objects, edges, bytes;
	bool roots_unread;          /* there are roots that were not read: what none of the others holds may be held by them */
	bool names_unread;          /* all roots are known, but not the names of all static fields: what those hold is held by a handle */
	const struct engine_support *engines; /* what of roots cannot be relied on in this process; the session's; NULL: not asked */
	bool part;                  /* types only: the pause budget was near before the heap's end */
	uint64_t heap_most_bytes;   /* what the heap takes at most (the process's own memory), where only a part was seen */
	int64_t whole_budget_ms;    /* of a part: the pauseBudgetMilliseconds that would do for all of it */
	struct heap_needs needs;    /* types only */
	uint64_t heap_bytes;        /* by the runtime's own ranges of its generations, 0: not known */
	int64_t taken_wall_ms;
};

/* What it is that no known root holds: "held by a handle, or garbage". */
const char *heap_facts_unheld(const struct heap_facts *f);

struct heap_counts;
struct heap_snapshot {
	const uint8_t *stream;
	size_t stream_bytes;
	bool strings;               /* strings carry digests */
	struct heap_shape *shapes;  /* beside types, for cursors */
	struct heap_type *types;
	uint32_t type_count;
	struct heap_method *methods;
	size_t method_count;
	struct heap_range_record *ranges; /* by start */
	size_t range_count;
	struct heap_root *roots;
	size_t root_count;
	struct heap_facts facts;
	struct heap_counts *counts; /* NULL: objects */
	/* private */
	struct heap_labels *labels;
	bool mapped;
};

void heap_snapshot_free(struct heap_snapshot *s); /* takes NULL */

void heap_snapshot_cursor(const struct heap_snapshot *s, struct heap_cursor *c);
/* The next object; false at the end. (The stream was checked to its end when the snapshot was made.) */
bool heap_snapshot_object(struct heap_cursor *c);

/* By the runtime's ranges; what lies in none was allocated since the last collection. */
enum heap_generation heap_snapshot_generation(const struct heap_snapshot *s, uint64_t address);
const char *heap_generation_name(enum heap_generation g); /* "gen0", "LOH", ... */

/* The field that holds the slot at this offset: "_items"; of an array "[]" or "[].Value"; "" when it is not known. */
const char *heap_type_field(const struct heap_type *t, uint64_t offset);

/* Building one: of a walk by heap_walk.c, by hand or from a generator in tests. Types come before their objects; objects by rising
 * address. The builder writes the very stream that the library writes. */
struct heap_builder;
struct heap_edge {
	uint32_t offset;
	uint64_t target;
};
struct heap_builder *heap_builder_new(bool strings);
/* Sizes in bytes. `names`: the fields "8 _items, 16 _owner" or NULL. Returns the type's index. */
#define HEAP_BUILDER_VALUES(bits) (HEAP_TYPE_VALUES | (unsigned)(bits) << 8) /* among a type's flags: bits of enum heap_value */
uint32_t heap_builder_type(struct heap_builder *b, const char *name, unsigned flags, uint32_t base_size, const char *names);
/* `size` 0: the type's base size. Edges by rising offset. */
void heap_builder_object(struct heap_builder *b, uint32_t type, uint64_t address, uint64_t size, const struct heap_edge *edges,
			 size_t edge_count);
void heap_builder_values(struct heap_builder *b, const int32_t *values); /* HEAP_VALUES_MAX, for the objects that follow */
void heap_builder_string(struct heap_builder *b, const struct heap_string_record *r); /* right after its object, when digests were asked for */
/* Returns the HEAP_VALUE_METHOD of its objects. `type` NULL: it has no name. */
int32_t heap_builder_method(struct heap_builder *b, const char *type, const char *method);
void heap_builder_range(struct heap_builder *b, enum heap_generation g, uint64_t start, uint64_t length);
void heap_builder_counted(struct heap_builder *b, uint32_t type, enum heap_generation g, uint64_t objects, uint64_t bytes); /* types only */
void heap_builder_root(struct heap_builder *b, enum heap_root_kind kind, unsigned flags, uint64_t object, uint64_t second, const char *label);
/* Ends the building; the builder is gone. */
struct heap_snapshot *heap_builder_finish_take(struct heap_builder *b);

#endif
