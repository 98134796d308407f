"""Who may see the dashboard and act on it.

The terminal shows a URL with a token that opens one browser: it is used up by the first visit, which gets a cookie
instead, and the terminal shows another. So a URL that stays in a history, a log or a screenshot opens nothing.

Actions are taken from the dashboard's own pages alone: the cookie goes with no request of another site
(SameSite=Strict), and the browser's word on where a request comes from is asked for as well. A page of another site
that has its name lead to this machine fails by the name of the host (`TrustedHostMiddleware`). Pages run no script
but the dashboard's own files (Content-Security-Policy).
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

OPEN = ("/static/", "/open")
"""Paths that need no cookie: files of the package, and the door itself."""

READING = ("GET", "HEAD")

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self'",
            "connect-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",  # not none: then browsers would not tell the origin of a POST
    "X-Content-Type-Options": "nosniff",
}


class Door:
    """The token that opens the next browser, and those that are open. `on_open` is told when it has been used."""

    def __init__(self, port: int, on_open: Callable[[], None] = lambda: None) -> None:
        # Cookies are shared by all ports of a host.
        self.cookie = f"shoal-{port}"
        self.token = secrets.token_urlsafe(32)
        self._on_open = on_open
        self._sessions: list[str] = []

    def open(self, token: str) -> str | None:
        """A session for whoever has the token, which is used up; None for anything else."""
        if not _equal(token, self.token):
            return None
        self.token = secrets.token_urlsafe(32)
        session = secrets.token_urlsafe(32)
        self._sessions.append(session)
        self._on_open()
        return session

    def knows(self, connection: HTTPConnection) -> bool:
        """Whether the request comes from a browser that was let in."""
        sent = connection.cookies.get(self.cookie, "")
        return any(_equal(sent, session) for session in self._sessions)


def admit(response: Response, door: Door, session: str) -> None:
    """Let the browser that gets this response in from now on."""
    response.set_cookie(door.cookie, session, httponly=True, samesite="strict")


class Guard:
    """Middleware: answers what `refuse` makes of a sentence to whoever may not do this, and puts the headers on every
    response."""

    def __init__(self, app: ASGIApp, door: Door, refuse: Callable[[Request, str], Response]) -> None:
        self._app = app
        self._door = door
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        request = Request(scope, receive)
        problem = self._problem(request)
        app = self._refuse(request, problem) if problem else self._app
        await app(scope, receive, send_with_headers)

    def _problem(self, request: Request) -> str:
        if not request.url.path.startswith(OPEN) and not self._door.knows(request):
            return "Open the address that shoal ui has printed: this browser has not been let in."
        if request.method not in READING and not _same_origin(request.headers):
            return "This request comes from a page of another site."
        return ""


def _same_origin(headers: Headers) -> bool:
    """Browsers tell the origin with every POST; whoever does not is no browser that somebody could misuse, but there is
    no need to serve him."""
    if origin := headers.get("origin"):
        return urlsplit(origin).netloc == headers.get("host")
    return headers.get("sec-fetch-site") == "same-origin"


def _equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())
