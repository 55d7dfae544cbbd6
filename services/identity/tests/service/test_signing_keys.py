"""Another key signs, and nobody notices: two services on one database and one bus."""

import os
import sys
from asyncio import create_subprocess_exec
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import jwt
import pytest
from services.identity.tests.service.conftest import Actions

from strongroom_common.bus.rabbit import RabbitBus
from strongroom_common.kernel.clock import SystemClock
from strongroom_common.kernel.errors import Conflict, NotFound
from strongroom_common.kernel.secret import Secret
from strongroom_common.testing.clock import FakeClock
from strongroom_common.testing.service_harness import running_service, settings_for
from strongroom_common.testing.waiting import eventually
from strongroom_identity.service import build
from strongroom_identity.settings import IdentitySettings
from strongroom_identity.usecases import signing_keys


@dataclass
class Pair:
    """Two replicas."""

    one: Actions
    other: Actions

    @property
    def both(self) -> tuple[Actions, Actions]:
        return self.one, self.other


@pytest.fixture
async def pair(database_url: Secret, clock: FakeClock, rabbit_url: Secret) -> AsyncIterator[Pair]:
    settings = settings_for(IdentitySettings, database_url)
    async with AsyncExitStack() as stack:

        async def replica() -> Actions:
            bus: Any = RabbitBus(rabbit_url, "identity", SystemClock())
            return Actions(await stack.enter_async_context(running_service(build, settings, clock=clock, bus=bus)))

        pair = Pair(await replica(), await replica())
        assert (await pair.one.bootstrap()).status == 200
        yield pair


def kid_of(token: str) -> str:
    kid: str = jwt.get_unverified_header(token)["kid"]
    return kid


async def knows(replica: Actions, kid: str) -> bool:
    return kid in replica.context.keys._keys


async def test_a_new_key_is_known_before_it_signs_and_no_login_is_lost(pair: Pair, clock: FakeClock) -> None:
    machine = await pair.one.machine(auth={"accessTokenTTL": 3600})
    before = await pair.one.token_of(machine)
    fresh = (await signing_keys.rotate(pair.one.context)).key.id
    for replica in pair.both:
        await eventually(lambda replica=replica: knows(replica, fresh))
        assert kid_of(await replica.token_of(machine)) == kid_of(before), "it does not sign yet"
    clock.advance(signing_keys.LEAD)
    tokens = [before]
    for replica in pair.both:
        token = await replica.token_of(machine)
        assert kid_of(token) == fresh
        tokens.append(token)
    for replica in pair.both:
        assert [(await replica.details(token)).status for token in tokens] == [200, 200, 200]
    renewed = await pair.other.http.post("/api/v1/auth/token/renew", json={"accessToken": before})
    assert kid_of(renewed.json["accessToken"]) == fresh


async def test_a_retired_key_verifies_nothing_more_anywhere(pair: Pair, clock: FakeClock) -> None:
    machine = await pair.one.machine()
    old = await pair.one.token_of(machine)
    fresh = (await signing_keys.rotate(pair.one.context)).key.id
    with pytest.raises(Conflict):
        await signing_keys.retire(pair.one.context, kid_of(old))
    with pytest.raises(Conflict):
        await signing_keys.retire(pair.one.context, fresh)
    clock.advance(signing_keys.LEAD)
    for replica in pair.both:
        assert (await replica.details(old)).status == 200
    new = await pair.other.token_of(machine)
    await signing_keys.retire(pair.one.context, kid_of(old))
    for replica in pair.both:

        async def forgets(replica: Actions = replica) -> bool:
            return not await knows(replica, kid_of(old))

        await eventually(forgets)
        assert (await replica.details(old)).status == 403
        assert (await replica.details(new)).status == 200
    with pytest.raises(NotFound):
        await signing_keys.retire(pair.one.context, kid_of(old))


async def test_a_replica_that_heard_nothing_finds_out_by_itself(pair: Pair, clock: FakeClock) -> None:
    machine = await pair.one.machine()
    context = pair.other.context
    await signing_keys.rotate(pair.one.context)
    context.secrets.take_keys(())
    await signing_keys.reload(context)
    clock.advance(timedelta(minutes=2))
    kept, signing = await signing_keys.list_all(context)
    assert kid_of(await pair.other.token_of(machine)) == signing == kept[-1].kid


async def test_rotations_at_the_same_time_are_both_known(pair: Pair) -> None:
    kids = {(await signing_keys.rotate(replica.context)).key.id for replica in pair.both}
    for replica in pair.both:
        for kid in kids:
            await eventually(lambda replica=replica, kid=kid: knows(replica, kid))


async def test_a_rotation_is_audited(pair: Pair) -> None:
    fresh = await signing_keys.rotate(pair.one.context)
    (record,) = await eventually(lambda: pair.one.audited("rotate-signing-key"))
    assert (record["actor_kind"], record["metadata"]) == ("platform", {"kid": fresh.key.id})


@pytest.mark.timeout(60)
async def test_the_commands_beside_the_service(database_url: Secret, clock: FakeClock) -> None:
    settings = settings_for(IdentitySettings, database_url)
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "STRONGROOM_IDENTITY_DATABASE_URL": database_url.reveal(),
        "STRONGROOM_IDENTITY_MASTER_KEYS": settings.master_keys.reveal(),
        "STRONGROOM_IDENTITY_BUS_URL": settings.bus_url.reveal(),
        "STRONGROOM_BUS_KEYS": settings.bus_keys.reveal(),
    }

    async def keys(*words: str) -> tuple[int | None, str]:
        process = await create_subprocess_exec(
            sys.executable, "-m", "strongroom_identity", "keys", *words, env=environment, stdout=PIPE, stderr=PIPE
        )
        out, _ = await process.communicate()
        return process.returncode, out.decode()

    async with running_service(build, settings, clock=clock) as one:
        first = one.service.context.secrets.signing_key.id
        assert (await keys("rotate-signing"))[0] == 0
        status, listed = await keys("list-signing")
        assert (status, len(listed.splitlines())) == (0, 2)
        assert (await keys("retire-signing", first))[0] == 1, "it signs still"
        assert (await keys("retire-signing", "unknown"))[0] == 1
        (event,) = await eventually(lambda: one.said.of("identity.signing-keys.changed.v1")[1:])
        assert len(event.payload["keys"]) == 2
