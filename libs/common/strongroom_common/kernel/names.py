"""Names become canonical once, at the edge: trimmed, one Unicode form, one case, no tricks.

Rules and queries see only what these functions return, never the text as it was sent: whoever compares two spellings of
one name in two places has two doors with one lock (CVE-2025-54996 and its kin).
"""

import re
import unicodedata

_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_FOLDER = re.compile(r"[A-Za-z0-9_-]+")
_SLUG_BREAKS = re.compile(r"[^a-z0-9]+")


class BadName(ValueError):
    """Says what is wrong with a name; never repeats it."""


def canonical_text(text: str, *, longest: int, label: str = "value") -> str:
    """Trim, compose (NFC) and refuse control characters; line breaks are control characters too."""
    canonical = unicodedata.normalize("NFC", text.strip())
    if len(canonical) > longest:
        raise BadName(f"{label} must be at most {longest} characters long")
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in canonical):
        raise BadName(f"{label} must not contain control characters")
    return canonical


def canonical_slug(text: str, *, longest: int = 64, label: str = "slug") -> str:
    """Trim and lower-case; lower-case letters, digits and single hyphens remain, or it is refused."""
    canonical = canonical_text(text, longest=longest, label=label).lower()
    if not _SLUG.fullmatch(canonical):
        raise BadName(f"{label} may hold only lower-case letters, digits and single hyphens between them")
    return canonical


def slug_from(text: str, *, longest: int = 48) -> str:
    """Make a slug out of any title; an empty string where nothing of it can be kept."""
    folded = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return _SLUG_BREAKS.sub("-", folded).strip("-")[:longest].strip("-")


def canonical_email(text: str) -> str:
    """Trim, NFKC and case-fold, so that one mailbox has one spelling for lookup, lockout and uniqueness."""
    canonical = unicodedata.normalize("NFKC", text.strip()).casefold()
    if len(canonical) > 254:
        raise BadName("email must be at most 254 characters long")
    local, at, domain = canonical.rpartition("@")
    if not at or not local or "." not in domain or any(c.isspace() or ord(c) < 32 for c in canonical):
        raise BadName("email must be a valid e-mail address")
    if domain.startswith((".", "-")) or domain.endswith((".", "-")) or ".." in domain or "@" in local:
        raise BadName("email must be a valid e-mail address")
    return canonical


def canonical_folder_path(text: str, *, deepest: int = 32) -> str:
    """Return `/` or `/a/b`: one trailing slash is dropped, a leading one is added, each part is checked.

    Empty parts, `.` and `..` do not pass the character rule, so a path has one spelling.
    """
    path = text.strip()
    if path.endswith("/"):
        path = path[:-1]
    if not path:
        return "/"
    if not path.startswith("/"):
        path = "/" + path
    parts = path[1:].split("/")
    if len(parts) > deepest:
        raise BadName(f"path must be at most {deepest} folders deep")
    for part in parts:
        if len(part) > 255 or not _FOLDER.fullmatch(part):
            raise BadName("each folder of a path may hold only letters, digits, hyphens and underscores")
    return path


def canonical_secret_name(text: str) -> str:
    """Trim and compose; `:` and `/` are refused, since both are separators elsewhere (wire-secrets 6.1)."""
    canonical = canonical_text(text, longest=500, label="secret name")
    if not canonical:
        raise BadName("secret name must not be empty")
    if ":" in canonical or "/" in canonical:
        raise BadName("secret name must not contain ':' or '/'")
    return canonical
