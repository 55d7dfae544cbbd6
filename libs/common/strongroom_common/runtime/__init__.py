"""Start, ready, drain, stop: the one way in which a process lives, and the PostgreSQL it may bring along."""
