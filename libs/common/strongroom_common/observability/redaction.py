"""Takes secrets out of texts that leave the process other than as an answer: log lines, errors of targets."""

import re
from collections.abc import Iterable

from strongroom_common.kernel.secret import MASK, Secret

LONGEST_TEXT = 8_000

_SENSITIVE = re.compile(
    r"pass(word|phrase|wd)?$|secret(_?value|_?key)?$|token$|authorization|cookie|api_?key|private_?key|credential|"
    r"bearer|client_?secret|bind_?pass|master_?key|pepper",
    re.IGNORECASE,
)
_PATTERNS = (
    # JSON web tokens, service tokens, bearer headers, passwords in addresses, PEM private keys.
    (re.compile(r"\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?"), MASK),
    (re.compile(r"\bst\.[A-Za-z0-9-]{8,}(?:\.[A-Za-z0-9]+)*"), MASK),
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9+/=._~-]{6,}"), r"\1 " + MASK),
    (re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s:/@]*):[^\s@]*@"), r"\1:" + MASK + "@"),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), MASK),
)


def is_sensitive_key(key: str) -> bool:
    """Say whether a field of this name must never be shown."""
    return bool(_SENSITIVE.search(key))


def redact_text(text: str, known: Iterable[Secret] = ()) -> str:
    """Mask what looks like a credential and every known secret, and cut what is too long for a log line."""
    for secret in known:
        if len(secret.reveal()) >= 4:
            text = text.replace(secret.reveal(), MASK)
    for pattern, mask in _PATTERNS:
        text = pattern.sub(mask, text)
    return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + " (cut)"
