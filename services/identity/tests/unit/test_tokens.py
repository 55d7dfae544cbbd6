"""The life of an access token, as arithmetic."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom_identity.domain.auth_configurations import (
    NEVER_AT_MAXIMUM,
    TOKEN_AUTH,
    UNIVERSAL_AUTH,
    AuthConfiguration,
    TokenSettings,
)
from strongroom_identity.domain.errors import TokenNotAlive
from strongroom_identity.domain.tokens import AccessToken

NOW = datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)


def a_token(method: str = UNIVERSAL_AUTH, **settings: int) -> AccessToken:
    configuration = AuthConfiguration.new(method, uuid4(), uuid4(), TokenSettings(**settings), NOW)
    secret_id = uuid4() if method == UNIVERSAL_AUTH else None
    return AccessToken.new(configuration, NOW, client_secret_id=secret_id)


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def test_claims_name_the_token_its_identity_and_its_end() -> None:
    token = a_token(ttl=60, max_ttl=600)
    assert token.claims(NOW) == {
        "authTokenType": "identityAccessToken",
        "identityId": str(token.identity_id),
        "identityAccessTokenId": str(token.id),
        "clientSecretId": str(token.client_secret_id),
        "organizationId": str(token.organization_id),
        "identityAuth": {},
        "iat": int(NOW.timestamp()),
        "exp": int(NOW.timestamp()) + 60,
    }


def test_a_token_with_a_ttl_of_zero_has_no_end() -> None:
    token = a_token(TOKEN_AUTH, ttl=0, max_ttl=0)
    assert token.expires_at is None
    assert "exp" not in token.claims(NOW)
    assert "clientSecretId" not in token.claims(NOW)


def test_renewal_gives_another_life() -> None:
    renewed = a_token(ttl=60, max_ttl=600).renewed(later(50))
    assert renewed.expires_at == later(110)
    assert renewed.last_renewed_at == later(50)
    assert renewed.claims(later(50))["exp"] == int(later(50).timestamp()) + 60


def test_an_expired_token_is_not_renewed() -> None:
    with pytest.raises(TokenNotAlive, match="expired"):
        a_token(ttl=60, max_ttl=600).renewed(later(60))


def test_a_used_up_token_is_not_renewed() -> None:
    token = a_token(ttl=60, max_ttl=600, uses_limit=1)
    assert token.renewed(NOW).uses_limit == 1
    with pytest.raises(TokenNotAlive, match="usage limit"):
        AccessToken(**{**vars(token), "uses": 1}).renewed(NOW)


def test_no_renewal_passes_the_maximum() -> None:
    token = a_token(ttl=60, max_ttl=100)
    token.renewed(later(40))
    with pytest.raises(TokenNotAlive, match="maximum"):
        token.renewed(later(41))


def test_without_a_maximum_renewal_has_no_end() -> None:
    token = a_token(ttl=60, max_ttl=0)
    for step in range(1, 100):
        token = token.renewed(later(step * 59))
    assert token.expires_at == later(99 * 59 + 60)


def test_a_periodic_token_is_renewed_for_ever_by_its_period() -> None:
    token = a_token(ttl=60, max_ttl=100, period=300)
    assert token.life == 300
    assert token.shown_max_ttl == NEVER_AT_MAXIMUM
    for step in range(1, 50):
        token = token.renewed(later(step * 299))
    assert token.expires_at == later(49 * 299 + 300)


@given(ttl=st.integers(1, 1000), max_ttl=st.integers(1, 1000), moments=st.lists(st.integers(0, 1200), max_size=8))
def test_no_series_of_renewals_lives_past_the_maximum(ttl: int, max_ttl: int, moments: list[int]) -> None:
    token = a_token(ttl=min(ttl, max_ttl), max_ttl=max_ttl)
    for moment in sorted(moments):
        try:
            token = token.renewed(later(moment))
        except TokenNotAlive:
            break
    assert token.expires_at is not None
    assert token.expires_at <= later(max_ttl)
