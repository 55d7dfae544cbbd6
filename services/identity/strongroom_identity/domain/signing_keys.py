"""Which key signs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from strongroom_common.crypto.jwts import SigningKey


@dataclass(frozen=True)
class KeyInForce:
    """A key that verifies, and signs from an instant on until a later one does."""

    key: SigningKey
    signs_from: datetime


def signing_at(keys: Sequence[KeyInForce], now: datetime) -> SigningKey:
    """The key that signs at an instant: the last one to have begun, or the first that will where none has."""
    in_order = sorted(keys, key=lambda one: (one.signs_from, one.key.id))
    begun = [one for one in in_order if one.signs_from <= now]
    return (begun[-1] if begun else in_order[0]).key
