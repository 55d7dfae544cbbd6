"""Tags in bodies and in a secret's states."""

import pytest
from pydantic import ValidationError

from strongroom_common.contracts.envelopes import Actor
from strongroom_common.kernel.ids import new_id
from strongroom_common.kernel.secret import Secret
from strongroom_common.testing.clock import MORNING
from strongroom_secrets.api.secret_bodies import CreateSecretV4, UpdateSecretV4
from strongroom_secrets.api.tags import TagBody
from strongroom_secrets.domain.secrets import SHARED, NewSecret, SecretChange, SecretState
from strongroom_secrets.domain.tags import Mark, marks_of, slugs_of

PLACE = {"projectId": "p", "environment": "dev"}
ROBOT = Actor(kind="identity", id=new_id(), name="robot")


@pytest.mark.parametrize("slug", ["a", "team-a", "1", "-", "a--b", "x" * 64])
def test_a_slug_is_lower_case_letters_digits_and_hyphens(slug: str) -> None:
    assert TagBody.model_validate({"slug": f" {slug} ", "color": ""}).slug == slug


@pytest.mark.parametrize("slug", ["", " ", "A", "a b", "a_b", "ä", "x" * 65, "a\n-b", None, 1])
def test_any_other_slug_is_refused(slug: object) -> None:
    with pytest.raises(ValidationError):
        TagBody.model_validate({"slug": slug, "color": ""})


def test_a_color_is_any_short_text_and_must_be_there() -> None:
    assert TagBody.model_validate({"slug": "a", "color": " #f00\x00 ", "name": "ignored"}).color == "#f00"
    for body in ({"slug": "a"}, {"slug": "a", "color": None}, {"slug": "a", "color": "x" * 65}):
        with pytest.raises(ValidationError):
            TagBody.model_validate(body)


def test_silence_and_null_leave_tags_alone_and_an_empty_list_clears_them() -> None:
    for sent, kept in (({}, None), ({"tagIds": None}, None), ({"tagIds": []}, ()), ({"tagIds": ["a"]}, ("a",))):
        assert UpdateSecretV4.model_validate({**PLACE, **sent}).to_change("K", "/").tag_ids == kept
        assert CreateSecretV4.model_validate({**PLACE, "secretValue": "v", **sent}).to_new("K").tag_ids == (kept or ())


def test_tags_stay_until_others_are_given() -> None:
    red, blue = Mark(new_id(), "red", ""), Mark(new_id(), "blue", "")
    first = SecretState.new(new_id(), new_id(), SHARED, NewSecret("KEY", Secret("v")), ROBOT, MORNING, (red,))
    change = SecretChange("KEY", "/")
    assert first.after(change, ROBOT, MORNING).tag_slugs == ("red",)
    assert first.after(change, ROBOT, MORNING, (blue,)).tag_slugs == ("blue",)
    assert first.after(change, ROBOT, MORNING, ()).tags == ()


def test_a_row_without_tags_has_none() -> None:
    tag = new_id()
    stored = [{"id": str(tag), "slug": "red", "color": "#f00"}]
    assert (marks_of(stored), slugs_of(stored)) == ((Mark(tag, "red", "#f00"),), ("red",))
    assert (marks_of(None), slugs_of(None)) == ((), ())
