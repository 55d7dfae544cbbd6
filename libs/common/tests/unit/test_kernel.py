import json
import pickle
from datetime import UTC, datetime, timedelta, timezone
from types import ModuleType

import pytest
from pydantic import BaseModel, ConfigDict

from strongroom_common.kernel import faults
from strongroom_common.kernel.clock import wire_instant
from strongroom_common.kernel.ids import new_id, new_request_id
from strongroom_common.kernel.kinds import Kinds
from strongroom_common.kernel.secret import Secret


def test_a_secret_shows_itself_nowhere() -> None:
    secret = Secret("canary")

    assert "canary" not in f"{secret} {secret!r} {secret:>20} {[secret]} {{'a': secret}}"
    for leak in (lambda: json.dumps(secret), lambda: pickle.dumps(secret), lambda: hash(secret)):
        with pytest.raises(TypeError):
            leak()


def test_secrets_compare_by_value_and_only_with_secrets() -> None:
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"


def test_a_model_with_a_secret_does_not_become_json() -> None:
    class Holder(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        secret: Secret

    assert "canary" not in repr(Holder(secret=Secret("canary")))
    with pytest.raises(Exception, match="Unable to serialize"):
        Holder(secret=Secret("canary")).model_dump_json()


def test_ids_sort_by_time_and_are_uuids_of_version_7() -> None:
    ids = [new_id() for _ in range(200)]

    assert {value.version for value in ids} == {7}
    assert {value.variant for value in ids} == {"specified in RFC 4122"}
    assert len(set(ids)) == 200
    assert sorted(value.int >> 80 for value in ids) == [value.int >> 80 for value in ids]


def test_a_request_id_has_the_contracts_form() -> None:
    assert new_request_id().startswith("req-")
    assert len(new_request_id()) == 18
    assert new_request_id()[4:].isalnum()


def test_an_instant_is_written_in_utc_with_milliseconds() -> None:
    instant = datetime(2026, 3, 1, 1, 2, 3, 456789, timezone(timedelta(hours=2)))

    assert wire_instant(instant) == "2026-02-28T23:02:03.456Z"
    assert wire_instant(datetime(2026, 1, 1, tzinfo=UTC)) == "2026-01-01T00:00:00.000Z"


def test_an_unarmed_fault_does_nothing_and_an_armed_one_happens() -> None:
    faults.reach("nowhere")
    happened: list[str] = []
    faults.arm("here", lambda: happened.append("here"))
    try:
        faults.reach("here")
        faults.reach("there")
    finally:
        faults.disarm()
    faults.reach("here")
    assert happened == ["here"]


def test_a_family_whose_module_has_no_kind_stops_the_start(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "family_of_two"  # type: ignore[operator]
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "first_kind.py").write_text("KIND = 7\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    family: ModuleType = __import__("family_of_two")

    assert dict(Kinds.found_in(family, int)) == {"first-kind": 7}
    (folder / "second.py").write_text("")
    with pytest.raises(TypeError, match="KIND"):
        Kinds.found_in(family, int)
