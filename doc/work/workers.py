# SPDX-License-Identifier: GPL-2.0-only
# One thread gives work to another, which waits for it: for the examples of offcputime.
import queue
import threading
import time

work = queue.Queue()


def consume():
    while True:
        sum(range(work.get()))


threading.Thread(target=consume, daemon=True).start()
while True:
    time.sleep(0.01)
    work.put(10000)
