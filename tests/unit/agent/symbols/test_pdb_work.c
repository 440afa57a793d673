/* Symbols that are made to be read for ever: what is counted is steps, however long one takes. */
#include "agent/symbols/pdb_points.h"
#include "agent/symbols/portable_pdb.h"
#include "agent/symbols/source_lines.h"
#include "tests/unit/agent/symbols/make_pdb.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define DOCUMENTS 4096
#define METHOD 0x06000001
#define IMAGE 0x10000

static struct bytes made;
static uint8_t *whole;
static size_t whole_bytes;

static void put_tables(struct bytes *tables, uint32_t blob)
{
	put_le(tables, 0, 4);
	put_le(tables, 0x0002, 2);
	put_le(tables, 4, 1); /* wide blobs */
	put_le(tables, 1, 1);
	put_le(tables, UINT64_C(3) << 0x30, 8);
	put_le(tables, 0, 8);
	put_le(tables, DOCUMENTS, 4);
	put_le(tables, 1, 4);
	for (int i = 0; i < DOCUMENTS; i++) {
		put_le(tables, blob, 4);
		put_le(tables, 0, 2 + 4 + 2);
	}
	put_le(tables, 1, 2);
	put_le(tables, blob, 4);
}

/* 4,096 documents and a method, to whose names and points the same `bytes` lead. */
static void make_large(const uint8_t *data, size_t bytes)
{
	static struct bytes tables, pdb, head;
	uint32_t at = 16 + 12 + 4 + 3 * 8 + 8 + 4 + 8;
	made.len = tables.len = pdb.len = head.len = 0;
	put_raw(&pdb, make_pdb_id, 20);
	put_le(&pdb, 0, 4);
	put_le(&pdb, 1u << 6, 8);
	put_le(&pdb, 1, 4);
	put_tables(&tables, 1);
	put_le(&head, 0, 1);
	put_le(&head, 0xc0 | bytes >> 24, 1);
	put_le(&head, bytes >> 16 & 0xff, 1);
	put_le(&head, bytes >> 8 & 0xff, 1);
	put_le(&head, bytes & 0xff, 1);
	put_le(&made, 0x424a5342, 4);
	put_le(&made, 1, 2);
	put_le(&made, 1, 2);
	put_le(&made, 0, 4);
	put_le(&made, 12, 4);
	put_raw(&made, "PDB v1.0\0\0\0", 12);
	put_le(&made, 0, 2);
	put_le(&made, 3, 2);
	put_stream(&made, &at, "#Pdb\0\0\0", &pdb);
	put_stream(&made, &at, "#~\0", &tables);
	put_le(&made, at, 4);
	put_le(&made, head.len + bytes, 4);
	put_raw(&made, "#Blob\0\0", 8);
	put_raw(&made, pdb.data, pdb.len);
	put_raw(&made, tables.data, tables.len);
	put_raw(&made, head.data, head.len);
	free(whole);
	whole_bytes = made.len + bytes;
	whole = malloc(whole_bytes);
	memcpy(whole, made.data, made.len);
	memcpy(whole + made.len, data, bytes);
}

static void open_large(struct portable_pdb *p, struct work_budget *b)
{
	struct err e = ERR_INIT;
	cr_assert_eq(portable_pdb_open(p, whole, whole_bytes, &e), 0, "%s", e.message);
	cr_assert_eq(portable_pdb_document_count(p), DOCUMENTS);
	p->budget = b;
	work_budget_begin_anew(b, WORK_LINES);
}

/* Parts of no length, and no separator between them. */
Test(pdb_work, documents_that_share_one_name_of_zeros_cost_a_few_steps_each)
{
	size_t bytes = SOURCE_PDB_MAX_BYTES - 65536;
	uint8_t *zeros = calloc(1, bytes);
	struct portable_pdb p;
	struct work_budget budget;
	struct buf name;
	buf_init(&name, PDB_PATH_BYTES + 1);
	make_large(zeros, bytes);
	open_large(&p, &budget);
	for (uint32_t row = 1; row <= DOCUMENTS; row++)
		cr_assert_eq(portable_pdb_document(&p, row, &name), -1, "%u", row);
	cr_expect_leq(budget.steps, DOCUMENTS * (PDB_PATH_PARTS + 1));
	cr_expect_not(work_budget_over(&budget));
	cr_expect_eq(work_thread_passed(), 1u << WORK_LINES, "and the report says that they are missing");
	buf_fini(&name);
	free(zeros);
}

/* Many pairs of 0 and a document: none of them has a line. */
static uint8_t *endless_points(size_t bytes)
{
	uint8_t *points = calloc(1, bytes);
	static const uint8_t first[] = {0, 0, 0, 9, 10, 5}; /* the signature; offset 0: line 10 */
	memcpy(points, first, sizeof first);
	for (size_t i = sizeof first + 1; i < bytes; i += 2)
		points[i] = 1;
	return points;
}

Test(pdb_work, points_longer_than_any_method_has_are_none)
{
	size_t bytes = SOURCE_PDB_MAX_BYTES - 65536;
	uint8_t *points = endless_points(bytes);
	struct portable_pdb p;
	struct pdb_line line;
	struct work_budget budget;
	make_large(points, bytes);
	open_large(&p, &budget);
	for (int i = 0; i < 100000; i++)
		cr_assert_not(portable_pdb_line(&p, METHOD, 5, &line));
	cr_expect_leq(budget.steps, 100000);
	cr_expect_eq(work_thread_passed(), 1u << WORK_LINES);
	make_large(points, PDB_POINTS_MAX_BYTES - 2);
	open_large(&p, &budget);
	cr_expect(portable_pdb_line(&p, METHOD, 5, &line));
	cr_expect(line.line == 10 && line.document == 1);
	cr_expect_leq(budget.steps, PDB_POINTS_MAX_BYTES);
	free(points);
}

static void write_process(const char *folder)
{
	static struct bytes image;
	char path[128];
	snprintf(path, sizeof path, "%s/root", folder);
	cr_assert_eq(mkdir(path, 0755), 0);
	snprintf(path, sizeof path, "%s/root/Shop.pdb", folder);
	int fd = open(path, O_WRONLY | O_CREAT, 0644);
	cr_assert_eq(write(fd, whole, whole_bytes), (ssize_t)whole_bytes);
	close(fd);
	make_image(&image, "Shop.pdb", make_pdb_id, true, true, NULL);
	snprintf(path, sizeof path, "%s/mem", folder);
	fd = open(path, O_WRONLY | O_CREAT, 0644);
	cr_assert_eq(pwrite(fd, image.data, image.len, IMAGE), (ssize_t)image.len);
	close(fd);
}

Test(pdb_work, lines_of_many_places_end_with_their_budget)
{
	char folder[] = "/tmp/drdotnet-lines-XXXXXX", command[128];
	uint8_t *points = endless_points(PDB_POINTS_MAX_BYTES - 2);
	struct source_place place;
	int found = 0;
	cr_assert_not_null(mkdtemp(folder));
	make_large(points, PDB_POINTS_MAX_BYTES - 2);
	write_process(folder);
	int proc_fd = open(folder, O_RDONLY | O_DIRECTORY);
	struct source_lines *lines = source_lines_new(proc_fd);
	struct source_module *m = source_lines_module(lines, "/Shop.dll", IMAGE);
	cr_assert_not_null(m);
	while (found < 100000 && !work_thread_passed()) {
		source_lines_find(m, METHOD, 5, &place);
		found++;
	}
	cr_expect_leq(found, WORK_STEPS / (PDB_POINTS_MAX_BYTES / 2) + 1);
	cr_expect_eq(work_thread_passed(), 1u << WORK_LINES);
	cr_expect_not(source_lines_find(m, METHOD, 5, &place));
	cr_expect_null(source_lines_module(lines, "/Other.dll", IMAGE), "no other module is read");
	source_lines_free(lines);
	close(proc_fd);
	free(points);
	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	cr_expect_eq(system(command), 0);
}
