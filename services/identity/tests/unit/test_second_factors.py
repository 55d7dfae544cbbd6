"""A code of time is for one step, in every spelling, and each step counts once."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pyotp
from hypothesis import given
from hypothesis import strategies as st

from strongroom_common.kernel.secret import Secret
from strongroom_common.testing.clock import MORNING
from strongroom_identity.domain.second_factors import Totp, canonical_code, new_recovery_codes, new_totp_secret

TOTP = Totp(UUID(int=1), Secret("JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"), None, MORNING)
NOW = int(MORNING.timestamp()) // 30


def code(step: int) -> str:
    return pyotp.TOTP(TOTP.secret.reveal()).generate_otp(step)


def test_one_step_around_now_is_found() -> None:
    found = {step - NOW for step in range(NOW - 5, NOW + 6) if TOTP.find_step(code(step), MORNING) == step}
    assert found == {-1, 0, 1}


@given(st.integers(-1, 1), st.integers(-1, 1))
def test_after_a_step_only_later_ones_count(used, presented) -> None:
    found = replace(TOTP, last_step=NOW + used).find_step(code(NOW + presented), MORNING)
    assert (found is not None) == (presented > used)


@given(st.text(max_size=20))
def test_any_other_text_is_no_code(text) -> None:
    if canonical_code(text) not in {code(NOW + step) for step in (-1, 0, 1)}:
        assert TOTP.find_step(text, MORNING) is None


def test_spellings_of_a_code_are_one_code() -> None:
    right = code(NOW)
    for spelling in (f" {right}\n", f"{right[:3]} {right[3:]}", f"{right[:2]}-{right[2:]}"):
        assert TOTP.find_step(spelling, MORNING) == NOW
    assert TOTP.find_step(right, MORNING + timedelta(minutes=1)) is None


def test_secrets_are_fresh_and_do_not_print() -> None:
    assert len({new_totp_secret().reveal() for _ in range(20)}) == 20
    codes = [one.reveal() for one in new_recovery_codes()]
    assert len(set(codes)) == 10
    assert all(canonical_code(one) == one for one in codes)
    assert "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP" not in repr(TOTP)
    assert TOTP.address("ada@example.com").reveal().startswith("otpauth://totp/Strongroom:ada%40example.com?")
