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
