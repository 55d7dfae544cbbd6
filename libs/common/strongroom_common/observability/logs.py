"""structlog, set up once per process: JSON lines for machines, colours for a terminal, secrets for nobody."""

import logging
import sys
from collections.abc import Mapping, MutableMapping
from datetime import date, timedelta
from enum import Enum
from typing import Any, Literal
from uuid import UUID

import structlog

from strongroom_common.kernel.secret import MASK, Secret
from strongroom_common.observability.redaction import is_sensitive_key, redact_text

LogFormat = Literal["json", "console"]


def redact_event(
    logger: Any,
    method: str,
    event: MutableMapping[str, Any],
) -> MutableMapping[str, Any]:
    """Let only plain facts through: numbers, ids, instants and short texts that look like no secret."""
    for key, value in event.items():
        event[key] = MASK if is_sensitive_key(key) else _plain(value)
    return event


def _plain(value: Any, depth: int = 0) -> Any:
    if value is None or isinstance(value, bool | int | float | UUID | date | timedelta):
        return value if isinstance(value, bool | int | float) or value is None else str(value)
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, Enum):
        return redact_text(str(value.value))
    if isinstance(value, Secret) or depth > 3:
        return MASK
    if isinstance(value, Mapping):
        return {str(k): MASK if is_sensitive_key(str(k)) else _plain(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item, depth + 1) for item in list(value)[:50]]
    # Objects and bytes may hold anything; their kind is all a log needs.
    return f"<{type(value).__name__}>"


def set_up_logging(*, level: str = "info", form: LogFormat = "json", service: str = "") -> None:
    """Send every log line, ours and the libraries', through the same redaction to standard error."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
        redact_event,
    ]
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if form == "json"
        # Its own way of printing errors would show local variables, and with them secrets.
        else structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), pad_event_to=28, exception_formatter=structlog.dev.plain_traceback
        )
    )
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, *shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    if service:
        structlog.contextvars.bind_contextvars(service=service)
    # These say at info what only their own authors want to know; their warnings still come through.
    logging.getLogger("aiormq").setLevel(logging.CRITICAL)  # each failed attempt to connect; ours says it once
    for noisy in ("aio_pika", "alembic", "asyncio", "sqlalchemy.engine", "aiohttp.access"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """Return the module's logger; events are constants, facts are fields."""
    logger: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(name)
    return logger
