"""Templates, and the fragments of each page."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from functools import lru_cache

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from shoal import __version__
from shoal.durations import format_seconds
from shoal.web import views
from shoal.web.curves import loss_curve, rate_curve
from shoal.web.pool import PoolView
from shoal.web.views import JobRow, JobView, ModelsView

MARKS = {
    "Pending": "quiet",
    "Running": "going",
    "Restarting": "warning",
    "Suspended": "warning",
    "Interrupted": "warning",
    "Terminating": "quiet",
    "Succeeded": "good",
    "Serving": "good",
    "Ready": "good",
    "Updating": "going",
    "Failed": "bad",
    "Damaged": "bad",
    "ok": "good",
    "silent": "bad",
    "sick": "bad",
    "drained": "warning",
}
"""How a phase looks: by colour, and by its word, which is always there."""


def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("shoal.web"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(version=__version__, marks=MARKS)
    made.filters.update(span=_span, since=_since, measured=_measured, whole=_whole)
    return made


def _span(row: JobRow) -> Markup:
    """How long a job has been active: counted on by the browser while it is."""
    if row.began is None:
        return Markup("–")
    if row.ended is not None:
        return Markup("<span>{}</span>").format(format_seconds(row.ended - row.began))
    return _since(row.began)


def _since(moment: float | None) -> Markup:
    """A duration that the browser counts on. The text tells minutes, so that a page does not change each second."""
    if moment is None:
        return Markup("–")
    said = datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")
    return Markup('<time datetime="{}" data-since="{}">{}</time>').format(said, round(moment), said[11:16] + " UTC")


def _measured(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def _whole(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


ENVIRONMENT = _environment()


def page(template: str, **values: object) -> str:
    return ENVIRONMENT.get_template(template).render(now=time.time(), **values)


@lru_cache(maxsize=4096)
def _job_row(row: JobRow) -> str:
    """Rows are alike from look to look, and rendering five hundred is what would cost most."""
    return ENVIRONMENT.get_template("job_row.html").render(row=row)


def job_rows(rows: list[JobRow]) -> dict[str, str]:
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.phase] = counts.get(row.phase, 0) + 1
    summary = ENVIRONMENT.get_template("jobs_summary.html").render(counts=counts, total=len(rows))
    return {"summary": summary, **{f"job-{row.name}": _job_row(row) for row in rows}}


def job_parts(job: JobView) -> dict[str, str]:
    look = job.description.look
    curves = [curve for curve in (loss_curve(job.history), rate_curve(job.history)) if curve]
    values = {
        "job": job,
        "look": look,
        "status": look.snapshot.status,
        "replicas": sorted(look.snapshot.replicas, key=lambda replica: replica.name),
        "curves": curves,
        "can_stop": views.can_stop(look),
        "can_resume": views.can_resume(look),
        "can_scale": views.can_scale(look) and job.workers is not None,
    }
    names = ("head", "actions", "failure", "curves", "replicas", "conditions", "events")
    return {name: ENVIRONMENT.get_template(f"job_{name}.html").render(values) for name in names}


def models_parts(models: ModelsView) -> dict[str, str]:
    return {"servers": ENVIRONMENT.get_template("models_servers.html").render(models=models)}


def pool_parts(pool: PoolView) -> dict[str, str]:
    names = ("lent", "gpus", "queue", "tenants")
    return {name: ENVIRONMENT.get_template(f"pool_{name}.html").render(pool=pool) for name in names}
