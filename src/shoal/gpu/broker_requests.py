"""What a request to the broker says, read within bounds, and how it is refused."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request

from shoal.pool.lease import LeaseState

BODY_BYTES = 1 << 20
BODY_SECONDS = 10.0
"""How large a body may be, and how long it may take to come."""

READ_BYTES = 8 * BODY_BYTES
"""Of a body that is too large so much is read and thrown away: who still sends does not see the answer."""

LONGEST_WAIT_SECONDS = 30.0


class Refusal(Exception):
    """Answered with `code` and `{"error": …}`, and written into the audit log."""

    def __init__(self, code: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


async def body_of(request: Request, type: Any) -> Any:
    """The body as `type`; None where the endpoint takes none. Raises Refusal."""
    if type is None:
        return None
    body, size = bytearray(), 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                size += len(chunk)
                if size <= BODY_BYTES:
                    body += chunk
                elif size > READ_BYTES:
                    break
    except TimeoutError:
        raise Refusal(408, f"the body did not come within {BODY_SECONDS:g} s") from None
    if size > BODY_BYTES:
        raise Refusal(413, f"a body has {BODY_BYTES} bytes at most")
    try:
        return TypeAdapter(type).validate_json(bytes(body))
    except ValidationError as fault:
        told = [f"{'.'.join(map(str, each['loc'])) or 'body'}: {each['msg']}" for each in fault.errors()[:5]]
        raise Refusal(422, "; ".join(told)) from None


def tenant_of(request: Request) -> str:
    """The tenant that the path names. Raises Refusal."""
    name: str = request.path_params["tenant"]
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", name):
        raise Refusal(422, f"{name[:80]!r} is no name of a tenant: lower-case letters, digits and dashes")
    return name


def seconds_of(request: Request) -> float:
    """How long the answer may wait, by the query. Raises Refusal."""
    text = request.query_params.get("wait", "0")
    if not re.fullmatch(r"\d{1,4}(\.\d{1,3})?", text):
        raise Refusal(422, f"wait: {text[:20]!r} is no number of seconds")
    state = request.query_params.get("state")
    if state is not None and state not in list(LeaseState):
        raise Refusal(422, f"state: {state[:20]!r} is none of {', '.join(LeaseState)}")
    return min(float(text), LONGEST_WAIT_SECONDS)
