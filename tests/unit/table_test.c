// SPDX-License-Identifier: GPL-2.0-only
/* Tables of numbers in each format. */
#include "output/table.h"
#include "unit.h"

static const struct metric calls = { "test_calls_total", "Calls." };

static void print_note(FILE *f, const void *data)
{
	fprintf(f, "  %s\n", (const char *)data);
}

static void print_json_note(struct json *json, const void *data)
{
	json_text(json, "note", data);
}

static const struct table_column columns[] = {
	{ "pid", "PID", CELL_UINT, -5, .label = "pid" },
	{ "comm", "COMM", CELL_COMM, -4, .label = "comm" },
	{ "calls", "CALLS", CELL_UINT, 6, .metric = &calls },
	{ "total_ns", "TIME", CELL_TIME, 10 },
	{ "p50_ns", "P50", CELL_SPAN, 6 },
	{ "file", "FILE", CELL_TEXT, -4 },
	{ .kind = CELL_NESTED, .print = print_note, .print_json = print_json_note },
};

static struct table table = { "test", columns, ARRAY_SIZE(columns), ~0U };

AFTER_EACH()
{
	table = (struct table){ "test", columns, ARRAY_SIZE(columns), ~0U };
}

static void add_rows(struct table_output *to)
{
	table_head(to, &table);
	table_row(to, &table,
		  (const struct cell[]){ { .n = 1 },
					 { .text = "a,\"b\"\n" },
					 { .n = 7 },
					 { .n = 1234567 },
					 { .x = 1500 },
					 { .text = "/x" },
					 { .data = "first" } });
	table_row(to, &table,
		  (const struct cell[]){ { .n = 23 },
					 { .text = "" },
					 { .n = 0 },
					 { .n = 0 },
					 { .is_unknown = true },
					 { .text = NULL },
					 { .data = "second" } });
}

static char *written(const struct table_format *format)
{
	return PRINTED(f, {
		struct table_output to = { .f = f, .format = format, .metrics = metrics_new() };

		add_rows(&to);
		if (format == &metrics_table)
			metrics_write(f, to.metrics, 0);
		metrics_free(to.metrics);
	});
}

TEST(text_is_aligned_and_has_what_belongs_to_a_row_below_it)
{
	CHECK_STR(written(&text_table), "PID   COMM  CALLS  TIME (us)    P50 FILE\n"
					"1     a,\"b\"\\x0a      7   1234.567 1.50us /x\n"
					"  first\n"
					"23    [no name]      0      0.000      - ?\n"
					"  second\n");
}

TEST(columns_that_do_not_fit_are_left_out)
{
	table.max_width = 30;
	CHECK_HAS(written(&text_table), "PID   COMM  CALLS  TIME (us)\n",
		  "1     a,\"b\"\\x0a      7   1234.567\n");
	table.max_width = 11;
	CHECK_HAS(written(&text_table), "PID   COMM\n");
}

TEST(json_omits_what_is_unknown)
{
	CHECK_STR(written(&json_table),
		  "{\"type\":\"test\",\"pid\":1,\"comm\":\"a,\\\"b\\\"\\u000a\",\"calls\":7,"
		  "\"total_ns\":1234567,\"p50_ns\":1500,\"file\":\"/x\",\"note\":\"first\"}\n"
		  "{\"type\":\"test\",\"pid\":23,\"comm\":\"\",\"calls\":0,\"total_ns\":0,"
		  "\"note\":\"second\"}\n");
}

TEST(csv_has_a_header_and_quotes_fields)
{
	CHECK_STR(written(&csv_table), "type,pid,comm,calls,total_ns,p50_ns,file\n"
				       "test,1,\"a,\"\"b\"\"\\x0a\",7,1234567,1500,/x\n"
				       "test,23,,0,0,,\n");
}

TEST(reports_in_one_file_have_one_header)
{
	table.shown = 1;
	CHECK_STR(PRINTED(f,
			  {
				  struct table_output to = { .f = f,
							     .format = &csv_table,
							     .duration_ns = 5 };

				  add_rows(&to);
				  to.start_unix_ns = 5;
				  add_rows(&to);
			  }),
		  "type,start_unix_ns,duration_ns,pid\n"
		  "test,0,5,1\ntest,0,5,23\ntest,5,5,1\ntest,5,5,23\n");
}

TEST(metrics_have_labels_and_no_series_of_nothing)
{
	CHECK_STR(written(&metrics_table),
		  "# HELP test_calls_total Calls.\n"
		  "# TYPE test_calls_total counter\n"
		  "test_calls_total{pid=\"1\",comm=\"a,\\\"b\\\"\\\\x0a\"} 7\n");
	table.shown = TABLE_COLUMN(2);
	CHECK_HAS(written(&metrics_table), "\ntest_calls_total 7\n");
}

TEST(times_fit_into_six_characters)
{
	static const struct {
		double ns;
		const char *text;
	} cases[] = {
		{ 0, "   0ns\n" },	{ 999.4, " 999ns\n" },	 { 999.5, "1.00us\n" },
		{ 1234, "1.23us\n" },	{ 9994, "9.99us\n" },	 { 9996, "10.0us\n" },
		{ 99949, "99.9us\n" },	{ 99951, " 100us\n" },	 { 999499, " 999us\n" },
		{ 999501, "1.00ms\n" }, { 1e9, " 1.00s\n" },	 { 59.96e9, " 60.0s\n" },
		{ 3600e9, " 3600s\n" }, { 99999e9, "99999s\n" },
	};
	struct cell cells[ARRAY_SIZE(columns)] = {};

	table.shown = TABLE_COLUMN(4);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cells[4].x = cases[i].ns;
		CHECK_STR(PRINTED(f,
				  {
					  struct table_output to = { .f = f,
								     .format = &text_table };

					  table_row(&to, &table, cells);
				  }),
			  cases[i].text);
	}
}

static const struct table_column hist_columns[] = {
	{ .title = "pid", .label = "pid" },
	{ "comm", "", CELL_COMM },
	{ .kind = CELL_HIST },
};

static char *hist_written(const struct table_format *format, uint32_t shown)
{
	const struct table hists = { "histogram", hist_columns, 3, shown, .unit = &hist_usecs };
	struct hist *hist = hist_new();
	char *text;

	hist_record(hist, hist_fixed(&hist_usecs, 3000));
	text = PRINTED(f, {
		struct table_output to = { .f = f, .format = format };

		table_head(&to, &hists);
		table_row(&to, &hists,
			  (const struct cell[]){
				  { .text = "1 " }, { .text = "init" }, { .hist = hist } });
	});
	hist_free(hist);
	return text;
}

TEST(a_histogram_is_a_paragraph_or_its_statistics)
{
	CHECK_HAS(hist_written(&text_table, ~0U), "\npid = 1 init\n     usecs   ",
		  "\ncount 1  avg 3.00");
	CHECK(!strncmp(hist_written(&text_table, TABLE_COLUMN(2)), "     usecs  ", 12));
	CHECK_STR(hist_written(&csv_table, ~0U),
		  "type,comm,unit,count,average,p50,p90,p99,p99_9,max\n"
		  "histogram,init,usecs,1,3,3,3,3,3,3\n");
}
