"""What a new password must be: 8 to 256 characters, and none of those that are tried first.

There are no rules about kinds of characters and no expiry (NIST SP 800-63B-4). Instead of a list of passwords there is
a list of the words that common ones are made of: with digits and signs around them, and with digits for letters inside,
they stand for far more than the thousand most common.
"""

import re
from collections.abc import Iterable
from unicodedata import normalize

from strongroom_common.kernel.errors import InvalidInput
from strongroom_common.kernel.secret import Secret

SHORTEST = 8
LONGEST = 256
MOST_AROUND = 6

_WORDS = """
abc abcd abcde abcdef abcdefg abcdefgh access account admin administrator alexander amanda america andrea andrew angel
angela angels anthony apple arsenal asdf asdfasdf asdfg asdfgh asdfghjk asdfghjkl ashley austin azerty azertyuiop baby
babygirl banana barcelona baseball basketball batman bismillah blink bond brandon bubbles buster butterfly changeit
changeme changemenow charlie chelsea chicken chocolate chris computer cookie cowboys daniel default demo dragon
elephant england example facebook family flower football forever freedom friend friends fuckyou gateway george gfhjkm
ghbdtn ginger google guest hannah hello helloworld hockey hunter iloveme iloveyou internet jackson jasmine jennifer
jessica jesus jordan jordans joshua justin killer lastfm letmein letmeinnow lifehack linkedin liverpool london lovely
loveme loveyou madison maggie manager manchester marina martin master matrix matthew melissa mercedes merlin michael
michelle mickey monkey monster mother mustang mynoob mypassword myspace naruto newpass newpassword nicole ninja
nopassword nothing october orange pass passw password passwords passwort patrick peanut pepper phoenix pokemon
pokemons police princess private purple qaz2wsx qazwsx qazwsxedc qwer qwert qwerty qwertyu qwertyui qwertyuiop qwertz
qwertzuiop rainbow ranger remember robert root rootroot samantha samsung scooter secret secrets security server shadow
sharon silver slipknot snoopy soccer spiderman spring starwars steelers summer sunshine superman superuser support
system taylor temp temporary tennis test tester testing testpass testtest thomas thunder tigger tinkerbell toor
trustme trustno turtle unknown user username vanessa victoria welcome whatever william winter wizard yankees yellow
zaqwsx zxcvbn zxcvbnm
"""
_COMMON = frozenset(_WORDS.split())
_ROWS = (
    "abcdefghijklmnopqrstuvwxyz",
    "qwertyuiop",
    "asdfghjkl",
    "zxcvbnm",
    "01234567890",
    "qazwsxedcrfvtgbyhnujmikolp",
)
_LETTERS = str.maketrans({"0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t", "@": "a", "$": "s", "!": "i"})
_AROUND = re.compile(r"^[\W\d_]+|[\W\d_]+$")
_PIECES = re.compile(r"(?P<piece>.{1,4}?)(?P=piece)+", re.DOTALL)


def verify_new(password: Secret, known: Iterable[str] = ()) -> None:
    """Raise `InvalidInput` (422) for a password that would be guessed; what was sent is never repeated.

    `known` are words that anyone knows of its owner.
    """
    text = password.reveal()
    if not SHORTEST <= len(text) <= LONGEST:
        code = "too_small" if len(text) < SHORTEST else "too_big"
        raise _refused(code, f"must be {SHORTEST} to {LONGEST} characters long")
    if is_common(text, known):
        raise _refused("custom", "is one of the passwords that are tried first: choose another one")


def is_common(text: str, known: Iterable[str] = ()) -> bool:
    """Say whether it is among the first that anybody would try."""
    words = _COMMON | {word.casefold() for word in known if len(word) >= 3}
    return any(form in words or _is_pattern(form) for form in _forms(normalize("NFKC", text).casefold()))


def _forms(folded: str) -> set[str]:
    bare = _AROUND.sub("", folded)
    forms = {folded}
    # A few digits and signs around a word do not hide it; many of them are a password of their own.
    if bare and len(folded) - len(bare) <= MOST_AROUND:
        forms.add(bare)
    return forms | {form.translate(_LETTERS) for form in forms}


def _is_pattern(form: str) -> bool:
    """One piece again and again, or a run along the alphabet, the digits or the keyboard."""
    return bool(_PIECES.fullmatch(form)) or any(form in line for row in _ROWS for line in (row * 2, row[::-1] * 2))


def _refused(code: str, message: str) -> InvalidInput:
    return InvalidInput.of_field(["password"], code, message)
