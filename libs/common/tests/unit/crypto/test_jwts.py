"""Signed tokens: only ours, unchanged, in force, in one spelling."""

import base64
import hmac
import json
from datetime import timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from strongroom_common.crypto.jwts import LONGEST_TOKEN, SigningKey, UnknownSigningKey, VerificationKey, verify
from strongroom_common.kernel.errors import TokenRefused
from strongroom_common.testing.clock import FakeClock

KEY = SigningKey.generate()
CLOCK = FakeClock()
SECONDS = int(CLOCK.now().timestamp())


def find(key_id: str) -> VerificationKey | None:
    return KEY.verification_key if key_id == KEY.id else None


def _part(value: Any) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _signed(header: Any, payload: Any) -> str:
    signing_input = f"{_part(header)}.{_part(payload)}"
    private = Ed25519PrivateKey.from_private_bytes(KEY.private_bytes())
    return f"{signing_input}.{_part(private.sign(signing_input.encode()))}"


def _refused(token: str) -> TokenRefused:
    with pytest.raises(TokenRefused) as refused:
        verify(token, find, CLOCK)
    return refused.value


claims_of_any_kind = st.dictionaries(
    st.text(max_size=10).filter(lambda name: name not in {"exp", "nbf", "iat"}),
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    max_size=5,
)


@given(claims=claims_of_any_kind)
def test_claims_come_back_as_they_were_signed(claims: dict[str, Any]) -> None:
    assert verify(KEY.sign(claims), find, CLOCK) == claims


def test_the_public_half_travels_as_json() -> None:
    document = json.loads(json.dumps(KEY.verification_key.to_json()))
    key = VerificationKey.of_json(document)
    assert verify(KEY.sign({"a": 1}), lambda _: key, CLOCK) == {"a": 1}
    assert "d" not in document, "the private part has no place in it"


def test_a_sealed_private_half_signs_again_after_a_restart() -> None:
    again = SigningKey(KEY.id, KEY.private_bytes())
    assert verify(again.sign({"a": 1}), find, CLOCK) == {"a": 1}


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"kty": "RSA", "crv": "Ed25519", "kid": "k", "x": "AA"},
        {"kty": "OKP", "crv": "X25519", "kid": "k", "x": "AA"},
        {"kty": "OKP", "crv": "Ed25519", "kid": "a/b", "x": "AA"},
        {"kty": "OKP", "crv": "Ed25519", "kid": "k", "x": "AA"},
        {"kty": "OKP", "crv": "Ed25519", "kid": "k", "x": 7},
    ],
)
def test_other_keys_are_not_read(document: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        VerificationKey.of_json(document)


def test_an_unknown_key_is_told_apart_so_that_it_can_be_fetched() -> None:
    other = SigningKey.generate()
    with pytest.raises(UnknownSigningKey) as refused:
        verify(other.sign({}), find, CLOCK)
    assert refused.value.key_id == other.id
    assert refused.value.wire_label == "TokenError"
    assert other.id not in refused.value.message


@pytest.mark.parametrize(
    ("claims", "leeway", "is_in_force"),
    [
        ({}, 0, True),
        ({"exp": SECONDS + 1}, 0, True),
        ({"exp": SECONDS}, 0, False),
        ({"exp": SECONDS - 3}, 5, True),
        ({"exp": SECONDS - 5}, 5, False),
        ({"nbf": SECONDS}, 0, True),
        ({"nbf": SECONDS + 1}, 0, False),
        ({"nbf": SECONDS + 5}, 5, True),
        ({"exp": SECONDS + 0.5}, 0, True),
        ({"exp": True}, 0, False),
        ({"exp": None}, 0, False),
        ({"exp": "9999999999"}, 0, False),
        ({"exp": 10**400}, 0, False),
        ({"iat": "yesterday"}, 0, False),
    ],
)
def test_time_decides_whether_a_token_is_in_force(claims: dict[str, Any], leeway: int, is_in_force: bool) -> None:
    token = KEY.sign(claims)
    if is_in_force:
        assert verify(token, find, CLOCK, leeway=timedelta(seconds=leeway)) == claims
    else:
        with pytest.raises(TokenRefused):
            verify(token, find, CLOCK, leeway=timedelta(seconds=leeway))


@pytest.mark.parametrize("seconds", [-1, 6])
def test_the_leeway_is_small(seconds: int) -> None:
    with pytest.raises(ValueError, match="leeway"):
        verify(KEY.sign({}), find, CLOCK, leeway=timedelta(seconds=seconds))


def test_the_algorithm_is_never_taken_from_the_token() -> None:
    public = KEY.verification_key.public.public_bytes_raw()
    header = {"typ": "JWT", "kid": KEY.id}
    unsigned = jwt.encode({"a": 1}, "", algorithm="none", headers=header)
    confused_input = f"{_part({**header, 'alg': 'HS256'})}.{_part({'a': 1})}"
    confused = f"{confused_input}.{_part(hmac.digest(public, confused_input.encode(), 'sha256'))}"
    for token in (
        unsigned,
        unsigned + "AA",
        confused,
        *(_signed({**header, "alg": a}, {"a": 1}) for a in ("none", "HS256", "ES256", "eddsa", 7, None)),
    ):
        _refused(token)


@pytest.mark.parametrize("kid", [None, 7, "", "a/b", "../k", "k" * 65, ["k"], {"k": 1}])
def test_a_header_without_a_proper_key_id_is_refused(kid: Any) -> None:
    refused = _refused(_signed({"alg": "EdDSA", "kid": kid}, {}))
    assert not isinstance(refused, UnknownSigningKey)


@pytest.mark.parametrize(
    "payload",
    [
        b"[]",
        b'"text"',
        b"7",
        b"null",
        b"not json",
        b"",
        b'{"exp": NaN}',
        b'{"exp": Infinity}',
        b'{"exp": 1e999}',
        b"\xff",
        b"[" * 3000,
    ],
)
def test_a_signed_payload_that_is_no_object_is_refused(payload: bytes) -> None:
    _refused(_signed({"alg": "EdDSA", "kid": KEY.id}, payload))


@given(data=st.data())
def test_one_changed_character_is_refused(data: st.DataObject) -> None:
    token = KEY.sign({"identityId": "one", "exp": SECONDS + 60})
    place = data.draw(st.integers(0, len(token) - 1))
    character = data.draw(st.sampled_from("ABCabc019-_.").filter(lambda c: c != token[place]))
    _refused(token[:place] + character + token[place + 1 :])


@pytest.mark.parametrize("change", ["{}=", "{}\n", " {}", "{}.", ".{}", "{}.AA", "\ufeff{}"])
def test_a_token_has_one_spelling(change: str) -> None:
    _refused(change.format(KEY.sign({})))


def test_unused_bits_of_the_signature_are_no_second_spelling() -> None:
    token = KEY.sign({"a": 1})
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    same_bytes = [
        token[:-1] + c
        for c in alphabet
        if c != token[-1] and alphabet.index(c) // 16 == alphabet.index(token[-1]) // 16
    ]
    assert len(same_bytes) == 15
    for spelling in same_bytes:
        _refused(spelling)


@given(token=st.text(max_size=100) | st.from_regex(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+", fullmatch=True))
def test_arbitrary_text_is_refused_and_never_crashes(token: str) -> None:
    _refused(token)


@given(header=st.binary(max_size=60), payload=st.binary(max_size=60), signature=st.binary(max_size=70))
def test_arbitrary_bytes_in_a_token_are_refused_and_never_crash(
    header: bytes, payload: bytes, signature: bytes
) -> None:
    _refused(f"{_part(header)}.{_part(payload)}.{_part(signature)}")


def test_an_oversized_token_is_refused_before_it_is_parsed() -> None:
    asked: list[str] = []
    token = _signed({"alg": "EdDSA", "kid": KEY.id}, {"a": "x" * LONGEST_TOKEN})
    with pytest.raises(TokenRefused):
        verify(token, lambda key_id: asked.append(key_id), CLOCK)
    assert not asked
    with pytest.raises(ValueError, match="too large"):
        KEY.sign({"a": "x" * LONGEST_TOKEN})


def test_every_refusal_reads_the_same() -> None:
    messages = {
        _refused(token).message
        for token in (
            "nonsense",
            KEY.sign({"exp": 1}),
            SigningKey.generate().sign({}),
            SigningKey(KEY.id, SigningKey.generate().private_bytes()).sign({}),
        )
    }
    assert len(messages) == 1


def test_a_signing_key_stays_where_it_is() -> None:
    assert KEY.private_bytes().hex() not in repr(KEY)
    with pytest.raises(TypeError):
        KEY.__reduce__()
    with pytest.raises(ValueError, match="id"):
        SigningKey("a/b", KEY.private_bytes())
