"""One service's own PostgreSQL: the unit of work with its outbox and inbox, reads that cost one round trip, locks."""
