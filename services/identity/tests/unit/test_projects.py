"""A new project."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from strongroom_common.kernel.names import canonical_slug
from strongroom_identity.domain.projects import NewProject, Project

NOW = datetime(2026, 1, 2, tzinfo=UTC)
WISH = NewProject(
    name="Payments",
    slug=None,
    description=None,
    type="secret-manager",
    template="default",
    has_default_environments=True,
    has_delete_protection=False,
)


def test_a_project_begins_with_three_environments() -> None:
    project = Project.new(WISH, uuid4(), NOW)
    assert [(one.name, one.slug, one.position) for one in project.environments] == [
        ("Development", "dev", 1),
        ("Staging", "staging", 2),
        ("Production", "prod", 3),
    ]
    assert project.state().environments[0].slug == "dev"
    assert project.state().revision == 1


def test_a_project_may_begin_without_environments() -> None:
    assert Project.new(replace(WISH, has_default_environments=False), uuid4(), NOW).environments == ()


@pytest.mark.parametrize("name", ["Payments", "Zahlungen & Überweisungen", "支払い", "-", "a" * 255, "  x  "])
def test_any_name_gets_a_slug_of_its_own(name: str) -> None:
    one, other = (Project.new(replace(WISH, name=name), uuid4(), NOW).slug for _ in range(2))
    assert one != other
    assert canonical_slug(one) == one


def test_a_slug_that_was_asked_for_is_kept() -> None:
    assert Project.new(replace(WISH, slug="pay-now"), uuid4(), NOW).slug == "pay-now"


def test_a_templates_stages_replace_the_usual_environments() -> None:
    project = Project.new(WISH, uuid4(), NOW, [("Only", "only")])
    assert [(one.name, one.slug, one.position, one.project_id) for one in project.environments] == [
        ("Only", "only", 1, project.id)
    ]
    assert Project.new(WISH, uuid4(), NOW, []).environments == ()


def test_every_change_makes_the_next_revision() -> None:
    later = datetime(2026, 1, 3, tzinfo=UTC)
    project = Project.new(WISH, uuid4(), NOW)
    changed = project.changed({"pit_version_limit": 3, "enforce_encrypted_secret_manager_secret_metadata": True}, later)
    assert (changed.revision, changed.updated_at, changed.name) == (2, later, "Payments")
    assert (changed.state().pit_version_limit, changed.state().enforce_encrypted_metadata) == (3, True)
    shrunk = changed.with_environments(changed.environments[:1])
    assert (shrunk.revision, [one.slug for one in shrunk.state().environments]) == (3, ["dev"])
