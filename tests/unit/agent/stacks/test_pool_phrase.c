#include "agent/stacks/pool_phrase.h"

#include "agent/report/phrase.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const char *starved(double blocked, double workers, const char *place, double items)
{
	static char text[400];
	AUTO_BUF struct buf out;
	buf_init(&out, sizeof text);
	pool_phrase_starved(blocked, workers, place, items, &out);
	snprintf(text, sizeof text, "%s", buf_str(&out));
	return text;
}

Test(pool_phrase, fits_a_headline)
{
	static const char longest[] = "Company.Product.Area.Warehouse.StockReservationService.ReserveAll<Company.Product.Order>(int, string)";
	cr_expect_str_eq(starved(61, 64, "Shop.Orders.Get", 2310), "Thread pool starved: 61 of 64 workers block in Shop.Orders.Get; 2,310 items wait");
	cr_expect_str_eq(starved(2, 2, "Shop.Orders.Get", 1), "Thread pool starved: 2 of 2 workers block in Shop.Orders.Get; 1 item waits");
	cr_expect_str_eq(starved(2, 2, "", 0), "Thread pool starved: 2 of 2 workers block in code of .NET");
	cr_expect_leq(phrase_chars(starved(61, 64, longest, 0)), 80);
	cr_expect_leq(phrase_chars(starved(1000, 1000, longest, 1234567)), 80, "%s", starved(1000, 1000, longest, 1234567));
	cr_expect_leq(phrase_chars(starved(100, 100, longest, 12345)), 80, "%s", starved(100, 100, longest, 12345));
}
