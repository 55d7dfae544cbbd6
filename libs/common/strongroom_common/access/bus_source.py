"""Access answers over the bus: how every service but identity itself learns who may what."""

from strongroom_common.bus.asking import Asker
from strongroom_common.contracts.identity import (
    CallerAccess,
    ListSigningKeys,
    ProjectAccess,
    PublicKeys,
    ResolveCaller,
    ResolveProjectAccess,
    SpendToken,
)


class BusAccessSource:
    """Asks identity."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    async def resolve_caller(self, question: ResolveCaller) -> CallerAccess:
        return await self._asker.ask(question)

    async def resolve_project_access(self, question: ResolveProjectAccess) -> ProjectAccess:
        return await self._asker.ask(question)

    async def spend(self, question: SpendToken) -> None:
        await self._asker.ask(question)

    async def list_signing_keys(self) -> PublicKeys:
        """Ask for the keys that verify tokens."""
        return await self._asker.ask(ListSigningKeys())
