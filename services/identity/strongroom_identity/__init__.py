"""The identity service: organizations, users, machine identities, tokens, projects, roles, and the audit log.

It says who a caller is and what the caller's rules are; whether an action is allowed is decided where the data lies. It
never stores a password, a client secret or a private key that could be read from the database alone.
"""
