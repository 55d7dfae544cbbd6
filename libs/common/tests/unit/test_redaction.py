"""Threats classes 10 and 11: what leaves by the log is plain facts."""

import json
import logging
from uuid import uuid4

import pytest
import structlog

from strongroom_common.kernel.secret import Secret
from strongroom_common.observability.logs import get_logger, redact_event, set_up_logging
from strongroom_common.observability.redaction import redact_text

TOKEN = "eyJhbGciOiJFZERTQSJ9.eyJhIjoxfQ.c2lnbmF0dXJl"


@pytest.mark.parametrize(
    "text",
    [
        f"refused {TOKEN}",
        f"Authorization: Bearer {TOKEN}",
        "Bearer abcdef0123456789",
        "postgresql://app:canary-password@db/x failed",
        "amqp://:canary-password@db/",
        "-----BEGIN EC PRIVATE KEY-----\ncanary-key\n-----END EC PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\ncanary-key (cut",
        "st.0d2c7ab1-1111.canary",
    ],
)
def test_what_looks_like_a_credential_is_masked(text: str) -> None:
    masked = redact_text(text)

    assert "***" in masked
    assert not any(part in masked for part in ("canary", TOKEN, "abcdef0123456789"))


def test_a_known_secret_is_masked_wherever_it_stands() -> None:
    assert redact_text("login failed for hunter22!", [Secret("hunter22")]) == "login failed for ***!"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("password", "canary"),
        ("client_secret", "canary"),
        ("secretValue", "canary"),
        ("access_token", "canary"),
        ("masterKey", "canary"),
        ("body", b"canary"),
        ("thing", Secret("canary")),
        ("thing", object()),
        ("nested", {"deep": {"apiKey": "canary"}}),
        ("listed", [Secret("canary"), {"bindPass": "canary"}]),
    ],
)
def test_a_field_that_may_hold_a_secret_is_masked(field: str, value: object) -> None:
    assert "canary" not in str(redact_event(None, "info", {"event": "x", field: value}))


def test_plain_facts_stay() -> None:
    rotation = uuid4()
    event = redact_event(None, "info", {"event": "rotated", "rotation_id": rotation, "attempt": 2, "ok": True})

    assert event == {"event": "rotated", "rotation_id": str(rotation), "attempt": 2, "ok": True}


def test_a_traceback_goes_through_the_same_filter(capsys: pytest.CaptureFixture[str]) -> None:
    before = logging.getLogger().handlers[:], logging.getLogger().level
    try:
        set_up_logging(form="json")
        try:
            raise RuntimeError(f"upstream said Bearer {TOKEN}")
        except RuntimeError:
            get_logger("test").exception("failed", token=TOKEN)
        logging.getLogger("some.library").warning("redirected to https://u:canary@host/")
    finally:
        logging.getLogger().handlers[:], level = before
        logging.getLogger().setLevel(level)
        structlog.reset_defaults()
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert lines[0]["event"] == "failed"
    assert "RuntimeError" in lines[0]["exception"]
    assert TOKEN not in str(lines)
    assert "canary" not in str(lines)
