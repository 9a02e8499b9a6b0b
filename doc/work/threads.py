# SPDX-License-Identifier: GPL-2.0-only
"""Three threads of one interpreter that compute at the same time, as far as it lets them."""
import threading


def add_up():
    while True:
        sum(i * i for i in range(10000))


for _ in range(3):
    threading.Thread(target=add_up).start()
