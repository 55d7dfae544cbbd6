"""The service's tables and, per noun, its queries."""
