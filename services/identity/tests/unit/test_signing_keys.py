"""Which key signs."""

from datetime import UTC, datetime, timedelta

from strongroom_common.crypto.jwts import SigningKey
from strongroom_identity.domain.signing_keys import KeyInForce, signing_at

NOW = datetime(2026, 1, 2, 9, 0, tzinfo=UTC)


def key(minutes: int) -> KeyInForce:
    return KeyInForce(SigningKey.generate(), NOW + timedelta(minutes=minutes))


def test_the_last_one_to_have_begun_signs() -> None:
    old, new, later = key(-10), key(0), key(1)
    assert signing_at([later, old, new], NOW) is new.key
    assert signing_at([later, old, new], NOW - timedelta(seconds=1)) is old.key
    assert signing_at([later, old, new], NOW + timedelta(minutes=1)) is later.key


def test_where_none_has_begun_the_first_one_signs() -> None:
    first, second = key(1), key(2)
    assert signing_at([second, first], NOW) is first.key
