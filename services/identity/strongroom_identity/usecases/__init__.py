"""What the service does: one file per noun, one function per verb."""
