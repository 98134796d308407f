"""The dashboard as an application: which address answers with which page, event stream or action."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import quote

from anyio import to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from shoal.resources import ManifestError
from shoal.runs import MissingError, Run, RunError, Runs
from shoal.web import rendering, views
from shoal.web.access import Door, Guard, admit
from shoal.web.borrowing import Lender
from shoal.web.live import Page, Pages
from shoal.web.log_stream import LogStreams
from shoal.web.pool import Broker, PoolView, pool_data, pool_view

HOSTS = ["127.0.0.1", "localhost", "[::1]"]
"""The names under which a browser may reach the dashboard; also through a tunnel to this machine."""

MOST_WORKERS = 10_000

THEMES = ("auto", "light", "dark")
THEME_COOKIE = "shoal-theme"


def application(
    make_runs: Callable[[], Runs],
    door: Door,
    ending: Callable[[], bool] = lambda: False,
    broker: Broker | None = None,
) -> Starlette:
    """The dashboard over the runs that `make_runs` makes, one for each thread that needs them, and over the pool of
    `broker`. `ending` tells whether the server is about to leave."""
    return _Dashboard(Lender(make_runs), door, ending, broker).application()


class _Dashboard:
    def __init__(self, lender: Lender, door: Door, ending: Callable[[], bool], broker: Broker | None) -> None:
        self._lender = lender
        self._broker = broker
        self._door = door
        self._views = views.Views(lender)
        self._pages = Pages(ending)
        self._logs = LogStreams(lender, ending)

    def application(self) -> Starlette:
        routes = [
            Route("/open", self._open),
            Route("/", self._jobs_page),
            Route("/events", self._jobs_events),
            Route("/jobs/{name}", self._job_page),
            Route("/jobs/{name}/events", self._job_events),
            Route("/jobs/{name}/logs", self._job_logs),
            Route("/jobs/{name}/remove", self._confirm_removal, methods=["GET"]),
            Route("/jobs/{name}/remove", self._remove, methods=["POST"]),
            Route("/jobs/{name}/stop", self._stop, methods=["POST"]),
            Route("/jobs/{name}/resume", self._resume, methods=["POST"]),
            Route("/jobs/{name}/scale", self._scale, methods=["POST"]),
            Route("/models", self._models_page),
            Route("/models/events", self._models_events),
            Route("/theme", self._theme, methods=["POST"]),
            Route("/api/jobs", self._api(lambda request: self._views.jobs_data())),
            Route("/api/jobs/{name}", self._api(lambda request: self._views.job_data(request.path_params["name"]))),
            Route("/api/models", self._api(lambda request: self._views.models_data())),
            *(self._pool_routes(self._broker) if self._broker else ()),
            Mount("/static", StaticFiles(packages=[("shoal.web", "static")])),
        ]
        dashboard = Starlette(
            routes=routes,
            middleware=[
                Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS, www_redirect=False),
                Middleware(Guard, door=self._door, refuse=lambda request, why: _fault_page(request, 403, why)),
            ],
            exception_handlers={
                HTTPException: _http_fault,
                MissingError: partial(_run_fault, 404),
                RunError: partial(_run_fault, 409),
                ManifestError: partial(_run_fault, 409),
            },
        )
        dashboard.state.has_pool = self._broker is not None
        return dashboard

    def _pool_routes(self, broker: Broker) -> list[Route]:
        def look() -> PoolView:
            return pool_view(broker, time.time())

        def page() -> Page:
            return self._pages.page("pool", lambda: rendering.pool_parts(look()))

        async def shown(request: Request) -> Response:
            await page().look(newest=True)
            parts = {id: html for id, (_, html) in page().fragments.items()}
            return _html(request, "pool.html", page=page(), parts=parts, events="/pool/events")

        async def events(request: Request) -> Response:
            return self._events(request, page())

        return [
            Route("/pool", shown),
            Route("/pool/events", events),
            Route("/api/pool", self._api(lambda request: pool_data(look()))),
        ]

    # --- pages

    async def _open(self, request: Request) -> Response:
        """Not a redirect: after one from a page of another site, a terminal in a browser say, the cookie would not be
        sent."""
        session = self._door.open(request.query_params.get("token", ""))
        if session is None:
            why = "This address has been used, or is none of ours. The terminal in which shoal ui runs shows a new one."
            return _fault_page(request, 403, why)
        response = _html(request, "open.html")
        admit(response, self._door, session)
        return response

    async def _jobs_page(self, request: Request) -> Response:
        page = self._jobs()
        await page.look(newest=True)
        parts = {id: html for id, (_, html) in page.fragments.items()}
        summary = parts.pop("summary")
        return _html(request, "jobs.html", page=page, summary=summary, rows=list(parts.values()), events="/events")

    async def _job_page(self, request: Request) -> Response:
        name, page = self._job(request)
        await page.look(newest=True)
        parts = {id: html for id, (_, html) in page.fragments.items()}
        with_logs = await to_thread.run_sync(self._writers, name)
        events = f"/jobs/{quote(name)}/events"
        return _html(request, "job.html", page=page, name=name, parts=parts, writers=with_logs, events=events)

    async def _models_page(self, request: Request) -> Response:
        page = self._models()
        await page.look(newest=True)
        parts = {id: html for id, (_, html) in page.fragments.items()}
        return _html(request, "models.html", page=page, parts=parts, events="/models/events")

    async def _theme(self, request: Request) -> Response:
        form = await request.form()
        theme, back = str(form.get("theme", "")), str(form.get("back", "/"))
        if theme not in THEMES:
            raise HTTPException(400, f"a theme is one of {', '.join(THEMES)}")
        # A path of our own: `//host` and `/\\host` would lead elsewhere.
        here = back if back.startswith("/") and back[1:2] not in ("/", "\\") else "/"
        response = RedirectResponse(here, 303)
        response.set_cookie(THEME_COOKIE, theme, max_age=365 * 86400, httponly=True, samesite="strict")
        return response

    # --- events

    async def _jobs_events(self, request: Request) -> Response:
        return self._events(request, self._jobs())

    async def _job_events(self, request: Request) -> Response:
        return self._events(request, self._job(request)[1])

    async def _models_events(self, request: Request) -> Response:
        return self._events(request, self._models())

    async def _job_logs(self, request: Request) -> Response:
        if self._logs.full:
            raise HTTPException(503, "too many logs are being read; close another page")
        name, replicas = request.path_params["name"], request.query_params.getlist("replica")
        return _stream(self._logs.events(lambda runs: runs.find(name), [each for each in replicas if each]))

    def _events(self, request: Request, page: Page) -> Response:
        since = request.query_params.get("since", "")
        if not (since.isascii() and since.isdigit() and len(since) < 16):
            raise HTTPException(400, "since is the version of the page, a whole number")
        return _stream(self._pages.events(page, int(since)))

    # --- actions

    async def _stop(self, request: Request) -> Response:
        def stop(runs: Runs, run: Run) -> None:
            if not run.alive:
                raise RunError(f"{run.name} does not run")
            run.suspend(True)

        return await self._act(request, stop)

    async def _resume(self, request: Request) -> Response:
        def resume(runs: Runs, run: Run) -> None:
            phase = run.look().snapshot.status.phase
            if phase.final:
                raise RunError(f"run {run.name!r} has {phase.value.lower()}")
            if run.alive:
                raise RunError(f"run {run.name!r} is running")
            run.suspend(False)
            runs.leave(run)

        return await self._act(request, resume)

    async def _scale(self, request: Request) -> Response:
        said = str((await request.form()).get("workers", ""))
        if not (said.isascii() and said.isdigit() and len(said) < 8 and 1 <= int(said) <= MOST_WORKERS):
            raise HTTPException(400, f"the number of workers is a whole number from 1 to {MOST_WORKERS:,}")

        def scale(runs: Runs, run: Run) -> None:
            if run.look().snapshot.status.phase.final:
                raise RunError(f"run {run.name!r} has ended")
            if views.workers_of(run.job()) is None:
                raise RunError(f"run {run.name!r} has no workers to scale")
            run.scale(int(said))

        return await self._act(request, scale)

    async def _confirm_removal(self, request: Request) -> Response:
        name = request.path_params["name"]
        place = await to_thread.run_sync(self._place, name)
        return _html(request, "remove.html", name=name, place=place)

    async def _remove(self, request: Request) -> Response:
        def remove(runs: Runs, run: Run) -> None:
            if run.alive:
                raise RunError(f"run {run.name!r} is running", "stop it first")
            run.remove()

        return await self._act(request, remove, back="/")

    async def _act(self, request: Request, action: Callable[[Runs, Run], None], back: str = "") -> Response:
        name = request.path_params["name"]

        def act() -> None:
            with self._lender.lent() as runs:
                action(runs, runs.find(name))

        await to_thread.run_sync(act)
        return RedirectResponse(back or f"/jobs/{quote(name)}", 303)

    # --- what they show

    def _jobs(self) -> Page:
        return self._pages.page("jobs", lambda: rendering.job_rows(self._views.jobs()))

    def _job(self, request: Request) -> tuple[str, Page]:
        name = request.path_params["name"]
        return name, self._pages.page(f"job {name}", lambda: rendering.job_parts(self._views.job(name)))

    def _models(self) -> Page:
        return self._pages.page("models", lambda: rendering.models_parts(self._views.models()))

    def _writers(self, name: str) -> list[str]:
        with self._lender.lent() as runs:
            return runs.find(name).replicas_with_logs()

    def _place(self, name: str) -> str:
        with self._lender.lent() as runs:
            return " ".join(filter(None, runs.find(name).place))

    def _api(self, tell: Callable[[Request], Any]) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            return JSONResponse(await to_thread.run_sync(tell, request))

        return answer


def _stream(events: Any) -> Response:
    return StreamingResponse(events, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


def _html(request: Request, template: str, code: int = 200, **values: object) -> HTMLResponse:
    theme = request.cookies.get(THEME_COOKIE, "auto")
    here = request.url.path
    theme = theme if theme in THEMES else "auto"
    has_pool = request.app.state.has_pool
    shown = rendering.page(template, theme=theme, themes=THEMES, here=here, has_pool=has_pool, **values)
    return HTMLResponse(shown, code)


def _fault_page(request: Request, code: int, problem: str, hint: str = "") -> Response:
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": problem, "hint": hint}, code)
    # Of a page whose address opens the dashboard, nothing is to be repeated; of an action there is no page.
    return _html(request, "fault.html", code, problem=problem, hint=hint, known=code != 403)


async def _http_fault(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, HTTPException)
    problem = "There is no such page." if fault.status_code == 404 else fault.detail
    return _fault_page(request, fault.status_code, problem)


async def _run_fault(code: int, request: Request, fault: Exception) -> Response:
    return _fault_page(request, code, str(fault), getattr(fault, "hint", ""))
