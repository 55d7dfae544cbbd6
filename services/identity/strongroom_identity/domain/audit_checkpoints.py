"""Signed statements about the audit log: how long it was, how it ended, and the root of all that was in it."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, NoReturn
from uuid import UUID

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from strongroom_identity.domain import audit_chain
from strongroom_identity.domain.audit_chain import Frontier, canonical

SEGMENT: Final = 1000
"""The most records between two checkpoints: what a verifier keeps in memory at once."""


class AuditSigner:
    """The Ed25519 key that signs checkpoints and exports. It is not one of those that sign tokens."""

    __slots__ = ("_private", "key_id", "public_key")

    def __init__(self, private: bytes) -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(private)
        self.public_key = self._private.public_key().public_bytes_raw()
        self.key_id = id_of_key(self.public_key)

    @classmethod
    def generate(cls) -> "AuditSigner":
        """A fresh key."""
        return cls(Ed25519PrivateKey.generate().private_bytes_raw())

    def private_bytes(self) -> bytes:
        """The 32 private bytes, for sealing them at rest."""
        return self._private.private_bytes_raw()

    def sign(self, purpose: str, document: Mapping[str, Any]) -> bytes:
        """Sign a document for one purpose: it is worth nothing for another."""
        return self._private.sign(signed_bytes(purpose, document))

    def __repr__(self) -> str:
        return f"AuditSigner({self.key_id!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a signing key cannot be copied out of the process")


def id_of_key(public_key: bytes) -> str:
    """A key's name: the beginning of its hash."""
    return hashlib.sha256(public_key).hexdigest()[:16]


def signed_bytes(purpose: str, document: Mapping[str, Any]) -> bytes:
    """What is signed: the purpose, and the document's canonical bytes."""
    return f"strongroom audit {purpose} v1\n".encode() + canonical(document)


def is_signed(public_key: bytes, signature: bytes, purpose: str, document: Mapping[str, Any]) -> bool:
    """Say whether this key has signed the document for this purpose."""
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, signed_bytes(purpose, document))
    except (InvalidSignature, ValueError):
        return False
    return True


@dataclass(frozen=True)
class Checkpoint:
    """The log of one organization when it had `number` records. `frontier` is what its tree grows on from."""

    organization_id: UUID
    number: int
    last_mac: bytes
    root: bytes
    frontier: bytes
    created_at: datetime
    key_id: str
    signature: bytes = b""

    @classmethod
    def of(
        cls, organization_id: UUID, frontier: Frontier, last_mac: bytes, now: datetime, signer: AuditSigner
    ) -> "Checkpoint":
        """Sign what the log is now."""
        checkpoint = cls(
            organization_id=organization_id,
            number=frontier.count,
            last_mac=last_mac,
            root=frontier.root(),
            frontier=frontier.to_bytes(),
            created_at=now,
            key_id=signer.key_id,
        )
        return replace(checkpoint, signature=signer.sign("checkpoint", checkpoint.document()))

    def document(self) -> dict[str, Any]:
        """What is signed."""
        return {
            "organizationId": str(self.organization_id),
            "count": self.number,
            "lastMac": self.last_mac.hex(),
            "root": self.root.hex(),
            "createdAt": audit_chain.instant(self.created_at),
            "keyId": self.key_id,
        }

    def to_json(self) -> dict[str, Any]:
        """The document with its signature."""
        return {**self.document(), "signature": self.signature.hex()}

    def tree(self) -> Frontier:
        """The tree, to grow on."""
        return Frontier.of_bytes(self.number, self.frontier)
