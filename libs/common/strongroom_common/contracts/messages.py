"""The three ways of speaking, as base classes, and how secret fields travel: sealed."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, PlainSerializer, PlainValidator, SerializationInfo, ValidationInfo

from strongroom_common.kernel.secret import Secret


class Payload(BaseModel):
    """What a message carries. Unknown fields are ignored: a newer speaker may say more."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Message(Payload):
    """A payload with a name, `service.noun.verb.vN`; the class attribute `type` is that name."""

    type: ClassVar[str]


class Event(Message):
    """A fact, in the past tense. `aggregate` is what its order matters for."""

    def aggregate(self) -> str:
        """Events of one aggregate are published in the order in which they were committed."""
        return self.type


class Command(Message):
    """An order to one service, in the imperative."""

    def aggregate(self) -> str:
        """Commands of one aggregate are published in the order in which they were committed."""
        return self.type


A = TypeVar("A", bound=Payload)


class Query(Message, Generic[A]):
    """A question with a typed answer: `class Resolve(Query[Access])`."""

    @classmethod
    def answer_type(cls) -> type[Payload]:
        """The model of the answer, read from the class's own declaration."""
        for base in cls.__mro__:
            metadata = getattr(base, "__pydantic_generic_metadata__", None)
            if metadata and metadata.get("args"):
                answer: type[Payload] = metadata["args"][0]
                return answer
        raise TypeError(f"{cls.__name__} does not say what answers it")


def _seal(secret: Secret, info: SerializationInfo) -> str:
    seal: Callable[[Secret], str] | None = (info.context or {}).get("seal")
    if seal is None:
        raise ValueError("a secret field leaves only through the bus, which seals it")
    return seal(secret)


def _open(value: Any, info: ValidationInfo) -> Secret:
    if isinstance(value, Secret):
        return value
    opener: Callable[[str], Secret] | None = (info.context or {}).get("open")
    if opener is None or not isinstance(value, str):
        raise ValueError("a sealed field arrives only through the bus, which opens it")
    return opener(value)


# A field of this type is AES-256-GCM under the bus key wherever it lies: outbox row, broker, dead letter.
SealedSecret = Annotated[Secret, PlainValidator(_open), PlainSerializer(_seal, return_type=str)]

__all__ = ["Command", "Event", "Message", "Payload", "Query", "SealedSecret"]
