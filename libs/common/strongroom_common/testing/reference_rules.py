"""A second evaluator of access rules: plain, slow, and meant to be seen to be right.

It reads the rules as they travel, one after the other, and shares nothing with `access.rules` but the names of fields.
Property tests compare the two.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from strongroom_common.access.catalogue import LEGACY, LISTS, PATHS, SLUGS

Facts = Mapping[str, str]


def reference_may(
    rules: Sequence[Mapping[str, Any]],
    action: str,
    subject: str,
    resource: Mapping[str, Any] | None,
    facts: Facts | None = None,
) -> bool:
    """Answer the question that `Ruleset.may` answers."""
    if (subject, action) in LEGACY:
        return all(reference_may(rules, new, subject, resource, facts) for new in LEGACY[subject, action])
    allowed = False
    for rule in rules:
        named = [rule["action"]] if isinstance(rule["action"], str) else rule["action"]
        speaks = rule["subject"] == subject and any(action in LEGACY.get((subject, name), (name,)) for name in named)
        if speaks and _matches(rule, resource, facts or {}):
            allowed = not rule.get("inverted", False)
    return allowed


def _matches(rule: Mapping[str, Any], resource: Mapping[str, Any] | None, facts: Facts) -> bool:
    forbids = rule.get("inverted", False)
    for name, condition in (rule.get("conditions") or {}).items():
        operators = {"$eq": condition} if isinstance(condition, str) else condition
        for operator, wanted in operators.items():
            if any(_filled(name, operator, text, facts) is None for text in _texts(wanted)):
                holds = forbids
            elif resource is None:
                # Nothing is known of the resource: a rule that allows may apply, one that forbids need not.
                holds = not forbids
            elif resource.get(name) is None:
                holds = forbids
            else:
                holds = _holds(name, operator, wanted, resource[name], facts)
            if not holds:
                return False
    return True


def _texts(wanted: Any) -> list[str]:
    if isinstance(wanted, str):
        return [wanted]
    if isinstance(wanted, Mapping):
        return [text for inner in wanted.values() for text in _texts(inner)]
    return [text for inner in wanted for text in _texts(inner)]


def _holds(name: str, operator: str, wanted: Any, found: Any, facts: Facts) -> bool:
    if operator == "$elemMatch":
        return any(_element_holds(wanted, element, facts) for element in found)
    values = list(found) if name in LISTS else [found]
    if operator == "$in":
        return any(_filled(name, operator, one, facts) in values for one in wanted)
    if operator == "$all":
        return all(_filled(name, operator, one, facts) in values for one in wanted)
    text = _filled(name, operator, wanted, facts)
    assert text is not None
    if operator == "$eq":
        return text in values
    if operator == "$ne":
        return text not in values
    assert operator == "$glob"
    return any(reference_glob(text, value) for value in values)


def _element_holds(wanted: Mapping[str, Any], element: Mapping[str, str], facts: Facts) -> bool:
    for name, condition in wanted.items():
        operators = {"$eq": condition} if isinstance(condition, str) else condition
        for operator, inner in operators.items():
            if name not in element or not _holds(name, operator, inner, element[name], facts):
                return False
    return True


def _filled(name: str, operator: str, text: str, facts: Facts) -> str | None:
    """Bring a condition's text into canonical form with its templates filled, or None where a fact cannot be used."""
    text = unicodedata.normalize("NFC", text.strip())
    if name in PATHS and text != "/" and text.endswith("/"):
        text = text[:-1]
    whole = ""
    while "{{" in text:
        before, _, rest = text.partition("{{")
        fact_name, closed, after = rest.partition("}}")
        value = facts.get(fact_name.strip())
        if not closed or not value:
            return None
        if (name in PATHS or operator == "$glob") and ("/" in value or value in {".", ".."}):
            return None
        if operator == "$glob":
            value = "".join("\\" + character for character in value)
        whole += before + value
        text = after
    whole += text
    return whole.lower() if name in SLUGS else whole


def reference_glob(pattern: str, value: str) -> bool:
    """Say whether a glob pattern without templates matches the whole value."""
    return any(_segments_match(_split(marks), value.split("/")) for marks in _alternatives(pattern))


def _alternatives(pattern: str) -> list[list[str]]:
    """Cut a pattern into marks: a character, `\\x` for a plain one, `[...]` for a class; braces are multiplied out."""
    results: list[list[str]] = [[]]
    place = 0
    while place < len(pattern):
        if pattern[place] == "\\":
            choices, place = [[pattern[place : place + 2]]], place + 2
        elif pattern[place] == "[":
            end = pattern.index("]", place + (3 if pattern[place + 1] in "!^" else 2))
            choices, place = [[pattern[place : end + 1]]], end + 1
        elif pattern[place] == "{":
            end = place
            texts: list[str] = [""]
            while pattern[end + 1] != "}":
                end += 1
                if pattern[end] == "\\":
                    texts[-1] += pattern[end : end + 2]
                    end += 1
                elif pattern[end] == "[":
                    close = pattern.index("]", end + (3 if pattern[end + 1] in "!^" else 2))
                    texts[-1] += pattern[end : close + 1]
                    end = close
                elif pattern[end] == ",":
                    texts.append("")
                else:
                    texts[-1] += pattern[end]
            choices, place = [_alternatives(text)[0] for text in texts], end + 2
        else:
            choices, place = [[pattern[place]]], place + 1
        results = [before + choice for before in results for choice in choices]
    return results


def _split(marks: Sequence[str]) -> list[list[str]]:
    segments: list[list[str]] = [[]]
    for mark in marks:
        if mark == "/":
            segments.append([])
        else:
            segments[-1].append(mark)
    return segments


def _segments_match(pattern: Sequence[Sequence[str]], value: Sequence[str]) -> bool:
    if not pattern:
        return not value
    first, rest = list(pattern[0]), pattern[1:]
    if first == ["*", "*"]:
        return any(_segments_match(rest, value[count:]) for count in range(len(value) + 1))
    if not value:
        return False
    if first and set(first) == {"*"} and not value[0]:
        return False
    return _characters_match(first, value[0]) and _segments_match(rest, value[1:])


def _characters_match(pattern: Sequence[str], text: str) -> bool:
    if not pattern:
        return not text
    mark, rest = pattern[0], pattern[1:]
    if mark == "*":
        return any(_characters_match(rest, text[count:]) for count in range(len(text) + 1))
    if not text:
        return False
    if mark == "?":
        fits = True
    elif mark.startswith("[") and len(mark) > 1:
        fits = _in_class(mark[1:-1], text[0])
    else:
        fits = text[0] == mark[-1]
    return fits and _characters_match(rest, text[1:])


def _in_class(members: str, character: str) -> bool:
    negated = members[0] in "!^"
    if negated:
        members = members[1:]
    found, place = False, 0
    while place < len(members):
        if place + 2 < len(members) and members[place + 1] == "-":
            found = found or members[place] <= character <= members[place + 2]
            place += 3
        else:
            found = found or members[place] == character
            place += 1
    return found is not negated
