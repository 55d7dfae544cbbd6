"""What the service does: one function per verb; it begins, locks, decides and commits."""
