r"""Patterns of `$glob`: what they match, and what can be shown about two of them.

A value is cut at `/` into segments, and so is a pattern.

| pattern | matches |
|---|---|
| `*` | any characters of one segment; alone it needs at least one |
| `**` | as a whole segment: any number of segments, none included; elsewhere it means `*` |
| `?` | one character other than `/` |
| `[abc]`, `[a-z]`, `[!a]`, `[^a]` | one character of the class, or outside it, never `/` |
| `{a,b}` | one of the alternatives, which are patterns themselves; not nested, at most `MOST_ALTERNATIVES` in all |
| `\x` | the character x itself |
| `{{name}}` | the fact of that name about the caller, taken literally |

A name that begins with a dot is a name like any other. What other glob dialects add (`!(a)`, `(a|b)`, `{1..3}`, a
leading `!`) is refused rather than taken for plain text: a rule that forbids must not silently forbid nothing.

Each pattern becomes a regular expression whose wildcards never reconsider (atomic groups), so its time is bounded by
the length of the pattern times that of the value.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Final

MOST_ALTERNATIVES: Final = 32

TEMPLATE = re.compile(r"\{\{\s*([A-Za-z0-9_.-]+)\s*\}\}")


class BadGlob(ValueError):
    """Says what is wrong with a pattern."""


class MissingFact(LookupError):
    """A template names a fact that the caller does not have, or that could change what the pattern means."""


class Glob:
    """A compiled pattern. `facts` fills its templates; raises `BadGlob`, and `MissingFact` for a template."""

    __slots__ = ("_alternatives", "_matches", "weight")

    def __init__(self, pattern: str, facts: Mapping[str, str] | None = None) -> None:
        parsed = _parse(pattern, {} if facts is None else facts)
        self.weight = sum(len(marks) + 1 for marks in parsed)
        """What it costs to compile, in marks."""
        self._alternatives = tuple(_segments(marks) for marks in parsed)
        expression = "|".join(_expression(segments) for segments in self._alternatives)
        self._matches = re.compile(expression, re.DOTALL).fullmatch

    def matches(self, value: str) -> bool:
        """Say whether the whole value fits."""
        return self._matches(value + "/") is not None

    def covers(self, other: "Glob") -> bool:
        """Say whether everything that the other matches is shown to match here. Only simple proofs are tried."""
        return all(any(_covers(mine, its) for mine in self._alternatives) for its in other._alternatives)

    def excludes(self, other: "Glob") -> bool:
        """Say whether it is shown that no value matches both. Only simple proofs are tried."""
        return all(_excludes(mine, its) for mine in self._alternatives for its in other._alternatives)


class _Wild:
    """A mark that is no plain character; `expression` is empty for the star."""

    __slots__ = ("expression",)

    def __init__(self, expression: str) -> None:
        self.expression = expression

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Wild) and other.expression == self.expression

    def __hash__(self) -> int:
        return hash(self.expression)


_STAR = _Wild("")
_ANY = _Wild("[^/]")
_Mark = str | _Wild
_Segment = tuple[_Mark, ...]
_DEEP: Final[_Segment] = (_STAR, _STAR)


def _parse(pattern: str, facts: Mapping[str, str]) -> list[list[_Mark]]:
    """Cut a pattern into marks, once for each combination of its alternatives."""
    if pattern.startswith("!"):
        raise BadGlob("a pattern must not begin with `!`")
    parts: list[list[list[_Mark]]] = []
    place, count = 0, 1
    while place < len(pattern):
        template = TEMPLATE.match(pattern, place)
        if pattern[place] == "{" and not template:
            alternatives, place = _braces(pattern, place, facts)
            count *= len(alternatives)
            if count > MOST_ALTERNATIVES:
                raise BadGlob(f"a pattern may stand for at most {MOST_ALTERNATIVES} alternatives")
            parts.append(alternatives)
        else:
            marks, place = _mark(pattern, place, facts)
            parts.append([marks])
    return [[mark for part in choice for mark in part] for choice in product(*parts)]


def _braces(pattern: str, place: int, facts: Mapping[str, str]) -> tuple[list[list[_Mark]], int]:
    alternatives: list[list[_Mark]] = [[]]
    place += 1
    while place < len(pattern) and pattern[place] != "}":
        if pattern[place] == ",":
            alternatives.append([])
            place += 1
        elif pattern[place] == "{" and not TEMPLATE.match(pattern, place):
            raise BadGlob("alternatives in braces must not be nested")
        else:
            marks, place = _mark(pattern, place, facts)
            alternatives[-1].extend(marks)
    if place == len(pattern):
        raise BadGlob("a brace is not closed")
    if len(alternatives) < 2:
        raise BadGlob("braces must hold alternatives, separated by commas")
    return alternatives, place + 1


def _mark(pattern: str, place: int, facts: Mapping[str, str]) -> tuple[list[_Mark], int]:
    """Read what is no brace: usually one mark, or the characters of a fact."""
    template = TEMPLATE.match(pattern, place)
    if template:
        return list(fact(facts, template[1], within_path=True)), template.end()
    character = pattern[place]
    if character == "*":
        return [_STAR], place + 1
    if character == "?":
        return [_ANY], place + 1
    if character == "[":
        return _class(pattern, place)
    if character in "()|}":
        raise BadGlob(f"`{character}` has no meaning in a pattern; write `\\{character}` for the character itself")
    if character == "\\":
        place += 1
        if place == len(pattern):
            raise BadGlob("a pattern must not end with a backslash")
        if pattern[place] == "/":
            raise BadGlob("a slash cannot be escaped")
    return [pattern[place]], place + 1


def _class(pattern: str, place: int) -> tuple[list[_Mark], int]:
    place += 1
    negated = pattern[place : place + 1] in {"!", "^"} and place < len(pattern)
    place += negated
    # A closing bracket in the first place is a character of the class, as everywhere else.
    end = pattern.find("]", place + 1)
    if end < 0:
        raise BadGlob("a bracket is not closed")
    members = pattern[place:end]
    if any(character in members for character in "/[\\"):
        raise BadGlob("a character class must not hold `/`, `[` or a backslash")
    expression, place = "", 0
    while place < len(members):
        first, last = members[place], members[place]
        if members[place + 1 : place + 2] == "-" and place + 2 < len(members):
            last = members[place + 2]
            if last < first:
                raise BadGlob("a range in a character class runs backwards")
            place += 2
        expression += f"{re.escape(first)}-{re.escape(last)}"
        place += 1
    return [_Wild(f"(?!/)[{'^' if negated else ''}{expression}]")], end + 1


def fact(facts: Mapping[str, str], name: str, *, within_path: bool) -> str:
    """Return a fact for a template; raises `MissingFact` also for one that would move the value elsewhere.

    A fact must never widen a rule: it is not empty, and within a path or pattern it is part of one segment.
    """
    value = facts.get(name)
    if not value or (within_path and ("/" in value or value in {".", ".."})):
        raise MissingFact(name)
    return value


def _segments(marks: Sequence[_Mark]) -> list[_Segment]:
    segments: list[list[_Mark]] = [[]]
    for mark in marks:
        if mark == "/":
            segments.append([])
        else:
            segments[-1].append(mark)
    return [tuple(segment) for segment in segments]


def _expression(segments: Sequence[_Segment]) -> str:
    """Write segments as a regular expression over a value whose every segment ends with `/`."""
    runs: list[list[_Segment]] = [[]]
    for segment in segments:
        if segment == _DEEP:
            runs.append([])
        else:
            runs[-1].append(segment)
    head, *others = ("".join(_segment_expression(segment) for segment in run) for run in runs)
    if not others:
        return head
    *middle, tail = others
    # The first place where a run fits is as good as any later one, so it is never reconsidered.
    inner = "".join(f"(?>(?:[^/]*/)*?{run})" for run in middle if run)
    return f"{head}{inner}(?:[^/]*/)*{tail}" if tail else f"{head}{inner}.*"


def _segment_expression(segment: _Segment) -> str:
    pieces: list[str] = [""]
    for mark in segment:
        if mark == _STAR:
            pieces.append("")
        else:
            pieces[-1] += mark.expression if isinstance(mark, _Wild) else re.escape(mark)
    head, *others = pieces
    if not others:
        return head + "/"
    *middle, tail = others
    inner = "".join(f"(?>[^/]*?{piece})" for piece in middle if piece)
    # A segment of stars alone matches a name, and a name is not empty.
    return f"{head}{inner}[^/]*{tail}/" if head or inner or tail else "[^/]+/"


def _is_plain(segment: _Segment) -> bool:
    return all(isinstance(mark, str) for mark in segment)


def _covers(mine: Sequence[_Segment], its: Sequence[_Segment]) -> bool:
    """A pattern covers itself, and `a/*/**` covers whatever begins with the same segments `a/*`."""
    *beginning, last = mine
    return mine == its or (last == _DEEP and list(its[: len(beginning)]) == beginning)


def _excludes(mine: Sequence[_Segment], its: Sequence[_Segment]) -> bool:
    """Two patterns exclude each other where their plain first segments differ."""
    for one, other in zip(mine, its, strict=False):
        if not (_is_plain(one) and _is_plain(other)):
            return False
        if one != other:
            return True
    # One is a plain beginning of the other: they differ if neither can go on.
    return len(mine) != len(its) and not any(_DEEP in rest for rest in (mine[len(its) :], its[len(mine) :]))
