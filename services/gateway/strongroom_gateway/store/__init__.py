"""The files that operators may replace: the table of routes and the limits."""
