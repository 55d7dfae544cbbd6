"""Time in."""
