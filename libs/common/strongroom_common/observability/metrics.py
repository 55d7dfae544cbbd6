"""Prometheus metrics. Labels are route templates and message types, never ids: their number stays small."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

REGISTRY = CollectorRegistry()

REQUEST_SECONDS = Histogram(
    "strongroom_request_seconds",
    "Time from the first byte of a request to the last of its answer.",
    ["service", "method", "route", "status"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
    registry=REGISTRY,
)
OUTBOX_WAITING = Gauge(
    "strongroom_outbox_waiting", "Messages written but not yet safe on the bus.", ["service"], registry=REGISTRY
)
MESSAGES_PUBLISHED = Counter(
    "strongroom_messages_published_total", "Messages made safe on the bus.", ["service", "type"], registry=REGISTRY
)
MESSAGES_HANDLED = Counter(
    "strongroom_messages_handled_total",
    "Messages taken from the bus, by outcome (done, again, repeated).",
    ["service", "type", "outcome"],
    registry=REGISTRY,
)
ACCESS_LOOKUPS = Counter(
    "strongroom_access_lookups_total",
    "Access decisions prepared, from the cache or asked.",
    ["from"],
    registry=REGISTRY,
)


def render_metrics() -> bytes:
    """Return everything in the text exposition format."""
    return generate_latest(REGISTRY)
