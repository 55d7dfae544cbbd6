"""The decision: a caller's rules, and what they say about an action on a resource (wire-identity 12.2 to 12.4).

Rules are read in order and the last one that matches decides; where none matches, the answer is no. A rule matches when
all its conditions hold. What cannot be decided is refused: a condition on a field that the resource does not have, or
with a template whose fact the caller does not have, does not hold in a rule that allows and does hold in one that
forbids.

The resource is the resolved one, with canonical names (`kernel.names`). Conditions are brought to the same form once,
when they are compiled: composed (NFC), slugs in lower case, paths without a final slash.
"""

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from strongroom_common.access.catalogue import (
    ALL,
    ELEMENT,
    ELEMENT_FIELDS,
    EQ,
    GLOB,
    IN,
    LEGACY,
    LISTS,
    NE,
    PATHS,
    SLUGS,
    Catalogue,
    Operators,
)
from strongroom_common.access.globs import TEMPLATE, BadGlob, Glob, MissingFact, fact
from strongroom_common.kernel.errors import InvalidInput, Issue

MOST_RULES: Final = 500
MOST_VALUES: Final = 200
LONGEST_TEXT: Final = 1024
MOST_GLOB_MARKS: Final = 10_000
MOST_ISSUES: Final = 50

Resource = Mapping[str, Any]
"""The fields that conditions may speak of: texts, or lists of texts (`metadata`: of {key, value})."""


@dataclass(frozen=True)
class Rule:
    """One rule as it was written: `conditions` keep the form in which they were sent."""

    subject: str
    action: tuple[str, ...]
    conditions: Mapping[str, Any] = field(default_factory=dict)
    inverted: bool = False

    @classmethod
    def of_wire(cls, document: Mapping[str, Any]) -> "Rule":
        """Read a rule that was checked when it was made; raises `ValueError` for what was never one.

        It may come from a newer release and hold words that are unknown here.
        """
        subject, action = document.get("subject"), document.get("action")
        conditions, inverted = document.get("conditions") or {}, document.get("inverted") or False
        actions = [action] if isinstance(action, str) else action
        if (
            not isinstance(subject, str)
            or not isinstance(actions, Sequence)
            or not all(isinstance(name, str) for name in actions)
            or not isinstance(conditions, Mapping)
            or not isinstance(inverted, bool)
        ):
            raise ValueError("not a rule")
        return cls(subject, tuple(actions), conditions, inverted)

    def to_wire(self) -> dict[str, Any]:
        """Write it as clients read it: `action` is always an array; absent conditions stay absent."""
        document: dict[str, Any] = {
            "subject": self.subject,
            "action": list(self.action),
            "inverted": self.inverted,
        }
        if self.conditions:
            document["conditions"] = dict(self.conditions)
        return document

    def to_detail(self) -> dict[str, Any]:
        """Write it as the `details` of a refusal do: with all four fields (wire-identity 1.2)."""
        return {"conditions": {}, **self.to_wire()}


@dataclass(frozen=True)
class Decision:
    """An answer with its reason: the rules that speak of this action and subject, and the one that decided."""

    allowed: bool
    deciding_rule_index: int | None
    considered: tuple[Rule, ...]


class Ruleset:
    """A caller's rules in their order, compiled once for many questions.

    `facts` fill the templates of conditions: `identity.id`, `identity.metadata.team` and so on.
    """

    def __init__(self, rules: Sequence[Rule], facts: Mapping[str, str] | None = None) -> None:
        self.rules = tuple(rules)
        self._newest_first: dict[tuple[str, str], list[_Compiled]] = {}
        for index, rule in reversed(list(enumerate(self.rules))):
            compiled = _Compiled(index, rule, facts or {})
            for action in _meant(rule):
                self._newest_first.setdefault((rule.subject, action), []).append(compiled)

    @classmethod
    def from_wire(cls, documents: Sequence[Mapping[str, Any]], facts: Mapping[str, str] | None = None) -> "Ruleset":
        """Compile rules that were checked when they were made; raises `ValueError`."""
        return cls([Rule.of_wire(document) for document in documents], facts)

    def may(self, action: str, subject: str, resource: Resource | None = None) -> bool:
        """Say whether the action is allowed on the resource, or without one: whether it could be on some resource."""
        return self._is_allowed(action, subject, resource or {}, is_partial=resource is None)

    def might(self, action: str, subject: str, known: Resource) -> bool:
        """Say whether the action could be allowed on some resource of which only these fields are known."""
        return self._is_allowed(action, subject, known, is_partial=True)

    def decide(self, action: str, subject: str, resource: Resource | None = None) -> Decision:
        """Answer as `may` does, with the reason."""
        deciding: _Compiled | None = None
        for meant in LEGACY.get((subject, action), (action,)):
            deciding = self._deciding(meant, subject, resource or {}, resource is None)
            if deciding is None or deciding.inverted:
                break
        return Decision(
            allowed=deciding is not None and not deciding.inverted,
            deciding_rule_index=deciding.index if deciding else None,
            considered=self.about(action, subject),
        )

    def about(self, action: str, subject: str) -> tuple[Rule, ...]:
        """Return the rules that speak of the action and subject, in their order."""
        meant = LEGACY.get((subject, action), (action,))
        indexes = {rule.index for name in meant for rule in self._newest_first.get((subject, name), ())}
        return tuple(self.rules[index] for index in sorted(indexes))

    def _is_allowed(self, action: str, subject: str, fields: Resource, *, is_partial: bool) -> bool:
        for meant in LEGACY.get((subject, action), (action,)):
            deciding = self._deciding(meant, subject, fields, is_partial)
            if deciding is None or deciding.inverted:
                return False
        return True

    def _deciding(self, action: str, subject: str, fields: Resource, is_partial: bool) -> "_Compiled | None":
        for rule in self._newest_first.get((subject, action), ()):
            # What is not known: of a whole resource it is held against the caller, of a part of one it is left open.
            if rule.matches(fields, unknown_holds=rule.inverted is not is_partial):
                return rule
        return None


def missing(held: Ruleset, wanted: Sequence[Rule]) -> list[Rule]:
    """Return the rules of `wanted`, cut down to the actions that nobody with `held` may hand on.

    Whatever cannot be shown to be covered counts as missing. Shown means: a held rule that allows has no condition that
    the wanted rule does not imply, and each held rule after it that forbids either cannot meet the wanted rule, or is
    repeated among the wanted rules after it. Templates of `wanted` will be filled with another caller's facts, so they
    prove nothing.
    """
    grants = [_Compiled(index, rule, {}) for index, rule in enumerate(wanted)]
    lacking: list[Rule] = []
    for grant in grants:
        if grant.inverted:
            continue
        rule = wanted[grant.index]
        actions = tuple(
            action
            for action in dict.fromkeys(rule.action)
            if not all(
                _is_covered(held, grant, rule.subject, meant, grants)
                for meant in LEGACY.get((rule.subject, action), (action,))
            )
        )
        if actions:
            lacking.append(replace(rule, action=actions))
    return lacking


def _is_covered(held: Ruleset, grant: "_Compiled", subject: str, action: str, grants: "Sequence[_Compiled]") -> bool:
    repeated = [
        later
        for later in grants[grant.index + 1 :]
        if later.inverted and later.is_whole and later.subject == subject and action in later.actions
    ]
    for rule in held._newest_first.get((subject, action), ()):
        if rule.inverted:
            if not rule.excludes(grant) and not any(other.covers(rule) for other in repeated):
                return False
        elif rule.is_whole and rule.covers(grant):
            return True
    return False


def _meant(rule: Rule) -> tuple[str, ...]:
    """The actions of a rule, with old ones replaced by what they stand for."""
    meant = (new for action in rule.action for new in LEGACY.get((rule.subject, action), (action,)))
    return tuple(dict.fromkeys(meant))


@dataclass(frozen=True, slots=True)
class _Test:
    """One operator on one field. `values` are the only ones it accepts, where they can be listed."""

    operator: str
    holds: Callable[[Any], bool]
    values: frozenset[str] | None = None
    glob: Glob | None = None
    source: Any = None

    def implies(self, other: "_Test", *, many: bool) -> bool:
        """Say whether it is shown that the other holds wherever this one does; `many`: the field is a list."""
        if self.operator == other.operator and self.source == other.source:
            return True
        if self.glob and other.glob:
            return other.glob.covers(self.glob)
        if other.operator not in {EQ, IN, GLOB} and (other.operator != NE or many):
            return False
        if self.operator == ALL:
            return any(other.holds(value) for value in self.source)
        return self.values is not None and all(other.holds(value) for value in self.values)

    def excludes(self, other: "_Test") -> bool:
        """Say whether it is shown that both cannot hold for one value."""
        if self.values is not None:
            return not any(other.holds(value) for value in self.values)
        if other.values is not None:
            return not any(self.holds(value) for value in other.values)
        return self.glob is not None and other.glob is not None and self.glob.excludes(other.glob)


class _Compiled:
    """A rule whose conditions have become tests. `is_whole` says whether all of them could."""

    __slots__ = ("_tests", "actions", "index", "inverted", "is_whole", "subject")

    def __init__(self, index: int, rule: Rule, facts: Mapping[str, str]) -> None:
        self.index = index
        self.subject = rule.subject
        self.actions = _meant(rule)
        self.inverted = rule.inverted
        self.is_whole = True
        tests: list[tuple[str, _Test]] = []
        for name, operator, value in _conditions(rule.conditions):
            try:
                tests.append((name, _test(name, operator, value, facts)))
            except (MissingFact, BadGlob, _Unknown):
                self.is_whole = False
        self._tests = tuple(tests)

    def matches(self, fields: Resource, *, unknown_holds: bool) -> bool:
        """Say whether all conditions hold; those that could not be compiled hold only in a rule that forbids."""
        if not self.is_whole and not self.inverted:
            return False
        for name, test in self._tests:
            value = fields.get(name)
            if value is None:
                if not unknown_holds:
                    return False
            elif not test.holds(value):
                return False
        return True

    def covers(self, other: "_Compiled") -> bool:
        """Say whether it is shown that this rule matches whatever the other matches."""
        return all(
            any(given == name and its.implies(mine, many=name in LISTS) for given, its in other._tests)
            for name, mine in self._tests
        )

    def excludes(self, other: "_Compiled") -> bool:
        """Say whether it is shown that no resource matches both."""
        return any(
            given == name and name not in LISTS and mine.excludes(its)
            for name, mine in self._tests
            for given, its in other._tests
        )


class _Unknown(ValueError):
    """An operator, or a form of its value, that this release does not know."""


def _conditions(conditions: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield (field, operator, value); a plain text is `$eq`."""
    for name, condition in conditions.items():
        if not isinstance(condition, Mapping):
            yield name, EQ, condition
        elif not condition:
            yield name, "", None
        else:
            for operator, value in condition.items():
                yield name, operator, value


def _test(name: str, operator: str, value: Any, facts: Mapping[str, str]) -> _Test:
    if operator in {EQ, NE, GLOB} and isinstance(value, str):
        if operator == GLOB:
            glob = Glob(_canonical(name, value), _facts_for(name, facts))
            matches = glob.matches
            return _Test(
                GLOB,
                lambda found: matches(found) if isinstance(found, str) else any(map(matches, found)),
                glob=glob,
                source=value,
            )
        text = _filled(name, value, facts)
        if operator == EQ:
            return _Test(
                EQ,
                lambda found: found == text if isinstance(found, str) else text in found,
                values=frozenset({text}),
                source=text,
            )
        return _Test(NE, lambda found: found != text if isinstance(found, str) else text not in found, source=text)
    if operator in {IN, ALL} and isinstance(value, Sequence) and all(isinstance(one, str) for one in value):
        texts = frozenset(_filled(name, one, facts) for one in value)
        if operator == ALL:
            return _Test(ALL, lambda found: not isinstance(found, str) and texts.issubset(found), source=texts)
        return _Test(
            IN,
            lambda found: found in texts if isinstance(found, str) else not texts.isdisjoint(found),
            values=texts,
            source=texts,
        )
    if operator == ELEMENT and isinstance(value, Mapping) and value:
        parts = [(part, _test(part, inner, one, facts)) for part, inner, one in _conditions(value)]
        return _Test(
            ELEMENT,
            lambda found: any(
                isinstance(one, Mapping) and all(part in one and test.holds(one[part]) for part, test in parts)
                for one in found
            ),
            source=value,
        )
    raise _Unknown


def _canonical(name: str, text: str) -> str:
    text = unicodedata.normalize("NFC", text.strip())
    if name in SLUGS:
        # The names of facts keep their case.
        place, pieces = 0, []
        for template in TEMPLATE.finditer(text):
            pieces += [text[place : template.start()].lower(), template[0]]
            place = template.end()
        text = "".join((*pieces, text[place:].lower()))
    return text.removesuffix("/") if name in PATHS and len(text) > 1 else text


def _filled(name: str, text: str, facts: Mapping[str, str]) -> str:
    own = _facts_for(name, facts)
    return TEMPLATE.sub(lambda template: fact(own, template[1], within_path=name in PATHS), _canonical(name, text))


def _facts_for(name: str, facts: Mapping[str, str]) -> Mapping[str, str]:
    return {key: value.lower() for key, value in facts.items()} if name in SLUGS else facts


class _AnyFact(dict[str, str]):
    """Stands for the facts of a caller who is not known yet, while a rule is checked."""

    def get(self, key: str, default: Any = None) -> Any:
        return "x"


def parse_rules(document: Any, catalogue: Catalogue, at: Sequence[str | int] = ("permissions",)) -> tuple[Rule, ...]:
    """Check rules as a client sent them; `at` is their place in the body.

    Raises `InvalidInput` with an issue for each fault (`MOST_ISSUES` at most). Unknown keys beside the four of a rule
    are dropped, as everywhere; an unknown subject, action, field or operator is a fault, since it would mean something
    else than its author thought.
    """
    return _Reader(catalogue).read(document, list(at))


class _Reader:
    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._issues: list[Issue] = []
        self._weight = 0

    def read(self, document: Any, at: list[str | int]) -> tuple[Rule, ...]:
        rules: list[Rule] = []
        if not isinstance(document, list):
            self._fault(at, "invalid_type", "Expected an array of rules")
        elif len(document) > MOST_RULES:
            self._fault(at, "too_big", f"At most {MOST_RULES} rules")
        else:
            for index, one in enumerate(document):
                rule = self._rule(one, [*at, index])
                if rule is not None:
                    rules.append(rule)
                if len(self._issues) >= MOST_ISSUES or self._weight > MOST_GLOB_MARKS:
                    break
            self._look_at_all(rules, at)
        if self._issues:
            raise InvalidInput("The rules are not valid.", issues=self._issues[:MOST_ISSUES])
        return tuple(rules)

    def _look_at_all(self, rules: Sequence[Rule], at: list[str | int]) -> None:
        if self._weight > MOST_GLOB_MARKS:
            self._fault(at, "too_big", "The patterns of these rules are too large together")
        for (subject, old), new in LEGACY.items():
            used = {action for rule in rules if rule.subject == subject for action in rule.action}
            if old in used and not used.isdisjoint(new):
                names = " or ".join(f"`{action}`" for action in new)
                self._fault(at, "custom", f"For `{subject}`, `{old}` must not be mixed with {names}")

    def _rule(self, document: Any, at: list[str | int]) -> Rule | None:
        if not isinstance(document, dict):
            self._fault(at, "invalid_type", "Expected an object")
            return None
        faults = len(self._issues)
        name = document.get("subject")
        subject = self._catalogue.get(name) if isinstance(name, str) else None
        if subject is None:
            self._fault([*at, "subject"], "invalid_enum_value", "Unknown subject")
            return None
        actions = self._actions(document.get("action"), subject.actions, [*at, "action"])
        inverted = document.get("inverted")
        if inverted is not None and not isinstance(inverted, bool):
            self._fault([*at, "inverted"], "invalid_type", "Expected a boolean")
        conditions = document.get("conditions")
        if conditions is not None:
            self._fields(conditions, subject.fields, [*at, "conditions"])
        if len(self._issues) > faults:
            return None
        return Rule(str(name), actions, conditions or {}, inverted or False)

    def _actions(self, document: Any, known: Sequence[str], at: list[str | int]) -> tuple[str, ...]:
        actions = [document] if isinstance(document, str) else document
        if not isinstance(actions, list):
            self._fault(at, "invalid_type", "Expected an action or an array of actions")
        elif not actions:
            self._fault(at, "too_small", "At least one action")
        elif len(actions) > MOST_VALUES:
            self._fault(at, "too_big", f"At most {MOST_VALUES} actions")
        elif all(isinstance(action, str) and action in known for action in actions):
            return tuple(actions)
        else:
            self._fault(at, "invalid_enum_value", f"Unknown action; expected one of {', '.join(known)}")
        return ()

    def _fields(self, document: Any, known: Mapping[str, Operators], at: list[str | int]) -> None:
        if not isinstance(document, dict):
            self._fault(at, "invalid_type", "Expected an object")
            return
        for name, condition in document.items():
            operators = known.get(name)
            if operators is None:
                expected = f"; expected one of {', '.join(known)}" if known else ""
                self._fault(at, "unrecognized_keys", f"This subject has no such condition{expected}")
            elif not isinstance(condition, str | dict):
                self._fault([*at, name], "invalid_type", "Expected a text or an object of operators")
            elif not condition:
                self._fault([*at, name], "too_small", "Must not be empty")
            elif not operators.issuperset({EQ} if isinstance(condition, str) else condition):
                expected = ", ".join(sorted(operators))
                self._fault([*at, name], "custom", f"Operator not allowed here; expected one of {expected}")
            elif isinstance(condition, str):
                self._operator(name, EQ, condition, [*at, name])
            else:
                for operator, value in condition.items():
                    self._operator(name, operator, value, [*at, name, operator])

    def _operator(self, name: str, operator: str, value: Any, at: list[str | int]) -> None:
        if operator == ELEMENT:
            if isinstance(value, dict) and not value:
                self._fault(at, "too_small", "At least one field")
            self._fields(value, ELEMENT_FIELDS.get(name, {}), at)
        elif operator in {IN, ALL}:
            if not isinstance(value, list):
                self._fault(at, "invalid_type", "Expected an array")
            elif not 0 < len(value) <= MOST_VALUES:
                code = "too_big" if value else "too_small"
                self._fault(at, code, f"Between 1 and {MOST_VALUES} values")
            else:
                for index, one in enumerate(value):
                    self._text(name, operator, one, [*at, index])
        else:
            self._text(name, operator, value, at)

    def _text(self, name: str, operator: str, value: Any, at: list[str | int]) -> None:
        if not isinstance(value, str):
            self._fault(at, "invalid_type", "Expected a text")
        elif not value.strip():
            self._fault(at, "too_small", "Must not be empty")
        elif len(value) > LONGEST_TEXT:
            self._fault(at, "too_big", f"At most {LONGEST_TEXT} characters")
        elif operator == GLOB:
            self._glob(name, value, at)
        elif name in PATHS and not value.strip().startswith("/"):
            self._fault(at, "custom", "A path must begin with `/`")

    def _glob(self, name: str, value: str, at: list[str | int]) -> None:
        if self._weight > MOST_GLOB_MARKS:
            return
        try:
            self._weight += Glob(_canonical(name, value), _AnyFact()).weight
        except BadGlob as error:
            self._fault(at, "custom", f"Pattern not understood: {error}")

    def _fault(self, at: Sequence[str | int], code: str, message: str) -> None:
        if len(self._issues) < MOST_ISSUES:
            self._issues.append(Issue(code=code, path=list(at), message=message))
