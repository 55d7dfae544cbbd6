"""Settings that cannot be meant are refused at the start."""

import pytest
from pydantic import ValidationError

from strongroom_gateway.settings import GatewaySettings


def test_the_defaults_trust_nobody_and_name_every_service() -> None:
    settings = GatewaySettings()

    assert settings.trusted_proxies == ()
    assert settings.cors_origins == ()
    assert settings.rate_limits == "logins"
    assert sorted(settings.service_urls()) == ["automation", "identity", "pki", "secrets"]


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRONGROOM_GATEWAY_PKI_URL", "")
    monkeypatch.setenv("STRONGROOM_GATEWAY_IDENTITY_URL", "http://10.0.0.1:81/")
    monkeypatch.setenv("STRONGROOM_GATEWAY_TRUSTED_PROXIES", "10.0.0.0/8, ::1")

    settings = GatewaySettings()

    assert settings.service_urls()["identity"] == "http://10.0.0.1:81"
    assert "pki" not in settings.service_urls()
    assert settings.trusted_proxies == ("10.0.0.0/8", "::1")


@pytest.mark.parametrize(
    "wrong",
    [
        {"identity_url": "identity:8080"},
        {"identity_url": "http://identity:8080/api"},
        {"identity_url": "http://user:word@identity"},
        {"identity_url": "http://identity:99999"},
        {"trusted_proxies": "everyone"},
        {"cors_origins": "*"},
        {"cors_origins": "https://app.example.com/"},
        {"rate_limits": "some"},
        {"connect_seconds": 0},
    ],
)
def test_a_wrong_setting_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        GatewaySettings(**wrong)
