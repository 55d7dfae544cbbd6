"""Who is calling, what the rules say, and why."""
