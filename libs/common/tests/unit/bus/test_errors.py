"""Errors cross the bus whole if they are ours, and bare if they are not."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import orjson
import pytest

from strongroom_common.bus.errors import decode_error, encode_error, reason_of
from strongroom_common.kernel import errors
from strongroom_common.kernel.errors import FAMILIES, NotFound, StrongroomError
from strongroom_common.kernel.secret import Secret

CANARY = "canary-19e4-do-not-show"


class ProjectNotFound(NotFound):
    """An error of one service."""


def crossed(error: BaseException) -> StrongroomError:
    return decode_error(orjson.loads(orjson.dumps(encode_error(error))))


@pytest.mark.parametrize("kind", [*FAMILIES.values(), errors.TokenRefused, errors.PermissionDenied, StrongroomError])
def test_each_of_our_errors_arrives_as_itself(kind: type[StrongroomError]) -> None:
    got = crossed(kind("something is wrong"))
    assert type(got) is kind
    assert (got.message, got.wire_label) == ("something is wrong", kind.label)


def test_an_error_of_one_service_arrives_in_another_as_its_family_with_its_own_code() -> None:
    got = crossed(ProjectNotFound("no such project", label="ProjectGone", details={"id": 7}))
    assert isinstance(got, NotFound)
    assert (got.code(), got.wire_label, got.details) == ("ProjectNotFound", "ProjectGone", {"id": 7})
    assert crossed(got).code() == "ProjectNotFound"


def test_a_strangers_text_goes_nowhere() -> None:
    error = RuntimeError(f"cannot log in with {CANARY}")
    assert CANARY not in repr(encode_error(error))
    assert CANARY not in reason_of(error)
    got = crossed(error)
    assert type(got) is StrongroomError
    assert got.message == "internal error"


def test_details_that_json_does_not_know_become_text_and_a_secret_is_masked() -> None:
    details = {"id": UUID(int=7), "at": datetime(2030, 1, 2, tzinfo=UTC), "tags": {"red"}, "password": Secret(CANARY)}
    got = crossed(NotFound("gone", details=details)).details
    assert got == {
        "id": str(UUID(int=7)),
        "at": "2030-01-02T00:00:00+00:00",
        "tags": "{'red'}",
        "password": "***",
    }


@pytest.mark.parametrize(
    "wire",
    [
        {},
        {"family": "of a newer release", "code": "TooPurple", "message": "too purple"},
        {"family": "not_found", "code": "no identifier!"},
        {"family": "not_found", "code": "Unavailable"},
        {"family": "rate_limited", "code": "RateLimited", "retryAfter": None},
        {"family": "invalid_input", "code": "InvalidInput", "issues": None},
    ],
)
def test_what_a_newer_or_broken_speaker_sends_is_an_error_all_the_same(wire: dict[str, Any]) -> None:
    got = decode_error(wire)
    assert isinstance(got, FAMILIES.get(wire.get("family", ""), StrongroomError))
    assert got.message == wire.get("message", "")


def test_a_dead_letter_says_what_is_wrong_if_the_error_is_ours() -> None:
    assert reason_of(ProjectNotFound("no such project")) == "ProjectNotFound: no such project"
    assert reason_of(ValueError("whatever")) == "ValueError"
