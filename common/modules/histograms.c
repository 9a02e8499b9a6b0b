// SPDX-License-Identifier: GPL-2.0-only
/*
 * Module of histogram tools. The single histogram without keys is counted per CPU and never reset:
 * a report shows the difference from the previous one. Histograms by key are in two tables used
 * alternately; the one with the largest total is printed last, next to the prompt.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/idmap.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/order.h"
#include "base/strpool.h"
#include "modules/cgroup_filter.h"
#include "modules/numbers.h"
#include "modules/histograms.h"
#include "process/procstate.h"
#include "run/bpfmap.h"
#include "run/loss.h"

/* Declared size of hist_labels (bpf/lib/hist.bpf.h). There are at most --entries keys. */
#define LABELS_MIN 16384

struct keyed_hist {
	uint64_t id; /* the key; per container: address of its interned id */
	struct hist *hist;
};

struct hist_list {
	struct idmap by_id; /* histograms by id + 1, since ids may be 0 */
	struct keyed_hist **items;
	size_t count, cap;
	const struct run *run;
	struct strpool *containers; /* interned container ids; NULL: not per container */
};

struct histograms {
	bool in_ns, in_ms, timestamps;
	uint32_t entries;
	struct hist *before; /* the histogram without keys at the last report */
	struct map_pair tables;
	struct cgroups *cgroups; /* NULL: names of cgroups are not requested */
};

static const struct histograms defaults = {
	.entries = 32768,
	.tables = { .slot = "hist_tables", .first = "hist_table" },
};

static const struct opt histograms_opts[] = {
	{ 'm', "milliseconds", NULL, OPT_FLAG(struct histograms, in_ms),
	  "print milliseconds, not microseconds", "nanoseconds" },
	{ 'N', "nanoseconds", NULL, OPT_FLAG(struct histograms, in_ns), "print nanoseconds" },
	{ 'T', "timestamp", NULL, OPT_FLAG(struct histograms, timestamps),
	  "print the time of day above each report" },
	{ 0, "entries", "N", OPT_UINT(struct histograms, entries, 64, 1 << 24),
	  "maximum buckets over all histograms (default 32768)" },
	{},
};

DEFINE_STATE(struct histograms, histograms_of, histograms_module)

int histograms_refuse_units(const struct run *run, const char *where)
{
	return run_refuse(run, (const char *[]){ "milliseconds", "nanoseconds", NULL }, where);
}

int histograms_refuse(const struct run *run, const char *where)
{
	return run_refuse(run, (const char *[]){ "timestamp", "entries", NULL }, where);
}

static const struct hist_grouping *grouping_of(const struct run *run)
{
	const struct histograms_spec *spec = run_spec(run, &histograms_module);

	return spec ? spec->grouping(run) : NULL;
}

const struct hist_unit *histograms_unit(const struct run *run)
{
	const struct histograms_spec *spec = run_spec(run, &histograms_module);
	const struct histograms *hists = histograms_of(run);
	const struct hist_unit *unit = spec && spec->unit ? spec->unit(run) : NULL;

	return unit ? unit : hists->in_ns ? &hist_nsecs : hists->in_ms ? &hist_msecs : &hist_usecs;
}

static int check_histograms(struct run *run)
{
	static const char *const about_text[] = { "timestamp", NULL };
	const struct histograms *hists = histograms_of(run);

	if (run_refuse_but_in_text(run, about_text))
		return -EINVAL;
	if (run->is_metrics && (hists->in_ns || hists->in_ms))
		return msg_error(
			"-m and -N have no effect with --format prometheus, which uses seconds");
	return 0;
}

/* Leaves out the tables by key, which a single histogram doesn't need. */
static void leave_out_by_key(const struct run *run)
{
	map_pair_leave_out(run, &histograms_of(run)->tables);
	map_leave_out(run, "hist_labels");
}

static int leave_out_histograms(struct run *run)
{
	leave_out_by_key(run);
	map_leave_out(run, "hist_all");
	return 0;
}

static int configure_histograms(struct run *run)
{
	const struct histograms *hists = histograms_of(run);
	const struct hist_unit *unit = histograms_unit(run);
	const struct histograms_spec *spec = run_spec(run, &histograms_module);
	struct hist_settings settings = { .mult = unit->mult, .shift = unit->shift };

	if (spec && spec->in_interrupts)
		map_fill_at_load(run);
	settings.has_turns = run_has_turns(run);
	map_pair_configure(run, &hists->tables, hists->entries, settings.has_turns);
	loss_name_option(run, "entries");
	if (hists->entries > LABELS_MIN)
		bpf_map__set_max_entries(map_find(run, "hist_labels"), hists->entries);
	if (!grouping_of(run))
		leave_out_by_key(run);
	return map_set_settings(run, ".rodata.hist", &settings, sizeof(settings));
}

static int start_histograms(struct run *run)
{
	const struct hist_grouping *grouping = grouping_of(run);

	if (!grouping || !(grouping->with_cgroup || grouping->by_container))
		return 0;
	return cgroup_names_start(run, &histograms_of(run)->cgroups);
}

uint32_t histograms_entries(const struct run *run)
{
	return histograms_of(run)->entries;
}

void histograms_print_time(const struct run *run)
{
	char text[CLOCK_TIME_OF_DAY_SIZE];

	if (histograms_of(run)->timestamps)
		fprintf(run->out, "%s\n", clock_time_of_day(text));
}

/* ---- rows of histograms ---- */

enum { BY, ID, NAME, TITLE, SERIES, COMM, PATH, CONTAINER, UNIT, HIST };

/* Columns of a row. Text and metrics print one name of a key, JSON and CSV all known names. */
static const struct table_column columns[] = {
	[BY] = { "by" },
	[ID] = { "id", .kind = CELL_UINT },
	[NAME] = { "name" },
	[TITLE] = {}, /* TITLE and SERIES are named by the grouping's key */
	[SERIES] = {},
	[COMM] = { "comm", "", CELL_COMM, .label = "comm" },
	[PATH] = { "path", "" },
	[CONTAINER] = { "container_id", .label = "container_id" },
	[UNIT] = { "unit_name" },
	[HIST] = { .kind = CELL_HIST },
};

/* The output of a report's rows. */
struct hist_rows {
	struct table_output *to;
	struct table table;
	struct table_column columns[ARRAY_SIZE(columns)];
	struct metric metric;
};

static uint32_t shown_columns(const struct hist_grouping *grouping)
{
	uint32_t shown = TABLE_COLUMN(BY) | TABLE_COLUMN(TITLE) | TABLE_COLUMN(HIST);

	if (!grouping)
		return TABLE_COLUMN(HIST);
	if (grouping->by_container)
		return shown | TABLE_COLUMN(CONTAINER);
	shown |= TABLE_COLUMN(SERIES);
	if (grouping->names || grouping->name_of)
		shown |= TABLE_COLUMN(NAME);
	if (!grouping->names && (!grouping->name_of || grouping->with_comm))
		shown |= TABLE_COLUMN(ID);
	if (grouping->with_comm)
		shown |= TABLE_COLUMN(COMM);
	if (grouping->with_cgroup)
		shown |= TABLE_COLUMN(PATH) | TABLE_COLUMN(CONTAINER) | TABLE_COLUMN(UNIT);
	return shown;
}

static void begin_rows(struct run *run, struct hist_rows *rows)
{
	const struct histograms_spec *spec = run_spec(run, &histograms_module);
	const struct hist_grouping *grouping = grouping_of(run);

	*rows = (struct hist_rows){
		.to = numbers_begin(run),
		.table = { "histogram", rows->columns, ARRAY_SIZE(columns) },
		.metric = { spec->metric.name, spec->metric.help, METRIC_HISTOGRAM },
	};
	rows->table.shown = shown_columns(grouping);
	rows->table.unit = histograms_unit(run);
	memcpy(rows->columns, columns, sizeof(columns));
	rows->columns[HIST].metric = &rows->metric;
	if (grouping)
		rows->columns[TITLE].title = rows->columns[SERIES].label = grouping->key;
	if (rows->to->format == &text_table) {
		fputc('\n', run->out);
		histograms_print_time(run);
	}
	table_head(rows->to, &rows->table);
}

static void write_all(const struct hist_rows *rows, const struct hist *hist)
{
	const struct cell cells[ARRAY_SIZE(columns)] = { [HIST] = { .hist = hist } };

	table_row(rows->to, &rows->table, cells);
}

static const char *name_of(const struct hist_grouping *grouping, uint64_t id, const char *label,
			   char buf[HIST_TEXT_MAX])
{
	if (grouping->name_of)
		return grouping->name_of(id, label, buf);
	return grouping->names ? grouping->names[id] : NULL;
}

/* Writes a key's histogram. label: the name that BPF recorded with the key; "": none. */
static void write_keyed(const struct run *run, const struct hist_rows *rows,
			const struct keyed_hist *item, const char *label)
{
	const struct hist_grouping *grouping = grouping_of(run);
	char buf[HIST_TEXT_MAX], number[24], title[HIST_TEXT_MAX + 1];
	const char *name = name_of(grouping, item->id, label, buf);
	const char *path = "", *container = "", *unit = "";
	const struct cgroup *cgroup = NULL;

	if (grouping->with_cgroup)
		cgroup = cgroups_find(histograms_of(run)->cgroups, item->id);
	if (cgroup) {
		path = cgroup->path;
		container = cgroup->container.id;
		unit = cgroup->container.unit;
	}
	if (grouping->by_container) {
		container = (const char *)(uintptr_t)item->id;
		name = container && *container ? container : "none";
	}
	snprintf(number, sizeof(number), "%llu", (unsigned long long)item->id);
	snprintf(title, sizeof(title), "%s%s", name ?: number,
		 grouping->with_comm || !name ? " " : "");
	table_row(rows->to, &rows->table,
		  (const struct cell[]){
			  [BY] = { .text = grouping->key },
			  [ID] = { .n = item->id, .is_unknown = name },
			  [NAME] = { .text = name },
			  [TITLE] = { .text = title },
			  [SERIES] = { .text = name
						       ?: *path ? path
								: number },
			  [COMM] = { .text = label },
			  [PATH] = { .text = path },
			  [CONTAINER] = { .text = container },
			  [UNIT] = { .text = unit },
			  [HIST] = { .hist = item->hist },
		  });
}

/* ---- the histogram without keys ---- */

int histograms_configure_all(const struct run *run, bool is_wanted)
{
	struct hist_settings settings = { hist_usecs.mult, hist_usecs.shift };

	if (is_wanted)
		return map_set_settings(run, ".rodata.hist", &settings, sizeof(settings));
	map_leave_out(run, "hist_all");
	return 0;
}

int histograms_read_all(const struct run *run, struct hist *all)
{
	int fd = bpf_map__fd(map_find(run, "hist_all")), n_cpus = libbpf_num_possible_cpus();
	struct hist_octave *per_cpu = mem_zalloc((size_t)n_cpus, sizeof(*per_cpu));
	int err = 0;

	for (uint32_t octave = 0; !err && octave < HIST_OCTAVES; octave++) {
		err = bpf_map_lookup_elem(fd, &octave, per_cpu);
		for (int cpu = 0; !err && cpu < n_cpus; cpu++)
			hist_merge_octave(all, octave, &per_cpu[cpu]);
	}
	free(per_cpu);
	return err ? msg_errno(err, "histogram: read failed") : 0;
}

static int report_all(struct run *run, const struct hist_rows *rows)
{
	struct histograms *hists = histograms_of(run);
	struct hist *now = hist_new(), *shown = hist_new();
	int err = histograms_read_all(run, now);

	hist_merge(shown, now);
	if (hists->before)
		hist_subtract(shown, hists->before);
	if (!err)
		write_all(rows, shown);
	if (!err && !run->is_peek) {
		run->recorded += hist_count(shown);
		hist_free(hists->before);
		hists->before = now;
		now = NULL;
	}
	hist_free(now);
	hist_free(shown);
	return err;
}

/* ---- histograms by key ---- */

static struct hist *find_hist(struct hist_list *list, uint64_t id)
{
	struct keyed_hist *item = idmap_find(&list->by_id, id + 1);

	if (item)
		return item->hist;
	item = mem_zalloc(1, sizeof(*item));
	item->id = id;
	item->hist = hist_new();
	idmap_add(&list->by_id, id + 1, item);
	*MEM_APPEND(list->items, list->count, list->cap) = item;
	return item->hist;
}

static void free_keyed(void *value)
{
	struct keyed_hist *item = value;

	hist_free(item->hist);
	free(item);
}

const struct hist *histograms_of_key(const struct hist_list *list, uint64_t id)
{
	const struct keyed_hist *item = idmap_find(&list->by_id, id + 1);

	return item ? item->hist : NULL;
}

/* Returns the id of a cgroup's container histogram. All cgroups outside of containers share one. */
static uint64_t container_of_cgroup(const struct hist_list *list, uint64_t id)
{
	const struct cgroup *cgroup = cgroups_find(histograms_of(list->run)->cgroups, id);
	const char *name = cgroup ? cgroup->container.id : "";

	return (uintptr_t)strpool_intern(list->containers, name);
}

static void collect_octave(const void *key_data, const void *value, void *arg)
{
	const struct hist_key *key = key_data;
	struct hist_list *list = arg;
	uint64_t id = list->containers ? container_of_cgroup(list, key->id) : key->id;

	if (key->octave < HIST_OCTAVES)
		hist_merge_octave(find_hist(list, id), (uint32_t)key->octave, value);
}

static int by_total(const void *a, const void *b)
{
	const struct keyed_hist *x = *(struct keyed_hist *const *)a;
	const struct keyed_hist *y = *(struct keyed_hist *const *)b;

	return order_u64(hist_sum(x->hist), hist_sum(y->hist)) ?: order_u64(x->id, y->id);
}

static void write_named(const struct run *run, const struct hist_rows *rows,
			const struct keyed_hist *item)
{
	char label[HIST_NAME_LEN + 1] = {};

	if (!item->id)
		memcpy(label, PROCESS_OTHERS, sizeof(PROCESS_OTHERS));
	else
		bpf_map_lookup_elem(bpf_map__fd(map_find(run, "hist_labels")), &item->id, label);
	write_keyed(run, rows, item, label);
}

static void count_values(struct run *run, const struct keyed_hist *item)
{
	const struct hist_grouping *grouping = grouping_of(run);

	if (!run->is_peek && !(grouping->is_repeated && grouping->is_repeated(item->id)))
		run->recorded += hist_count(item->hist);
}

static int report_by_key(struct run *run, const struct hist_rows *rows)
{
	const struct histograms_spec *spec = run_spec(run, &histograms_module);
	struct hist_list list = { .run = run };
	int err;

	if (grouping_of(run)->by_container)
		list.containers = strpool_new();
	err = map_pair_read(run, &histograms_of(run)->tables, collect_octave, &list);
	SORT(list.items, list.count, by_total);
	for (size_t i = 0; !err && i < list.count; i++) {
		write_named(run, rows, list.items[i]);
		count_values(run, list.items[i]);
	}
	if (!err && spec->conclude)
		spec->conclude(run, rows->to, &list);
	idmap_free(&list.by_id, free_keyed);
	free(list.items);
	strpool_free(list.containers);
	return err;
}

int histograms_report(struct run *run)
{
	struct hist_rows rows;
	int err;

	begin_rows(run, &rows);
	err = grouping_of(run) ? report_by_key(run, &rows) : report_all(run, &rows);
	if (!err)
		numbers_end(run);
	return err;
}

static void finish_histograms(struct run *run)
{
	hist_free(histograms_of(run)->before);
	cgroups_free(histograms_of(run)->cgroups);
}

const struct module histograms_module = {
	.title = "histogram",
	.opts = histograms_opts,
	.state = DEFAULTS(defaults),
	.check = check_histograms,
	.configure = configure_histograms,
	.leave_out = leave_out_histograms,
	.start = start_histograms,
	.finish = finish_histograms,
};
