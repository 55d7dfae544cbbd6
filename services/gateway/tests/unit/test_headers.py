"""Which headers end at the gateway."""

import pytest

from strongroom_gateway.domain.headers import is_ours, named_in


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("x-forwarded-for", True),
        ("x-forwarded-anything", True),
        ("forwarded", True),
        ("x-real-ip", True),
        ("x-request-id", True),
        ("x-strongroom-caller", True),
        ("authorization", False),
        ("x-forward", False),
        ("x-custom", False),
    ],
)
def test_a_header_that_only_the_gateway_may_set_is_known_by_name(name: str, ours: bool) -> None:
    assert is_ours(name) is ours


def test_every_header_that_connection_lines_name_is_for_one_hop() -> None:
    assert named_in(["close, X-Hop", " TE"]) == {"close", "x-hop", "te"}
