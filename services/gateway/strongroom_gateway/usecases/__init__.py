"""Forwarding, and the one document made of many."""
