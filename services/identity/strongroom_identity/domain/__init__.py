"""Frozen dataclasses and pure rules: no await, no I/O."""
