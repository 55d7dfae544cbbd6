"""The one public door: routes, limits, traces and the documentation page. It decides nothing and owns no data."""
