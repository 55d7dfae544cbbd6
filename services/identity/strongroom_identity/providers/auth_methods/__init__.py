"""Kinds of login of machine identities: one file each, an `AuthMethod` of `domain/auth_methods.py` as its `KIND`."""
