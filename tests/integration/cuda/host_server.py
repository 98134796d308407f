"""The server of a lease, as an agent starts it, but for its driver: python -m tests.integration.cuda.host_server."""

from __future__ import annotations

from shoal.cuda.driver import Driver
from shoal.cuda.server import __main__ as server
from shoal.cuda.server.offer import Offer
from tests.integration.cuda.host_driver import HostDriver


class HostOffer(Offer):
    def prepare(self) -> None:
        pass

    def driver(self) -> Driver:
        return HostDriver([(each.model, each.memory) for each in self.gpus])


if __name__ == "__main__":
    server.Offer = HostOffer  # type: ignore[misc]
    server.main()
