// SPDX-License-Identifier: GPL-2.0-only
/* The end of what is traced; see target_end.h. */
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/loop.h"
#include "base/msg.h"
#include "modules/target_end.h"
#include "process/procstate.h"
#include "run/bpfmap.h"

#define OF_THREAD O_EXCL /* PIDFD_THREAD, since 6.9 (include/uapi/linux/pidfd.h) */

static enum loop_verdict on_ended(int fd, void *arg);

static int watch_one(struct target_end *end, uint32_t id)
{
	int fd = (int)syscall(SYS_pidfd_open, id, end->threads ? OF_THREAD : 0), err;

	if (fd < 0)
		return -errno;
	err = loop_watch(end->run->loop, fd, on_ended, end);
	if (err)
		close(fd);
	else
		end->n_left++;
	return err;
}

/* One that has ended stays in the map until its parent has asked for its status. */
static void watch_followed(const void *tgid, const void *value, void *end)
{
	uint32_t pid = *(const uint32_t *)tgid;

	(void)value;
	if (!process_has_ended((pid_t)pid))
		watch_one(end, pid);
}

/* Their numbers may be others' from now on. */
static void drop_ended(const struct target_end *end)
{
	int fd = bpf_map__fd(map_find(end->run, end->threads ? "filter_tids" : "filter_tgids"));

	for (size_t i = 0; i < end->n; i++)
		if (process_has_ended((pid_t)end->ids[i]) && !bpf_map_delete_elem(fd, &end->ids[i]))
			msg_debug("%s %u has ended", end->threads ? "thread" : "process",
				  end->ids[i]);
}

static enum loop_verdict on_ended(int fd, void *arg)
{
	struct target_end *end = arg;

	close(fd);
	if (--end->n_left) {
		drop_ended(end);
		return LOOP_GO;
	}
	if (end->follows)
		map_read(bpf_map__fd(map_find(end->run, "filter_tgids")), false, watch_followed,
			 end);
	if (end->n_left)
		return LOOP_GO;
	msg_info("what was traced has ended");
	return LOOP_STOP;
}

int target_end_watch(struct target_end *end)
{
	int err = 0;

	for (size_t i = 0; i < end->n && (!err || err == -ESRCH); i++)
		err = watch_one(end, end->ids[i]);
	if (end->threads && err == -EINVAL) {
		msg_debug("the end of threads can't be watched on this kernel");
		return 0;
	}
	if (err == -ESRCH && end->n_left)
		return 0;
	return err ? msg_errno(err, "watching for the end of what is traced") : 0;
}
