"""The postmaster seals what is secret, to the message it is part of, and hands on where a message comes from."""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from strongroom_common.contracts.envelopes import Actor, Envelope, Origin, Postmaster
from strongroom_common.contracts.messages import Command, Event, Message, Payload, Query, SealedSecret
from strongroom_common.kernel.ids import new_id
from strongroom_common.kernel.secret import Secret

NOW = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
CANARY = "canary-50c1-do-not-show"
NONCE = bytes(12)


class StoppedClock:
    def now(self) -> datetime:
        return NOW

    def monotonic(self) -> float:
        return 0.0


class Written(Event):
    type = "tests.letter.written.v1"
    page: int = 1
    password: SealedSecret

    def aggregate(self) -> str:
        return f"page {self.page}"


class Burn(Command):
    type = "tests.letter.burn.v1"
    password: SealedSecret


class Reading(Payload):
    text: SealedSecret


class Read(Query[Reading]):
    type = "tests.letter.read.v1"


@pytest.fixture
def postmaster() -> Postmaster:
    cipher = AESGCM(bytes(range(32)))
    return Postmaster(
        StoppedClock(),
        seal=lambda plain, associated: cipher.encrypt(NONCE, plain, associated),
        open=lambda sealed, associated: cipher.decrypt(NONCE, sealed, associated),
    )


@pytest.mark.parametrize(
    ("message", "kind", "aggregate"),
    [
        (Written(page=7, password=Secret(CANARY)), "event", "page 7"),
        (Burn(password=Secret(CANARY)), "command", "tests.letter.burn.v1"),
        (Read(), "query", "tests.letter.read.v1"),
    ],
)
def test_a_message_comes_out_of_its_envelope_as_it_went_in(
    postmaster: Postmaster, message: Message, kind: str, aggregate: str
) -> None:
    envelope = Envelope.decode(postmaster.enclose(message, Origin()).encode())
    assert (envelope.kind, envelope.type, envelope.aggregate) == (kind, message.type, aggregate)
    assert envelope.occurred_at == NOW
    assert postmaster.disclose(envelope, type(message)) == message


def test_a_secret_field_cannot_be_read_on_the_envelope(postmaster: Postmaster) -> None:
    raw = postmaster.enclose(Written(password=Secret(CANARY)), Origin()).encode()
    assert CANARY.encode() not in raw
    assert CANARY.encode().hex().encode() not in raw


def test_a_sealed_field_does_not_open_in_another_message(postmaster: Postmaster) -> None:
    first = postmaster.enclose(Written(password=Secret(CANARY)), Origin())
    for moved in (
        first.model_copy(update={"id": new_id()}),
        first.model_copy(update={"type": Burn.type}),
    ):
        with pytest.raises(InvalidTag):
            postmaster.disclose(moved, Written)


def test_an_answer_opens_only_as_the_answer_to_its_question(postmaster: Postmaster) -> None:
    question, other = postmaster.enclose(Read(), Origin()), postmaster.enclose(Read(), Origin())
    answer = postmaster.enclose_answer(Reading(text=Secret(CANARY)), question)
    assert CANARY not in str(answer)
    assert postmaster.disclose_answer(answer, question, Reading) == Reading(text=Secret(CANARY))
    with pytest.raises(InvalidTag):
        postmaster.disclose_answer(answer, other, Reading)
    with pytest.raises(InvalidTag):
        postmaster.disclose(question.model_copy(update={"payload": answer}), Reading)


def test_a_secret_field_leaves_by_no_other_way() -> None:
    message = Written(password=Secret(CANARY))
    with pytest.raises(ValueError, match="only through the bus"):
        message.model_dump(mode="json")
    with pytest.raises(ValueError, match="only through the bus"):
        Written.model_validate({"password": "plain"})
    assert CANARY not in repr(message)


def test_a_payload_that_does_not_fit_is_refused(postmaster: Postmaster) -> None:
    envelope = postmaster.enclose(Written(password=Secret(CANARY)), Origin())
    for payload in ({}, {"password": 7}, {"password": "not hex"}):
        with pytest.raises(ValueError):  # noqa: PT011 - its text is pydantic's
            postmaster.disclose(envelope.model_copy(update={"payload": payload}), Written)


def test_what_a_newer_speaker_adds_is_ignored(postmaster: Postmaster) -> None:
    message = Written(password=Secret(CANARY))
    envelope = postmaster.enclose(message, Origin())
    newer = envelope.model_copy(update={"payload": {**envelope.payload, "ink": "blue"}})
    raw = newer.encode().replace(b'{"id"', b'{"seal":"red","id"', 1)
    assert postmaster.disclose(Envelope.decode(raw), Written) == message


def test_whatever_a_message_causes_follows_from_it(postmaster: Postmaster) -> None:
    organization_id, project_id = new_id(), new_id()
    origin = Origin(
        actor=Actor(kind="user", id=new_id(), name="ann"),
        organization_id=organization_id,
        correlation_id="req-1",
        traceparent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        client_address="192.0.2.7",
    ).in_project(project_id)
    envelope = postmaster.enclose(Burn(password=Secret(CANARY)), origin)
    caused = envelope.origin()
    assert (caused.actor, caused.correlation_id, caused.traceparent) == (
        origin.actor,
        origin.correlation_id,
        origin.traceparent,
    )
    assert (caused.organization_id, caused.project_id) == (organization_id, project_id)
    assert caused.causation_id == envelope.id
    assert envelope.causation_id is None
    assert "192.0.2.7" not in envelope.encode().decode(), "an address is nobody else's business"


def test_every_message_has_an_id_of_its_own_and_later_ones_sort_later(postmaster: Postmaster) -> None:
    ids = [postmaster.enclose(Read(), Origin()).id for _ in range(3)]
    assert len(set(ids)) == 3
    assert all(isinstance(one, UUID) and one.version == 7 for one in ids)


def test_a_query_that_does_not_say_what_answers_it_is_a_mistake() -> None:
    assert Read.answer_type() is Reading
    with pytest.raises(TypeError):
        Query.answer_type()


@given(st.binary(max_size=200))
def test_bytes_that_are_no_envelope_are_refused_and_nothing_worse(raw: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - its text is pydantic's
        Envelope.decode(raw)
