"""With whose token the pods of a namespace ask: its tenant's, or else the operator's.

The namespace of a tenant asks with the tenant's token or not at all. Its members may delete the Secret, and what was
granted to the tenant would not bound what they take with another's.
"""

from __future__ import annotations

import base64
import re
import time

from shoal.kubernetes.operator.api import API, NotFoundError
from shoal.kubernetes.operator.kinds import SECRETS
from shoal.kubernetes.operator.views import Secret
from shoal.kubernetes.tenants.kinds import NAMESPACES
from shoal.kubernetes.tenants.names import POOL_SECRET, TENANT

KNOWN_SECONDS = 15.0
"""For how long is not looked again."""

TOKEN = re.compile(r"[!-~]{1,1000}")


class NoToken(Exception):
    """A tenant's namespace has none. The message says what to do."""


class Bearers:
    """Of namespaces, as `api` has them."""

    def __init__(self, api: API) -> None:
        self._api = api
        self._known: dict[str, tuple[float, str | NoToken | None]] = {}

    async def of(self, namespace: str) -> str | None:
        """None: the operator's own. Raises NoToken."""
        looked_at, found = self._known.get(namespace, (None, None))
        if looked_at is None or time.monotonic() - looked_at > KNOWN_SECONDS:
            try:
                found = await self._look(namespace)
            except NoToken as fault:
                found = fault
            self._known[namespace] = time.monotonic(), found
        if isinstance(found, NoToken):
            raise found
        return found

    def keep(self, namespaces: set[str]) -> None:
        """Forget the others."""
        self._known = {name: known for name, known in self._known.items() if name in namespaces}

    async def _look(self, namespace: str) -> str | None:
        try:
            labels = (await self._api.get(NAMESPACES, None, namespace)).metadata.labels
        except NotFoundError:
            return None
        if TENANT not in labels:
            return None
        try:
            return token_in(await self._api.get(SECRETS, namespace, POOL_SECRET))
        except NotFoundError:
            raise NoToken(
                f"{namespace} is a tenant's namespace, and has no Secret {POOL_SECRET} with the tenant's token for the "
                f"pool; `shoal tenant create` with --broker makes one"
            ) from None


def token_in(secret: Secret) -> str:
    """Raises NoToken for what is none: anybody who may write the Secret may have written anything."""
    try:
        token = base64.b64decode((secret.data or {}).get("token", "")).decode("ascii").strip()
    except ValueError:
        token = ""
    if not TOKEN.fullmatch(token):
        raise NoToken(f"the Secret {POOL_SECRET} has no `token` that is one word; `shoal tenant create` makes another")
    return token
