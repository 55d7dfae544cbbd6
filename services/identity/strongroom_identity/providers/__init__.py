"""Kinds: one file each, found by the registry."""
