"""What request models accept, and what an error about them shows."""

import pytest
from pydantic import ValidationError

from strongroom_common.kernel.errors import InvalidInput
from strongroom_secrets.api.secret_bodies import (
    CreateSecretsV3,
    CreateSecretV4,
    GetSecretV3,
    ListSecretsV3,
    ListSecretsV4,
    UpdateSecretV4,
)
from strongroom_secrets.domain.secrets import UNCHANGED

PLACE = {"projectId": "p", "environment": "dev"}


def test_terraform_sends_empty_texts_zeros_and_nulls_for_what_is_unset() -> None:
    body = CreateSecretV4.model_validate_json(
        b'{"projectId":"p","environment":"dev","secretValue":"v","secretComment":null,"secretReminderNote":"",'
        b'"secretReminderRepeatDays":0,"tagIds":null,"skipMultilineEncoding":null,"secretMetadata":null,"name":"x"}',
        strict=True,
    )
    new = body.to_new("KEY")
    assert (new.comment, new.reminder_note, new.reminder_repeat_days, new.tag_ids) == ("", None, None, ())
    assert new.skip_multiline_encoding is False
    assert new.metadata == ()


def test_a_number_of_days_may_be_written_with_a_point() -> None:
    body = CreateSecretV4.model_validate_json(
        b'{"projectId":"p","environment":"dev","secretValue":"v","secretReminderRepeatDays":30.0}', strict=True
    )
    assert body.to_new("KEY").reminder_repeat_days == 30


@pytest.mark.parametrize("days", ["-1", "1.5", "true", '"7"', "100000"])
def test_other_numbers_of_days_are_refused(days: str) -> None:
    with pytest.raises(ValidationError):
        CreateSecretV4.model_validate_json(
            f'{{"projectId":"p","environment":"dev","secretValue":"v","secretReminderRepeatDays":{days}}}', strict=True
        )


def test_null_takes_a_reminder_away_and_silence_does_not() -> None:
    cleared = UpdateSecretV4.model_validate({**PLACE, "secretReminderNote": None, "secretReminderRepeatDays": None})
    silent = UpdateSecretV4.model_validate(PLACE)
    assert (cleared.to_change("K", "/").reminder_note, cleared.to_change("K", "/").reminder_repeat_days) == (None, None)
    assert silent.to_change("K", "/").reminder_note is UNCHANGED
    assert silent.to_change("K", "/").reminder_repeat_days is UNCHANGED


def test_an_empty_new_name_is_a_bad_request_and_a_wrong_one_names_its_field() -> None:
    with pytest.raises(InvalidInput) as empty:
        UpdateSecretV4.model_validate({**PLACE, "newSecretName": " "}).to_change("K", "/")
    assert not empty.value.issues
    with pytest.raises(InvalidInput) as wrong:
        UpdateSecretV4.model_validate({**PLACE, "newSecretName": "a:b"}).to_change("K", "/")
    assert wrong.value.issues[0]["path"] == ["newSecretName"]


def test_flags_have_the_defaults_of_their_version() -> None:
    old = ListSecretsV3.model_validate({"workspaceId": "p", "environment": "dev"})
    new = ListSecretsV4.model_validate(PLACE)
    assert (old.expand_secret_references, old.include_imports, old.view_secret_value) == (False, False, True)
    assert (new.expand_secret_references, new.include_imports, new.view_secret_value) == (True, True, True)
    assert (old.recursive, new.recursive, new.include_personal_overrides) == (False, False, False)


@pytest.mark.parametrize("name", ["include_imports", "includeImports"])
@pytest.mark.parametrize(("text", "flag"), [("true", True), ("FALSE", False), ("True", True)])
def test_the_imports_flag_has_two_spellings_and_any_case(name: str, text: str, flag: bool) -> None:
    assert ListSecretsV3.model_validate({name: text}).include_imports is flag
    assert GetSecretV3.model_validate({name: text}).include_imports is flag


def test_an_empty_id_counts_as_absent() -> None:
    query = ListSecretsV3.model_validate({"workspaceId": " ", "workspaceSlug": "Shop", "environment": "dev"})
    assert query.project().slug == "shop"
    with pytest.raises(InvalidInput):
        ListSecretsV3.model_validate({"workspaceId": "", "workspaceSlug": "", "environment": "dev"}).project()


def test_every_bad_item_of_a_batch_is_named() -> None:
    items = [{"secretKey": "A", "secretValue": "v"}, {"secretKey": "a:b", "secretValue": "v"}, {"secretKey": "C"}]
    with pytest.raises(ValidationError) as refused:
        CreateSecretsV3.model_validate({"workspaceId": "p", "environment": "dev", "secrets": items})
    places = [finding["loc"] for finding in refused.value.errors()]
    assert places == [("secrets", 1, "secretKey"), ("secrets", 2, "secretValue")]


def test_a_body_does_not_print_its_values() -> None:
    body = CreateSecretV4.model_validate(
        {
            **PLACE,
            "secretValue": "canary",
            "secretComment": "canary",
            "secretMetadata": [{"key": "k", "value": "canary"}],
        }
    )
    assert "canary" not in repr(body)
