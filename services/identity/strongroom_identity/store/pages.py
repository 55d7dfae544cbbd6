"""One part of a long list."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Page:
    """What somebody looks for, and which part of it."""

    search: str
    limit: int
    offset: int

    @property
    def pattern(self) -> str:
        """For ILIKE: the text anywhere, its own signs taken literally; empty for everything."""
        if not self.search:
            return ""
        literal = self.search.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        return f"%{literal}%"
