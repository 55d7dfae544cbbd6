"""The way out: every address that a user gave us is resolved, judged and pinned here before anything connects to it."""
