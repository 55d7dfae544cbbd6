"""The decision, compared with the plain evaluator; the reading of rules; the boundary of what may be granted."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from strongroom_common.access.catalogue import ORGANIZATION, PROJECT
from strongroom_common.access.rules import (
    LONGEST_TEXT,
    MOST_ISSUES,
    MOST_RULES,
    MOST_VALUES,
    Rule,
    Ruleset,
    missing,
    parse_rules,
)
from strongroom_common.kernel.errors import InvalidInput
from strongroom_common.testing.reference_rules import reference_may

# Names that look like something else to a careless reader: case, composed and decomposed letters, dots, pattern signs.
environments = st.sampled_from(["dev", "prod", "dev-1", "prod-eu"])
paths = st.sampled_from(["/", "/a", "/a/b", "/a/b/c", "/ab", "/A", "/a-b", "/*", "/prod"])
secret_names = st.sampled_from(
    ["KEY", "key", "K", "*", "**", ".KEY", "..", "caf\u00e9", "[K]", "{K}", "{{identity.id}}", "K\nEY"]
)
some_tags = st.lists(st.sampled_from(["red", "blue", "*"]), min_size=1, max_size=2)
tags = some_tags | st.just([])
wanted_environments = environments | st.sampled_from(["Prod", " dev ", "{{identity.metadata.stage}}"])
wanted_paths = paths | st.sampled_from(["/a/", "/{{identity.metadata.team}}", "/a/{{identity.id}}"])
wanted_names = secret_names | st.sampled_from(["cafe\u0301", "{{identity.metadata.none}}"])
path_globs = st.sampled_from(
    ["/**", "/*", "/a/**", "/a/*", "**", "a/**", "/{a,A}/**", "/[!a]*", "/a*", "/{{identity.metadata.team}}/**", "/\\*"]
)
name_globs = st.sampled_from(["*", "K*", "?", "{KEY,key}", "[A-Z]*", "\\*", "{{identity.id}}", ".*", "**"])
facts = st.sampled_from(
    [
        {},
        {"identity.id": "K", "identity.metadata.team": "a", "identity.metadata.stage": "PROD"},
        {"identity.metadata.team": "a/b", "identity.id": "*"},
    ]
)


def _operators(value: st.SearchStrategy[str], globs: st.SearchStrategy[str] | None) -> st.SearchStrategy[Any]:
    exact = {"$eq": value, "$ne": value, "$in": st.lists(value, min_size=1, max_size=3)}
    each = exact if globs is None else {**exact, "$glob": globs}
    alone = [st.fixed_dictionaries({operator: wanted}) for operator, wanted in each.items()]
    return st.one_of(value, *alone, st.fixed_dictionaries({"$ne": value, **dict([each.popitem()])}))


def _conditions(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    alone = [st.fixed_dictionaries({name: condition}) for name, condition in fields.items()]
    return st.one_of(*alone, st.fixed_dictionaries({}, optional=dict(fields)))


secret_conditions = _conditions(
    environment=_operators(wanted_environments, st.sampled_from(["dev*", "PROD*", "*", "{{identity.metadata.stage}}"])),
    secretPath=_operators(wanted_paths, path_globs),
    secretName=_operators(wanted_names, name_globs),
    secretTags=st.fixed_dictionaries({"$in": some_tags}) | st.fixed_dictionaries({"$all": some_tags}),
)
element = _conditions(key=_operators(st.sampled_from("kl"), None), value=_operators(st.sampled_from("vw"), None))
lease_conditions = _conditions(
    environment=_operators(wanted_environments, None),
    metadata=st.fixed_dictionaries({"$elemMatch": element.filter(bool)}),
)


def _rules(subject: str, actions: list[str], conditions: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "subject": st.just(subject),
            "action": st.sampled_from(actions) | st.lists(st.sampled_from(actions), min_size=1, max_size=3),
        },
        optional={"conditions": conditions | st.none(), "inverted": st.booleans()},
    )


SECRET_ACTIONS = ["describeSecret", "readValue", "edit"]
secret_rules = _rules("secrets", SECRET_ACTIONS, secret_conditions)
other_rules = _rules("dynamic-secrets", ["lease"], lease_conditions) | _rules("tags", ["read"], st.just({}))
any_rule = secret_rules | secret_rules | secret_rules | other_rules
rule_sets = st.lists(any_rule, max_size=6)
secrets = st.fixed_dictionaries(
    {}, optional={"environment": environments, "secretPath": paths, "secretName": secret_names, "secretTags": tags}
)
leases = st.fixed_dictionaries(
    {},
    optional={
        "environment": environments,
        "metadata": st.lists(
            st.fixed_dictionaries({}, optional={"key": st.sampled_from("kl"), "value": st.sampled_from("vw")}),
            max_size=2,
        ),
    },
)
questions = (
    st.tuples(st.sampled_from([*SECRET_ACTIONS, "read", "delete"]), st.just("secrets"), st.none() | secrets)
    | st.tuples(st.just("lease"), st.just("dynamic-secrets"), st.none() | leases)
    | st.tuples(st.just("read"), st.sampled_from(["tags", "role", ""]), st.none() | st.just({}))
)
whole_secrets = st.fixed_dictionaries(
    {"environment": environments, "secretPath": paths, "secretName": secret_names, "secretTags": tags}
)


@settings(max_examples=500)
@given(rules=rule_sets, question=questions, known=facts)
def test_it_agrees_with_the_plain_evaluator(rules: list[dict[str, Any]], question: Any, known: dict[str, str]) -> None:
    ruleset = Ruleset(parse_rules(rules, PROJECT), known)
    expected = reference_may(rules, *question, known)
    assert ruleset.may(*question) is expected
    decision = ruleset.decide(*question)
    assert decision.allowed is expected
    if decision.deciding_rule_index is None:
        assert not expected
    else:
        assert ruleset.rules[decision.deciding_rule_index] in decision.considered
        assert ruleset.rules[decision.deciding_rule_index].inverted is not expected
    assert Ruleset.from_wire([rule.to_wire() for rule in ruleset.rules], known).may(*question) is expected


@given(rules=rule_sets, extra=any_rule, place=st.integers(0, 6), question=questions, known=facts)
def test_adding_a_rule_that_forbids_never_grants(
    rules: list[dict[str, Any]], extra: dict[str, Any], place: int, question: Any, known: dict[str, str]
) -> None:
    with_extra = [*rules[:place], {**extra, "inverted": True}, *rules[place:]]
    if Ruleset.from_wire(with_extra, known).may(*question):
        assert Ruleset.from_wire(rules, known).may(*question)


@given(rules=rule_sets, last=any_rule, resource=whole_secrets, action=st.sampled_from(SECRET_ACTIONS))
def test_the_last_matching_rule_wins(
    rules: list[dict[str, Any]], last: dict[str, Any], resource: dict[str, Any], action: str
) -> None:
    alone = Ruleset.from_wire([{**last, "inverted": False}]).may(action, "secrets", resource)
    after_all = Ruleset.from_wire([*rules, last])
    if alone:
        assert after_all.may(action, "secrets", resource) is not last.get("inverted", False)
        assert after_all.decide(action, "secrets", resource).deciding_rule_index == len(rules)


@given(question=questions, rules=rule_sets)
def test_no_rule_means_no(question: Any, rules: list[dict[str, Any]]) -> None:
    assert not Ruleset([]).may(*question)
    others = [rule for rule in rules if rule["subject"] != question[1]]
    assert not Ruleset.from_wire(others).may(*question)


@given(rules=rule_sets, resource=whole_secrets, action=st.sampled_from(SECRET_ACTIONS), known=facts)
def test_what_is_allowed_might_be_allowed(
    rules: list[dict[str, Any]], resource: dict[str, Any], action: str, known: dict[str, str]
) -> None:
    ruleset = Ruleset.from_wire(rules, known)
    if ruleset.may(action, "secrets", resource):
        assert ruleset.may(action, "secrets")
        for name in resource:
            assert ruleset.might(action, "secrets", {key: value for key, value in resource.items() if key != name})


@given(rules=rule_sets, resource=secrets, action=st.sampled_from(SECRET_ACTIONS))
def test_a_name_in_another_case_never_gains_by_it(
    rules: list[dict[str, Any]], resource: dict[str, Any], action: str
) -> None:
    only_upper = [{**rule, "conditions": {"secretName": "KEY"}} for rule in rules if not rule.get("inverted")]
    assert not Ruleset.from_wire(only_upper).may(action, "secrets", {**resource, "secretName": "key"})


def allowed(
    rules: list[dict[str, Any]], action: str = "readValue", known: dict[str, str] | None = None, **fields: Any
) -> bool:
    return Ruleset(parse_rules(rules, PROJECT), known).may(action, "secrets", fields)


def on_secrets(inverted: bool = False, **conditions: Any) -> dict[str, Any]:
    return {"subject": "secrets", "action": "readValue", "inverted": inverted, "conditions": conditions}


def test_the_old_action_stands_for_the_two_new_ones() -> None:
    old = Ruleset.from_wire([{"subject": "secrets", "action": "read"}])
    assert old.may("describeSecret", "secrets")
    assert old.may("readValue", "secrets")
    assert old.may("read", "secrets")
    assert not old.may("edit", "secrets")
    half = Ruleset.from_wire([{"subject": "secrets", "action": "describeSecret"}])
    assert not half.may("read", "secrets")
    assert half.decide("read", "secrets").considered == half.rules
    assert not Ruleset.from_wire([{"subject": "tags", "action": "read"}]).may("describeSecret", "tags")


def test_conditions_and_resources_meet_in_canonical_form() -> None:
    assert allowed([on_secrets(secretPath="/a/")], secretPath="/a")
    assert allowed([on_secrets(environment=" Prod ")], environment="prod")
    assert allowed([on_secrets(environment={"$glob": "PROD*"})], environment="prod-1")
    assert allowed([on_secrets(secretName="cafe\u0301")], secretName="caf\u00e9")
    everything_but = [on_secrets(), on_secrets(inverted=True, secretPath={"$in": ["/a/"]})]
    assert not allowed(everything_but, secretPath="/a"), "a slash too many must not undo what is forbidden"


def test_tags_match_by_any_and_all_by_all() -> None:
    any_of = on_secrets(secretTags={"$in": ["red", "blue"]})
    assert allowed([any_of], secretTags=["green", "red"])
    assert not allowed([any_of], secretTags=["green"])
    assert not allowed([any_of], secretTags=[])
    both = on_secrets(secretTags={"$all": ["red", "blue"]})
    assert allowed([both], secretTags=["blue", "green", "red"])
    assert not allowed([both], secretTags=["red"])


def test_what_the_resource_does_not_say_is_held_against_the_caller() -> None:
    assert not allowed([on_secrets(secretName={"$ne": "A"})], environment="dev")
    assert not allowed([on_secrets(), on_secrets(inverted=True, secretName="A")], environment="dev")
    assert allowed([on_secrets(), on_secrets(inverted=True, secretName="A")], secretName="B")


def test_without_a_resource_a_condition_is_left_open() -> None:
    conditional = Ruleset.from_wire([on_secrets(environment="dev")])
    assert conditional.may("readValue", "secrets")
    assert conditional.might("readValue", "secrets", {"secretPath": "/a"})
    assert not conditional.might("readValue", "secrets", {"environment": "prod"})
    assert not Ruleset.from_wire([on_secrets(), on_secrets(inverted=True)]).may("readValue", "secrets")
    assert Ruleset.from_wire([on_secrets(), on_secrets(inverted=True, environment="dev")]).may("readValue", "secrets")


def test_a_template_is_filled_with_the_callers_own_facts() -> None:
    own = on_secrets(secretPath={"$glob": "/teams/{{identity.metadata.team}}/**"})
    assert allowed([own], known={"identity.metadata.team": "red"}, secretPath="/teams/red/a")
    assert not allowed([own], known={"identity.metadata.team": "*"}, secretPath="/teams/red/a")
    assert not allowed([own], known={"identity.metadata.team": "red/a"}, secretPath="/teams/red/a")
    assert not allowed([own], secretPath="/teams/red/a")
    stage = on_secrets(environment={"$eq": "{{identity.metadata.Stage}}"})
    assert allowed([stage], known={"identity.metadata.Stage": "Prod"}, environment="prod")
    not_own = [on_secrets(), on_secrets(inverted=True, secretName="{{identity.id}}")]
    assert allowed(not_own, known={"identity.id": "A"}, secretName="B")
    assert not allowed(not_own, secretName="B"), "who is meant is not known, so it may be this caller"


def test_words_of_a_newer_release_grant_nothing_and_forbid_all() -> None:
    newer = on_secrets(environment={"$newer": "dev"})
    strange = on_secrets(environment={"$in": 7})
    for rule in (newer, strange, on_secrets(environment={}), on_secrets(environment=7)):
        assert not Ruleset.from_wire([rule]).may("readValue", "secrets", {"environment": "dev"})
        forbidden = Ruleset.from_wire([on_secrets(), {**rule, "inverted": True}])
        assert not forbidden.may("readValue", "secrets", {"environment": "dev"})


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"subject": 7, "action": []},
        {"subject": "tags", "action": 7},
        {"subject": "tags", "action": [7]},
        {"subject": "tags", "action": "read", "conditions": [1]},
        {"subject": "tags", "action": "read", "inverted": "yes"},
    ],
)
def test_what_was_never_a_rule_is_not_read(document: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not a rule"):
        Ruleset.from_wire([document])


def test_on_the_wire_an_action_is_always_an_array() -> None:
    (rule,) = parse_rules([{"subject": "tags", "action": "read", "unknown": 1}], PROJECT)
    assert rule.to_wire() == {"subject": "tags", "action": ["read"], "inverted": False}
    assert rule.to_detail() == {"subject": "tags", "action": ["read"], "inverted": False, "conditions": {}}
    sent = on_secrets(environment=" Dev ")
    assert parse_rules([sent], PROJECT)[0].to_wire() == {**sent, "action": ["readValue"]}, (
        "conditions come back as sent"
    )


S = {"subject": "secrets", "action": "readValue"}


@pytest.mark.parametrize(
    ("document", "path", "code"),
    [
        (None, [], "invalid_type"),
        ({}, [], "invalid_type"),
        ([7], [0], "invalid_type"),
        ([{}], [0, "subject"], "invalid_enum_value"),
        ([{"subject": "nothing", "action": "read"}], [0, "subject"], "invalid_enum_value"),
        ([{"subject": ["tags"], "action": "read"}], [0, "subject"], "invalid_enum_value"),
        ([{"subject": "tags"}], [0, "action"], "invalid_type"),
        ([{"subject": "tags", "action": []}], [0, "action"], "too_small"),
        ([{"subject": "tags", "action": ["read"] * (MOST_VALUES + 1)}], [0, "action"], "too_big"),
        ([{"subject": "tags", "action": "READ"}], [0, "action"], "invalid_enum_value"),
        ([{"subject": "tags", "action": [["read"]]}], [0, "action"], "invalid_enum_value"),
        ([{"subject": "tags", "action": "read", "inverted": 1}], [0, "inverted"], "invalid_type"),
        (
            [{"subject": "tags", "action": "read", "conditions": {"environment": "a"}}],
            [0, "conditions"],
            "unrecognized_keys",
        ),
        ([{**S, "conditions": []}], [0, "conditions"], "invalid_type"),
        ([{**S, "conditions": {"environment": {}}}], [0, "conditions", "environment"], "too_small"),
        ([{**S, "conditions": {"environment": 7}}], [0, "conditions", "environment"], "invalid_type"),
        ([{**S, "conditions": {"environment": " "}}], [0, "conditions", "environment"], "too_small"),
        ([{**S, "conditions": {"environment": {"$regex": "a"}}}], [0, "conditions", "environment"], "custom"),
        ([{**S, "conditions": {"secretTags": "red"}}], [0, "conditions", "secretTags"], "custom"),
        ([{**S, "conditions": {"environment": {"$in": "a"}}}], [0, "conditions", "environment", "$in"], "invalid_type"),
        ([{**S, "conditions": {"environment": {"$in": []}}}], [0, "conditions", "environment", "$in"], "too_small"),
        (
            [{**S, "conditions": {"environment": {"$in": ["a"] * (MOST_VALUES + 1)}}}],
            [0, "conditions", "environment", "$in"],
            "too_big",
        ),
        (
            [{**S, "conditions": {"environment": {"$in": ["a", {}]}}}],
            [0, "conditions", "environment", "$in", 1],
            "invalid_type",
        ),
        (
            [{**S, "conditions": {"environment": {"$eq": {"$eq": "a"}}}}],
            [0, "conditions", "environment", "$eq"],
            "invalid_type",
        ),
        ([{**S, "conditions": {"secretName": "a" * (LONGEST_TEXT + 1)}}], [0, "conditions", "secretName"], "too_big"),
        ([{**S, "conditions": {"secretPath": "a"}}], [0, "conditions", "secretPath"], "custom"),
        ([{**S, "conditions": {"secretPath": {"$ne": "a"}}}], [0, "conditions", "secretPath", "$ne"], "custom"),
        (
            [{**S, "conditions": {"secretPath": {"$in": ["/a", "b"]}}}],
            [0, "conditions", "secretPath", "$in", 1],
            "custom",
        ),
        ([{**S, "conditions": {"secretPath": {"$glob": "!(a)"}}}], [0, "conditions", "secretPath", "$glob"], "custom"),
        (
            [{"subject": "dynamic-secrets", "action": "lease", "conditions": {"metadata": {"$elemMatch": {}}}}],
            [0, "conditions", "metadata", "$elemMatch"],
            "too_small",
        ),
        (
            [
                {
                    "subject": "dynamic-secrets",
                    "action": "lease",
                    "conditions": {"metadata": {"$elemMatch": {"key": {"$glob": "a"}}}},
                }
            ],
            [0, "conditions", "metadata", "$elemMatch", "key"],
            "custom",
        ),
        (
            [
                {
                    "subject": "dynamic-secrets",
                    "action": "lease",
                    "conditions": {"metadata": {"$elemMatch": {"other": "a"}}},
                }
            ],
            [0, "conditions", "metadata", "$elemMatch"],
            "unrecognized_keys",
        ),
        ([{"subject": "secrets", "action": ["read", "describeSecret"]}], [], "custom"),
        ([{"subject": "secrets", "action": "read"}, {"subject": "secrets", "action": "readValue"}], [], "custom"),
        ([{"subject": "tags", "action": "read"}] * (MOST_RULES + 1), [], "too_big"),
        (
            [{**S, "conditions": {"secretPath": {"$glob": "/{a,b}{c,d}{e,f}{g,h}{i,j}" + "/x" * 490}}}] * 2,
            [],
            "too_big",
        ),
    ],
)
def test_a_fault_is_named_by_its_place_and_kind(document: Any, path: list[str | int], code: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_rules(document, PROJECT, at=("role", "permissions"))
    assert refused.value.wire_label == "ValidationFailure"
    assert {"path": ["role", "permissions", *path], "code": code} in [
        {"path": issue["path"], "code": issue["code"]} for issue in refused.value.issues
    ]


def test_a_fault_never_repeats_what_was_sent() -> None:
    canary = "canary-4711"
    hostile = [
        {"subject": canary},
        {"subject": "tags", "action": canary},
        {**S, "conditions": {canary: canary, "environment": {canary: canary}, "secretPath": canary}},
    ]
    with pytest.raises(InvalidInput) as refused:
        parse_rules(hostile, PROJECT)
    assert len(refused.value.issues) >= 4
    assert canary not in str(refused.value.issues)


def test_faults_are_bounded() -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_rules([{}] * MOST_RULES, PROJECT)
    assert len(refused.value.issues) == MOST_ISSUES


def test_a_path_pattern_is_not_held_to_begin_with_a_slash() -> None:
    assert parse_rules([on_secrets(secretPath={"$glob": "**/b"})], PROJECT)


def test_the_organization_has_words_of_its_own() -> None:
    assert parse_rules([{"subject": "billing", "action": ["read"]}], ORGANIZATION)
    assert parse_rules(
        [{"subject": "app-connections", "action": "connect", "conditions": {"connectionId": "x"}}], ORGANIZATION
    )
    with pytest.raises(InvalidInput):
        parse_rules([{"subject": "secrets", "action": "edit"}], ORGANIZATION)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["secrets", "readValue", "$in", "$glob"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["subject", "action", "conditions", "inverted", "environment", "$in", "$eq", "$glob", "secretPath", "a"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    document=json_values
    | st.lists(
        st.fixed_dictionaries({"subject": st.just("secrets"), "action": st.just("edit"), "conditions": json_values}),
        max_size=2,
    )
)
def test_reading_rules_never_crashes(document: Any) -> None:
    try:
        rules = parse_rules(document, PROJECT)
    except InvalidInput as error:
        assert error.issues  # noqa: PT017 - most documents are wrong, some are not
    else:
        Ruleset(rules).may("edit", "secrets", {"environment": "a", "secretPath": "/"})


def rules_of(*documents: dict[str, Any]) -> tuple[Rule, ...]:
    return tuple(Rule.of_wire(document) for document in documents)


@settings(max_examples=400)
@given(
    held=rule_sets,
    wanted=rule_sets,
    resource=whole_secrets,
    action=st.sampled_from(SECRET_ACTIONS),
    known=facts,
    others=facts,
)
@example(
    held=[S, on_secrets(inverted=True, environment="prod")],
    wanted=[on_secrets(environment="dev")],
    resource={"environment": "dev", "secretPath": "/", "secretName": "A", "secretTags": []},
    action="readValue",
    known={},
    others={},
)
def test_what_is_not_missing_was_held(
    held: list[dict[str, Any]],
    wanted: list[dict[str, Any]],
    resource: dict[str, Any],
    action: str,
    known: dict[str, str],
    others: dict[str, str],
) -> None:
    own = Ruleset.from_wire(held, known)
    if not missing(own, rules_of(*wanted)) and Ruleset.from_wire(wanted, others).may(action, "secrets", resource):
        assert own.may(action, "secrets", resource)


@given(rules=rule_sets)
def test_who_holds_everything_lacks_nothing(rules: list[dict[str, Any]]) -> None:
    everything = Ruleset([Rule(name, subject.actions) for name, subject in PROJECT.items()])
    assert missing(everything, rules_of(*rules)) == []
    granting = [rule for rule in rules if not rule.get("inverted")]
    assert len(missing(Ruleset([]), rules_of(*rules))) == len(granting)


@pytest.mark.parametrize(
    ("held", "wanted", "is_covered"),
    [
        ([S], [S], True),
        ([S], [on_secrets(environment="dev")], True),
        ([on_secrets(environment="dev")], [S], False),
        ([on_secrets(environment="dev")], [on_secrets(environment="DEV", secretPath="/a")], True),
        ([on_secrets(environment={"$in": ["dev", "test"]})], [on_secrets(environment="dev")], True),
        ([on_secrets(environment="dev")], [on_secrets(environment={"$in": ["dev", "test"]})], False),
        ([on_secrets(environment={"$ne": "prod"})], [on_secrets(environment="dev")], True),
        ([on_secrets(environment={"$ne": "prod"})], [on_secrets(environment={"$glob": "*"})], False),
        ([on_secrets(secretPath={"$glob": "/a/**"})], [on_secrets(secretPath={"$glob": "/a/b/*"})], True),
        ([on_secrets(secretPath={"$glob": "/a/**"})], [on_secrets(secretPath="/a/b")], True),
        ([on_secrets(secretTags={"$in": ["a", "b"]})], [on_secrets(secretTags={"$in": ["a"]})], True),
        ([on_secrets(secretTags={"$in": ["a", "b"]})], [on_secrets(secretTags={"$all": ["a", "c"]})], True),
        ([S, on_secrets(inverted=True, environment="prod")], [S], False),
        ([S, on_secrets(inverted=True, environment="prod")], [S, on_secrets(inverted=True, environment="prod")], True),
        ([S, on_secrets(inverted=True, environment="prod")], [S, on_secrets(inverted=True)], True),
        ([S, on_secrets(inverted=True, environment="prod")], [on_secrets(inverted=True, environment="prod"), S], False),
        ([S, on_secrets(inverted=True, environment="prod")], [on_secrets(environment="dev")], True),
        (
            [S, on_secrets(inverted=True, secretPath={"$glob": "/prod/**"})],
            [on_secrets(secretPath={"$glob": "/dev/**"})],
            True,
        ),
        ([S, on_secrets(inverted=True, secretTags={"$in": ["a"]})], [on_secrets(secretTags={"$in": ["b"]})], False),
        ([on_secrets(inverted=True), S], [S], True),
        ([S], [on_secrets(environment="{{identity.id}}")], True),
        ([on_secrets(environment="{{identity.id}}")], [on_secrets(environment="{{identity.id}}")], False),
        (
            [{"subject": "secrets", "action": "read"}],
            [{"subject": "secrets", "action": ["describeSecret", "readValue"]}],
            True,
        ),
        (
            [{"subject": "secrets", "action": ["describeSecret", "readValue"]}],
            [{"subject": "secrets", "action": "read"}],
            True,
        ),
        ([S], [{"subject": "secrets", "action": "read"}], False),
    ],
)
def test_the_boundary_of_what_may_be_granted(
    held: list[dict[str, Any]], wanted: list[dict[str, Any]], is_covered: bool
) -> None:
    assert (missing(Ruleset.from_wire(held), rules_of(*wanted)) == []) is is_covered


def test_a_restriction_that_another_caller_fills_is_no_restriction_yet() -> None:
    held = [S, on_secrets(inverted=True, environment="prod")]
    wanted = [S, on_secrets(inverted=True, environment="prod", secretName="{{identity.id}}")]
    assert missing(Ruleset.from_wire(held), rules_of(*wanted))


def test_one_name_of_several_says_nothing_about_the_others() -> None:
    def on_certificates(condition: Any) -> dict[str, Any]:
        return {"subject": "certificates", "action": "read", "conditions": {"altNames": condition}}

    held = Ruleset.from_wire([on_certificates({"$ne": "inner.example"})])
    assert missing(held, rules_of(on_certificates("outer.example")))
    assert held.may("read", "certificates", {"altNames": ["outer.example"]})
    assert not held.may("read", "certificates", {"altNames": ["outer.example", "inner.example"]})


def test_only_the_missing_actions_of_a_rule_are_named() -> None:
    held = Ruleset.from_wire([{"subject": "tags", "action": "read"}])
    assert missing(held, rules_of({"subject": "tags", "action": ["read", "edit"]})) == [Rule("tags", ("edit",))]
