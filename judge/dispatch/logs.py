"""Structured logs: one JSON object a line, or aligned text on a terminal. Never a source and never a token."""

import logging
from typing import Any, TextIO

import structlog

from judge.reports.style import one_line

MAX_TEXT = 500


def configure_logs(stream: TextIO) -> None:
    """Send every log of this process to the stream."""
    last: Any = structlog.dev.ConsoleRenderer(colors=False) if stream.isatty() else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _harmless,
            last,
        ],
        # One write a line: processes share the stream, and a line of one must not begin within a line of another.
        logger_factory=structlog.WriteLoggerFactory(stream),
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        cache_logger_on_first_use=False,
    )
    # What libraries say about themselves goes nowhere but for warnings.
    logging.basicConfig(stream=stream, level=logging.WARNING, format='{"level": "%(levelname)s", "event": "%(name)s"}')


def _harmless(_logger: Any, _method: str, fields: Any) -> Any:
    """Values cut and with nothing in them that a terminal would obey."""
    for name, value in fields.items():
        if isinstance(value, str):
            fields[name] = one_line(value if len(value) <= MAX_TEXT else value[:MAX_TEXT] + "...")
    return fields
