"""Run the fake kubelet: `python -m tests.cluster.fake_kubelet --kubeconfig FILE --nodes 3`."""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path

from tests.cluster.fake_kubelet.api import Api
from tests.cluster.fake_kubelet.kubelet import FakeKubelet
from tests.cluster.fake_kubelet.logs import LogServer
from tests.cluster.fake_kubelet.nodes import PORT, Node


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--capacity", type=json.loads, default={}, help='as in {"nvidia.com/gpu": "8"}')
    parser.add_argument("--address", required=True, help="where the API server finds this kubelet's logs")
    parser.add_argument("--cert", type=Path, required=True)
    parser.add_argument("--key", type=Path, required=True)
    chosen = parser.parse_args()
    nodes = [
        Node(f"node-{number}", f"10.0.0.{number + 1}", chosen.address, chosen.capacity)
        for number in range(chosen.nodes)
    ]
    asyncio.run(run(chosen, FakeKubelet(Api(chosen.kubeconfig), nodes)))


async def run(chosen: argparse.Namespace, kubelet: FakeKubelet) -> None:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(LogServer(chosen.cert, chosen.key, kubelet.annotations).serve(chosen.address, PORT))
        tasks.create_task(kubelet.run())


if __name__ == "__main__":
    main()
