"""What is kept of a record, and which spans may be asked for."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from strongroom_common.contracts.audit import AuditRecord
from strongroom_common.contracts.envelopes import PLATFORM
from strongroom_common.kernel.errors import InvalidInput
from strongroom_common.testing.clock import MORNING
from strongroom_identity.domain.audit_records import LoggedRecord, Search, end_of_life, months_later


def logged(**more) -> LoggedRecord:
    record = AuditRecord(
        id=uuid4(), occurred_at=MORNING, organization_id=None, project_id=None, actor=PLATFORM, event="event", **more
    )
    return LoggedRecord.of(record, UUID(int=0), 1, MORNING)


@pytest.mark.parametrize(
    ("agent", "kind"),
    [
        ("cli", "cli"),
        ("cli/0.43", "cli"),
        ("k8-operator", "k8-operator"),
        ("terraform", "terraform"),
        ("Terraform/1.9", "terraform"),
        ("Mozilla/5.0 (X11)", "web"),
        ("curl/8.5", "other"),
        ("", "other"),
        ("a client", "other"),
    ],
)
def test_a_client_is_known_by_how_its_name_begins(agent, kind) -> None:
    assert logged(user_agent=agent).user_agent_type == kind


def test_nul_characters_are_replaced_everywhere() -> None:
    record = logged(user_agent="a\x00", metadata={"k\x00": ["v\x00", {"deep": "\x00"}], "n": 1})
    assert record.user_agent == "a\ufffd"
    assert record.metadata == {"k\ufffd": ["v\ufffd", {"deep": "\ufffd"}], "n": 1}


def test_a_record_without_content_keeps_its_cover() -> None:
    record = logged(metadata={"a": 1})
    emptied = replace(record, content_hash=record.hash_of_content(), event="", metadata={}, id=uuid4())
    assert emptied.content() is None
    assert emptied.cover() == record.cover()
    assert record.cover() != replace(record, event="other").cover()


def search(since, until) -> Search:
    return Search(since=since, until=until, offset=0, limit=20)


def test_a_span_is_three_months_at_most() -> None:
    start = datetime(2026, 1, 31, tzinfo=UTC)
    search(start, start)
    search(start, datetime(2026, 4, 30, tzinfo=UTC))
    for until in (datetime(2026, 4, 30, 0, 0, 1, tzinfo=UTC), start - timedelta(seconds=1)):
        with pytest.raises(InvalidInput) as caught:
            search(start, until)
        assert [issue["path"] for issue in caught.value.issues] == [["endDate"]]


def test_months_end_where_they_end() -> None:
    assert months_later(datetime(2025, 11, 30, tzinfo=UTC), 3) == datetime(2026, 2, 28, tzinfo=UTC)
    assert months_later(datetime(2026, 12, 1, tzinfo=UTC), 1) == datetime(2027, 1, 1, tzinfo=UTC)


def test_a_retention_of_0_has_no_end() -> None:
    assert end_of_life(MORNING, 0) is None
    assert end_of_life(MORNING, 2) == MORNING + timedelta(days=2)
