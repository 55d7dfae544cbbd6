"""What operators see: structured logs without secrets, metrics, trace context."""
