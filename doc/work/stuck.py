# SPDX-License-Identifier: GPL-2.0-only
"""Hangs: one thread waits for a pipe while it holds the lock that the other one needs."""
import os
import threading

lock = threading.Lock()
held = threading.Event()
reading, writing = os.pipe()


def refresh():
    with lock:
        held.set()
        os.read(reading, 1)


def serve():
    held.wait()
    with lock:
        print("served")


threading.Thread(target=refresh).start()
serve()
