"""The operator's own log: lines for people on a terminal, JSON objects for programs elsewhere."""

from __future__ import annotations

import logging
import sys

import structlog


def configure(level: str) -> None:
    """Log from `level` on (debug, info, warning, error), to stderr."""
    for_people = sys.stderr.isatty()
    rendering: list[structlog.types.Processor] = (
        [structlog.dev.ConsoleRenderer()]
        if for_people
        else [structlog.processors.dict_tracebacks, structlog.processors.JSONRenderer()]
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *rendering,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
