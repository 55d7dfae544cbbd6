"""What templates of rules stand for."""

from uuid import UUID

from strongroom_identity.domain.facts import facts_of_identity

ROBOT = UUID(int=7)


def facts(metadata=(), auth=None) -> dict[str, str]:
    return dict(facts_of_identity(ROBOT, "robot", metadata, auth))


def test_an_identity_is_known_by_its_id_name_and_metadata() -> None:
    assert facts([("team", "blue")]) == {
        "identity.id": str(ROBOT),
        "identity.name": "robot",
        "identity.metadata.team": "blue",
    }


def test_a_word_that_stands_twice_is_no_fact() -> None:
    assert "identity.metadata.team" not in facts([("team", "blue"), ("team", "red"), ("site", "x")])
    assert facts([("team", "blue"), ("team", "red"), ("site", "x")])["identity.metadata.site"] == "x"


def test_claims_are_facts_where_they_are_plain() -> None:
    found = facts(auth={"oidc": {"sub": "repo:a", "n": 3, "ok": True, "list": ["x"], "none": None}, "odd": "text"})
    assert found["identity.auth.oidc.sub"] == "repo:a"
    assert found["identity.auth.oidc.n"] == "3"
    assert found["identity.auth.oidc.ok"] == "true"
    assert not [name for name in found if name.endswith((".list", ".none")) or ".odd" in name]


def test_metadata_cannot_pose_as_another_fact() -> None:
    found = facts([("id", "other"), ("auth.oidc.sub", "forged")])
    assert found["identity.id"] == str(ROBOT)
    assert "identity.auth.oidc.sub" not in found
