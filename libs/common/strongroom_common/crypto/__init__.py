"""Keys and what is done with them: sealing at rest, tokens, signatures, passwords. Nothing else compares secrets."""
