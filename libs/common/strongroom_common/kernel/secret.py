"""A value that must not be seen: it prints as `***` and refuses to become JSON."""

import hmac
from typing import Final, NoReturn

MASK: Final = "***"


class Secret:
    """Holds secret text. `reveal` is called only where the bytes leave us: a cipher, a driver, a response."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text itself."""
        return self._text

    def __repr__(self) -> str:
        return MASK

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return MASK

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._text.encode(), other._text.encode())

    def __hash__(self) -> NoReturn:
        raise TypeError("a Secret has no hash: it would be compared outside constant time")

    def __bool__(self) -> bool:
        return bool(self._text)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret cannot be copied out of the process")
