"""HTTP in: one file per noun."""
