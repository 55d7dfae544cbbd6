"""What is refused as a new password, and what is not."""

import pytest

from strongroom_common.kernel.errors import InvalidInput
from strongroom_common.kernel.secret import Secret
from strongroom_identity.domain.passwords import is_common, verify_new


@pytest.mark.parametrize(
    "text",
    [
        "password",
        "Password1!",
        "P@ssw0rd",
        "12345678",
        "0987654321",
        "11111111",
        "abcabcabc",
        "qwertyuiop",
        "poiuytrewq",
        "qwerty123456",
        "1qaz2wsx",
        "iloveyou2",
        "LETMEIN!!!",
        "\uff50assword",
        "sunshine99",
        "ada.byron",
        "Ada.Byron2026",
    ],
)
def test_what_is_tried_first_is_refused(text) -> None:
    assert is_common(text, ["ada.byron"])
    with pytest.raises(InvalidInput) as refused:
        verify_new(Secret(text), ["ada.byron"])
    assert [issue["path"] for issue in refused.value.issues] == [["password"]]
    assert [issue["message"] for issue in refused.value.issues] == [
        "is one of the passwords that are tried first: choose another one"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "correct horse",
        "zebra quilt",
        "xK4!vq9z",
        "        ",
        "пароль-длинный",
        "password8391027465",
        "日本語の合言葉です",
    ],
)
def test_nothing_else_is_asked_of_a_password(text) -> None:
    if text.strip():
        verify_new(Secret(text), ["ada", ""])


@pytest.mark.parametrize(("text", "code"), [("zebra q", "too_small"), ("", "too_small"), ("zebra" * 52, "too_big")])
def test_its_length_has_bounds(text, code) -> None:
    with pytest.raises(InvalidInput) as refused:
        verify_new(Secret(text))
    assert [issue["code"] for issue in refused.value.issues] == [code]


def test_the_bounds_themselves_are_allowed() -> None:
    verify_new(Secret("zebra qu"))
    verify_new(Secret("zebra quilt " * 21 + "zebr"))
