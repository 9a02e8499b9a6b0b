// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module of histogram tools. The histogram of everything is kept per CPU and never reset: a
 * report shows what has come since the one before. Histograms by key hang in a pair of tables that
 * take turns. Of several histograms, the one with the longest waits in sum comes last, next to the
 * prompt.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "abi/filter.h"
#include "run/bpfmap.h"
#include "process/cgroups.h"
#include "output/escape.h"
#include "run/run_facts.h"
#include "modules/histograms.h"
#include "base/idmap.h"
#include "run/loss.h"
#include "base/mem.h"
#include "base/msg.h"

/* As bpf/hist.bpf.h says. There are no more keys than entries. */
#define LABELS_MIN 16384

struct keyed_hist {
	uint64_t id;
	struct hist hist;
};

struct hist_list {
	struct idmap by_id; /* id + 1, since ids may be 0 */
	struct keyed_hist **items;
	size_t count, cap;
};

static bool in_ns, in_ms, timestamps, is_left_out;
static uint32_t entries = 32768;
static const struct hist_grouping *grouping;
static struct hist before; /* what has been reported of the histogram of everything */
static struct map_pair tables = { .slot = "hist_tables", .first = "hist_table" };

static const struct opt hists_opts[] = {
	{ 'm', "milliseconds", NULL, OPT_FLAG(&in_ms), "in milliseconds, not microseconds",
	  "nanoseconds" },
	{ 'N', "nanoseconds", NULL, OPT_FLAG(&in_ns), "in nanoseconds" },
	{ 'T', "timestamp", NULL, OPT_FLAG(&timestamps), "the time of day above each report" },
	{ 0, "entries", "N", OPT_UINT(&entries, 64, 1 << 24),
	  "room for results by key; a histogram takes one per power of two (default 32768)" },
	{},
};

void hists_set_grouping(const struct hist_grouping *by)
{
	grouping = by;
}

static const struct hist_unit *unit(void)
{
	return in_ns ? &hist_nsecs : in_ms ? &hist_msecs : &hist_usecs;
}

/* One histogram of everything needs none of the tables by key. */
static void leave_out_by_key(const struct run *run)
{
	map_pair_leave_out(run, &tables);
	map_leave_out(run, "hist_labels");
}

static int configure_hists(struct run *run)
{
	struct hist_settings settings = { .mult = unit()->mult, .shift = unit()->shift };

	if (is_left_out) {
		leave_out_by_key(run);
		map_leave_out(run, "hist_all");
		return 0;
	}
	settings.has_turns = run->interval_ns != 0;
	map_pair_configure(run, &tables, entries, settings.has_turns);
	loss_set_hint("entries");
	if (entries > LABELS_MIN)
		bpf_map__set_max_entries(map_find(run, "hist_labels"), entries);
	if (!grouping)
		leave_out_by_key(run);
	return map_set_settings(run, ".rodata.hist", &settings, sizeof(settings));
}

uint32_t hists_entries(void)
{
	return entries;
}

void hists_leave_out(void)
{
	is_left_out = true;
}

void hists_print_time(FILE *f)
{
	time_t now = time(NULL);
	char text[16];

	if (!timestamps)
		return;
	strftime(text, sizeof(text), "%H:%M:%S", localtime(&now));
	fprintf(f, "%s\n", text);
}

/* item NULL: of everything. comm: where the grouping has one. */
static void print_json(FILE *f, const struct keyed_hist *item, const char *comm,
		       const struct hist *hist)
{
	struct json json = json_begin_line(f, "histogram");
	char path[PATH_MAX];

	if (item) {
		json_text(&json, "by", grouping->key);
		if (!grouping->names)
			json_uint(&json, "id", item->id);
		json_text(&json, "name", grouping->names ? grouping->names[item->id] : NULL);
		json_text(&json, "comm", grouping->with_comm ? comm : NULL);
		if (grouping->with_cgroup && !cgroup_path_of(item->id, path, sizeof(path)))
			json_text(&json, "path", path);
	}
	hist_print_json(&json, hist, unit());
	json_end_line(&json);
}

/* ---- one histogram of everything ---- */

static int read_all(const struct run *run, struct hist *all)
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
	return err ? msg_errno(err, "reading the histogram") : 0;
}

static int report_all(struct run *run)
{
	struct hist now = {}, shown;
	int err = read_all(run, &now);

	if (err)
		return err;
	shown = now;
	hist_subtract(&shown, &before);
	if (run->is_json)
		print_json(run->out, NULL, NULL, &shown);
	else
		hist_print(run->out, &shown, unit());
	if (!run->is_peek) {
		before = now;
		run->recorded += hist_count(&shown);
	}
	return 0;
}

/* ---- histograms by key ---- */

static struct hist *find_hist(struct hist_list *list, uint64_t id)
{
	struct keyed_hist *item = idmap_find(&list->by_id, id + 1);

	if (item)
		return &item->hist;
	item = mem_zalloc(1, sizeof(*item));
	item->id = id;
	idmap_add(&list->by_id, id + 1, item);
	list->items = mem_grow(list->items, list->count, &list->cap, sizeof(*list->items));
	list->items[list->count++] = item;
	return &item->hist;
}

static void collect_octave(const void *key_data, const void *value, void *arg)
{
	const struct hist_key *key = key_data;

	if (key->octave < HIST_OCTAVES)
		hist_merge_octave(find_hist(arg, key->id), (uint32_t)key->octave, value);
}

static int by_total(const void *a, const void *b)
{
	const struct keyed_hist *x = *(struct keyed_hist *const *)a;
	const struct keyed_hist *y = *(struct keyed_hist *const *)b;
	double dx = hist_average(&x->hist, &hist_nsecs) * (double)hist_count(&x->hist);
	double dy = hist_average(&y->hist, &hist_nsecs) * (double)hist_count(&y->hist);

	return dx < dy ? -1 : dx > dy ? 1 : (x->id > y->id) - (x->id < y->id);
}

static void print_title(FILE *f, uint64_t id, const char *comm)
{
	char path[PATH_MAX];

	if (grouping->names) {
		fprintf(f, "%s = %s\n", grouping->key, grouping->names[id]);
		return;
	}
	fprintf(f, "%s = %llu ", grouping->key, (unsigned long long)id);
	if (grouping->with_comm)
		escape_print(f, comm, "");
	if (grouping->with_cgroup && !cgroup_path_of(id, path, sizeof(path)))
		escape_print(f, path, "");
	fputc('\n', f);
}

static void print_keyed(const struct run *run, const struct keyed_hist *item)
{
	char comm[TASK_COMM_LEN + 1] = {};

	bpf_map_lookup_elem(bpf_map__fd(map_find(run, "hist_labels")), &item->id, comm);
	if (run->is_json) {
		print_json(run->out, item, comm, &item->hist);
		return;
	}
	fputc('\n', run->out);
	print_title(run->out, item->id, comm);
	hist_print(run->out, &item->hist, unit());
}

static int report_by_key(struct run *run)
{
	struct hist_list list = {};
	int err = map_pair_read(run, &tables, collect_octave, &list);

	if (list.count)
		qsort(list.items, list.count, sizeof(*list.items), by_total);
	for (size_t i = 0; !err && i < list.count; i++) {
		print_keyed(run, list.items[i]);
		if (!run->is_peek)
			run->recorded += hist_count(&list.items[i]->hist);
	}
	idmap_free(&list.by_id, free);
	free(list.items);
	return err;
}

int hists_report(struct run *run)
{
	if (run->is_json) {
		facts_print(run);
	} else {
		fputc('\n', run->out);
		hists_print_time(run->out);
	}
	return grouping ? report_by_key(run) : report_all(run);
}

const struct module hists_module = {
	.title = "histogram",
	.opts = hists_opts,
	.configure = configure_hists,
};
