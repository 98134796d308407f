"""The pool of GPUs, PURE: what there is, what is asked, and where it goes. No I/O, no clock.

`place(inventory, request, policy)` decides and changes nothing; `inventory.take` and `inventory.release` make it so.
`decide(ledger, now)` is the broker's heart: it ends leases and grants them. `Holdings` is the agent's.
"""

from shoal.pool.gang import place_gang
from shoal.pool.inventory import GPU, Host, Inventory, Overdrawn
from shoal.pool.placement import place
from shoal.pool.request import Locality, Mode, Placement, Request, Share, Unplaceable
from shoal.pool.workload import Workload

__all__ = [
    "GPU",
    "Host",
    "Inventory",
    "Locality",
    "Mode",
    "Overdrawn",
    "Placement",
    "Request",
    "Share",
    "Unplaceable",
    "Workload",
    "place",
    "place_gang",
]
