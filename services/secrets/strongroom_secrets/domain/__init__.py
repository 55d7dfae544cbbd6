"""What a secret, a folder and a place are, and the rules that need no database."""
