// SPDX-License-Identifier: GPL-2.0-only
/* Captures of the intervals around a moment; see capture.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/msg.h"
#include "output/writer.h"
#include "run/capture.h"
#include "run/output.h"

static bool is_last(const struct capture *capture)
{
	uint32_t max = capture->once ? 1 : capture->max;

	return max && capture->n >= max;
}

static void on_condition(const char *reason, void *arg)
{
	capture_request(arg, reason);
}

int capture_start(struct capture *capture, struct loop *loop)
{
	capture->ring = mem_zalloc(capture->before + 1, sizeof(*capture->ring));
	capture->conditions.target = &capture->target;
	capture->conditions.loop = loop;
	capture->conditions.holds = on_condition;
	capture->conditions.arg = capture;
	return conditions_open(&capture->conditions);
}

void capture_request(struct capture *capture, const char *reason)
{
	uint64_t now_ns = clock_now_ns();
	char moment[CLOCK_UTC_SIZE];

	if (now_ns < capture->paused_until_ns || is_last(capture)) {
		capture->n_ignored++;
		return;
	}
	capture->n++;
	free(capture->reason);
	capture->reason = mem_strdup(reason);
	capture->moment_unix_ns = clock_wall_ns();
	msg_info("capture %" PRIu32 " at %s: %s", capture->n,
		 clock_utc(moment, capture->moment_unix_ns), reason);
	capture->is_begun = false;
	capture->n_left = capture->after;
	capture->paused_until_ns = now_ns + capture->pause_ns;
}

/* Adds a note to the output's report, and gives the file its name. */
static int name_report(const struct capture *capture, struct output *out, const char *format)
{
	writer_note(out->file, format, capture->reason, capture->moment_unix_ns);
	return output_commit(out);
}

static int name_ring(struct capture *capture, struct output *out, const char *format)
{
	int err = 0;

	for (size_t i = 0; i < capture->n_ring; i++) {
		if (!err && output_take_back(out, &capture->ring[i]))
			err = name_report(capture, out, format);
		output_drop_draft(&capture->ring[i]);
	}
	capture->n_ring = 0;
	return err;
}

/* Puts the output's report into the ring, without a name. */
static int set_aside(struct capture *capture, struct output *out)
{
	struct output_draft draft;
	int err = output_set_aside(out, &draft);

	if (err)
		return err;
	capture->ring[capture->n_ring++] = draft;
	if (capture->n_ring <= capture->before)
		return 0;
	output_drop_draft(&capture->ring[0]);
	memmove(&capture->ring[0], &capture->ring[1], --capture->n_ring * sizeof(draft));
	return 0;
}

static int name_interval(struct capture *capture, struct output *out, const char *format)
{
	struct output_draft now;
	int err = output_set_aside(out, &now);

	if (!err)
		err = name_ring(capture, out, format);
	if (!err && output_take_back(out, &now))
		err = name_report(capture, out, format);
	output_drop_draft(&now);
	if (capture->is_begun)
		capture->n_left--;
	capture->is_begun = capture->n_left > 0;
	if (!capture->is_begun) {
		free(capture->reason);
		capture->reason = NULL;
	}
	return err;
}

int capture_commit(struct capture *capture, struct output *out, const char *format)
{
	conditions_test(&capture->conditions);
	return capture->reason ? name_interval(capture, out, format) : set_aside(capture, out);
}

bool capture_is_over(const struct capture *capture)
{
	return is_last(capture) && !capture->reason;
}

void capture_finish(struct capture *capture)
{
	conditions_close(&capture->conditions);
	if (capture->ring)
		msg_info("captures: %" PRIu32 ", conditions ignored in the cool-down: %" PRIu32,
			 capture->n, capture->n_ignored);
	for (size_t i = 0; i < capture->n_ring; i++)
		output_drop_draft(&capture->ring[i]);
	free(capture->ring);
	free(capture->reason);
}
