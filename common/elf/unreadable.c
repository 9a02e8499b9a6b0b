// SPDX-License-Identifier: GPL-2.0-only
/* Reports files that can't be read; see unreadable.h. */
#include <errno.h>
#include <stdbool.h>

#include "base/msg.h"
#include "elf/unreadable.h"

static bool is_failure(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -EIO;
}

void unreadable_report(int err)
{
	static bool is_reported;

	if (!is_failure(err) || is_reported)
		return;
	is_reported = true;
	msg_errno(err,
		  "files of traced programs: some can't be read (symbols missing, stacks may be "
		  "incomplete)");
}
