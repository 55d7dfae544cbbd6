"""What the templates of conditions stand for: facts about who calls (wire-identity 12.3)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

Facts = tuple[tuple[str, str], ...]


def facts_of_identity(
    identity_id: UUID, name: str, metadata: Iterable[Sequence[str]], auth: Mapping[str, Any] | None
) -> Facts:
    """Return the facts about an identity; `auth` holds the claims of its login, by the kind of login.

    A word of metadata that stands there twice is none: what cannot be decided must not be guessed.
    """
    pairs = [(key, value) for key, value in metadata]
    times = Counter(key for key, _ in pairs)
    facts = {"identity.id": str(identity_id), "identity.name": name}
    facts |= {f"identity.metadata.{key}": value for key, value in pairs if times[key] == 1}
    for kind, claims in (auth or {}).items():
        if isinstance(claims, Mapping):
            facts |= {f"identity.auth.{kind}.{claim}": text for claim, text in _texts(claims)}
    return tuple(sorted(facts.items()))


def facts_of_user(user_id: UUID, username: str) -> Facts:
    """Return the facts about a user."""
    return (("identity.id", str(user_id)), ("identity.name", username), ("identity.username", username))


def _texts(claims: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for claim, value in claims.items():
        if isinstance(value, bool):
            yield claim, "true" if value else "false"
        elif isinstance(value, str | int):
            yield claim, str(value)
