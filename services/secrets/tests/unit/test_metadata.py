"""The metadata filter of lists."""

import pytest

from strongroom_common.kernel.errors import InvalidInput
from strongroom_secrets.domain.metadata import is_wanted, parse_filter


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", ()),
        ("key=team,value=a", (("team", "a"),)),
        (" KEY = team , Value = a | key=tier,value=1 ", (("team", "a"), ("tier", "1"))),
        ("key=team|value=a", ()),
        ("value=a,key=team", (("team", "a"),)),
        ("nonsense|key=team,value=a", (("team", "a"),)),
        ("key=team,value=a=b", (("team", "a=b"),)),
    ],
)
def test_groups_that_lack_a_part_are_dropped(text: str, wanted: tuple[tuple[str, str], ...]) -> None:
    assert parse_filter(text) == wanted


def test_more_than_ten_groups_are_refused() -> None:
    assert len(parse_filter("|".join(["key=a,value=b"] * 10))) == 10
    with pytest.raises(InvalidInput) as refused:
        parse_filter("|".join(["key=a,value=b"] * 11))
    assert refused.value.issues


def test_all_groups_must_hold_and_sealed_entries_never_do() -> None:
    stored = [
        {"key": "team", "value": "a", "isEncrypted": False},
        {"key": "pin", "value": "1234", "isEncrypted": True},
    ]
    assert is_wanted(stored, ())
    assert is_wanted(stored, [("team", "a")])
    assert not is_wanted(stored, [("team", "a"), ("team", "b")])
    assert not is_wanted(stored, [("pin", "1234")])
    assert not is_wanted(None, [("team", "a")])
