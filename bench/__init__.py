"""Benchmarks: what the product does on its hot paths, as a ratio to a floor that is measured in the same run."""
