/* The first reading of a snapshot's stream: where objects begin. It is cut into pieces of rising addresses, which are sorted: the second
 * reading goes by address, and in two halves. */
#include "agent/heap/heap_nodes_private.h"

#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define PIECE_GAP (UINT64_C(64) << 10) /* what is left out there may hold a region that comes later in the stream */

struct scan {
	struct heap_nodes *n;
	struct heap_cursor c;
	size_t piece_cap;
	const uint8_t *at; /* before the current object */
	uint64_t last_end;
	uint64_t count;
	/* the range of the free space before */
	uint64_t range_start, range_end;
	enum heap_generation generation;
};

static void count_free(struct scan *s, uint64_t address, uint64_t size)
{
	if (address < s->range_start || address >= s->range_end) {
		s->generation = heap_snapshot_generation(s->n->snapshot, address);
		s->range_start = address & ~UINT64_C(4095); /* ranges begin and end at pages, or nearly so */
		s->range_end = s->range_start + 4096;
	}
	struct heap_free *f = &s->n->free[s->generation];
	f->count++;
	f->bytes += size;
	if (size > f->largest)
		f->largest = size;
}

static struct heap_piece *piece_for(struct scan *s, const struct heap_object_record *o, struct err *e)
{
	struct heap_nodes *n = s->n;
	struct heap_piece *p = n->piece_count ? &n->pieces[n->piece_count - 1] : NULL;

	if (p && p->records < HEAP_PIECE_RECORDS && o->address >= p->end && o->address - p->end < PIECE_GAP)
		return p;
	if (n->piece_count == HEAP_PIECES_MAX + s->count / HEAP_PIECE_RECORDS) {
		err_set(e, ERR_PROTOCOL, 0, "the heap walk cannot be used: its objects come in no order");
		return NULL;
	}
	GROW(n->pieces, n->piece_count, s->piece_cap);
	p = &n->pieces[n->piece_count++];
	*p = (struct heap_piece){.start = o->address, .end = o->address, .at = s->at, .last_end = s->last_end};
	return p;
}

static int scan_object(struct scan *s, struct err *e)
{
	const struct heap_object_record *o = &s->c.object;
	struct heap_piece *p = piece_for(s, o, e);

	if (!p)
		return -1;
	p->records++;
	p->end = o->address + ((o->size + 7) & ~UINT64_C(7));
	if (s->n->snapshot->shapes[o->type].flags & HEAP_TYPE_FREE) {
		count_free(s, o->address, p->end - o->address);
		return 0;
	}
	if (o->size < HEAP_INDEX_LEAST_SIZE)
		return err_set(e, ERR_PROTOCOL, 0, "the heap walk cannot be used: an object of %u bytes", (unsigned)o->size);
	p->count++;
	s->count++;
	return heap_index_add(&s->n->index, o->address, e);
}

static int piece_by_start(const void *a, const void *b)
{
	const struct heap_piece *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int number_pieces(struct heap_nodes *n, struct err *e)
{
	uint64_t first = 0, end = 0;

	if (n->piece_count)
		qsort(n->pieces, n->piece_count, sizeof *n->pieces, piece_by_start);
	for (size_t i = 0; i < n->piece_count; i++) {
		struct heap_piece *p = &n->pieces[i];
		if (p->start < end)
			return err_set(e, ERR_PROTOCOL, 0, "the heap walk cannot be used: objects overlap at %llx", (unsigned long long)p->start);
		end = p->end;
		p->first = (uint32_t)first;
		first += p->count;
	}
	return 0;
}

/* Over the references of the current object, which are two varints each: eight bytes at once, by the bits that end a varint. (Who made
 * the snapshot has read them all one by one.) */
static void skip_references(struct heap_cursor *c)
{
	uint64_t left = 2 * c->edges_left, word;
	const uint8_t *at = c->at;

	for (; left >= 8 && c->end - at >= 8; at += 8) {
		memcpy(&word, at, sizeof word);
		word = (~word & UINT64_C(0x8080808080808080)) >> 7;
		left -= word * UINT64_C(0x0101010101010101) >> 56;
	}
	while (left && at < c->end)
		left -= !(*at++ & 0x80);
	c->bad = c->bad || left;
	c->edges_left = 0;
	c->at = at;
}

int heap_nodes_scan(struct heap_nodes *n, struct err *e)
{
	struct scan s = {.n = n};
	struct heap_string_record unread;

	heap_snapshot_cursor(n->snapshot, &s.c);
	for (;;) {
		s.at = s.c.at;
		s.last_end = s.c.last_end;
		if (!heap_snapshot_object(&s.c))
			break;
		if (scan_object(&s, e) < 0)
			return -1;
		if (s.c.edges_left)
			skip_references(&s.c);
		if (s.c.string_left)
			heap_cursor_string(&s.c, &unread);
	}
	if (s.c.bad)
		return err_set(e, ERR_PROTOCOL, 0, "the heap walk cannot be used: it is malformed");
	n->edges = s.c.edges;
	if (s.count + n->snapshot->root_count > (UINT64_C(1) << 31))
		return err_set(e, ERR_INVALID, 0, "the heap has more objects (%llu) than can be analysed", (unsigned long long)s.count);
	n->count = (uint32_t)s.count;
	return number_pieces(n, e);
}
