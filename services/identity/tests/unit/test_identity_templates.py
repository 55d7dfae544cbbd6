"""What a template is, apart from what it holds."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

from strongroom_identity.domain.identity_templates import LDAP, IdentityTemplate

NOW = datetime(2026, 1, 2, 9, tzinfo=UTC)


def test_a_change_without_a_name_keeps_the_name():
    template = IdentityTemplate.new(uuid4(), "Directory", NOW)
    assert (template.method, template.created_at, template.updated_at) == (LDAP, NOW, NOW)
    later = template.changed(None, NOW + timedelta(hours=1))
    assert (later.name, later.created_at, later.updated_at) == ("Directory", NOW, NOW + timedelta(hours=1))
    assert later.changed("Other", NOW).name == "Other"
