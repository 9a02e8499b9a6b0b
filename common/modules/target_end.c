// SPDX-License-Identifier: GPL-2.0-only
/* The end of what is traced; see target_end.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/msg.h"
#include "modules/target_end.h"
#include "process/procstate.h"
#include "run/bpfmap.h"

#define OF_THREAD O_EXCL /* PIDFD_THREAD, since 6.9 (include/uapi/linux/pidfd.h) */

static enum loop_verdict on_ended(int fd, void *arg);

static int watch_one(uint32_t id, struct watched *watched)
{
	struct target_end *end = watched->end;
	int fd = (int)syscall(SYS_pidfd_open, id, end->threads ? OF_THREAD : 0), err;

	if (fd < 0)
		return -errno;
	err = loop_watch(end->run->loop, fd, on_ended, watched);
	if (err)
		close(fd);
	else
		end->n_left++;
	return err;
}

/* One that has ended stays in the map until its parent has asked for its status. */
static void watch_followed(const void *tgid, const void *value, void *arg)
{
	uint32_t pid = *(const uint32_t *)tgid;
	struct target_end *end = arg;

	(void)value;
	if (!process_has_ended((pid_t)pid))
		watch_one(pid, &end->followed);
}

/* One of several. Its number may be another's from now on. */
static void drop(const struct watched *watched)
{
	bool is_thread = watched->end->threads;
	const char *name = is_thread ? "filter_tids" : "filter_tgids";

	if (!watched->id)
		return; /* a child that was followed */
	bpf_map_delete_elem(bpf_map__fd(map_find(watched->end->run, name)), &watched->id);
	msg_info("%s %u has exited, no longer traced", is_thread ? "thread" : "process",
		 watched->id);
}

static enum loop_verdict on_ended(int fd, void *arg)
{
	const struct watched *watched = arg;
	struct target_end *end = watched->end;

	close(fd);
	if (--end->n_left) {
		drop(watched);
		return LOOP_GO;
	}
	if (end->follows)
		map_read(bpf_map__fd(map_find(end->run, "filter_tgids")), false, watch_followed,
			 end);
	if (end->n_left)
		return LOOP_GO;
	msg_info("all targets have exited");
	return LOOP_STOP;
}

int target_end_watch(struct target_end *end, const uint32_t *ids, size_t n)
{
	int err = 0;

	end->watched = mem_zalloc(n, sizeof(*end->watched));
	end->followed.end = end;
	for (size_t i = 0; i < n && (!err || err == -ESRCH); i++) {
		end->watched[i] = (struct watched){ end, ids[i] };
		err = watch_one(ids[i], &end->watched[i]);
		if (err == -ESRCH)
			drop(&end->watched[i]);
	}
	if (end->threads && err == -EINVAL) {
		msg_debug("thread exits: not watched on this kernel");
		return 0;
	}
	if (err == -ESRCH)
		return end->n_left ? 0 : msg_error("target: all processes have exited");
	return err ? msg_errno(err, "target: exit watch failed") : 0;
}

void target_end_free(struct target_end *end)
{
	free(end->watched);
}
