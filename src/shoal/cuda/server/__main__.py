"""The process that serves one lease.

    python -m shoal.cuda.server     with one line of JSON on its standard input:
        {"host": ADDRESS, "token_hash": …, "gpus": [{"id": …, "model": …, "memory_mib": …}, …], "library": PATH}

`gpus` are those of the lease on this host, by NVML's UUIDs or as software-N, with as much memory of each as it may use.
`library`, which may be left out, is NVIDIA's driver where that is not found by its name.

It says on its standard output, a JSON object a line, `{"address": "HOST:PORT"}` once it answers, `{"used": true}` when
it was used, about once a second, and `{"refused": WHY, "client": ADDRESS}` of each whom it turned away. It ends with
the process that started it.
"""

from __future__ import annotations

import json
import os
import signal
import sys

from shoal.cuda.server.listener import die_with_parent, listen
from shoal.cuda.server.offer import Offer


def main() -> None:
    parent = os.getppid()
    die_with_parent(parent)
    given = json.loads(sys.stdin.readline())
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the agent's, which ends its servers
    listen(given["host"], given["token_hash"], Offer.of(given["gpus"], given.get("library", "libcuda.so.1")))


if __name__ == "__main__":
    main()
