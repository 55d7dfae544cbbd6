"""What an instance makes when it starts for the first time, and finds again ever after."""

import asyncio

from strongroom_common.testing.waiting import eventually


async def test_signing_key_and_pepper_are_sealed_at_rest(world) -> None:
    (key,) = await world.rows("SELECT * FROM signing_keys")
    (instance,) = await world.rows("SELECT * FROM instance")
    private = world.context.secrets.signing_key.private_bytes()
    assert private not in bytes(key["sealed_private_key"])
    assert world.context.secrets.pepper.key() not in bytes(instance["sealed_pepper"])
    assert '"d"' not in key["public_key"]


async def test_the_new_key_is_told_to_everyone(fresh) -> None:
    await eventually(lambda: fresh.identity.said.of("identity.signing-keys.changed.v1"))
    (event,) = fresh.identity.said.of("identity.signing-keys.changed.v1")
    assert [key["kid"] for key in event.payload["keys"]] == [fresh.context.secrets.signing_key.id]


async def test_a_restart_finds_the_same_keys_and_honours_old_tokens(start) -> None:
    async with start() as first:
        await first.bootstrap()
        machine = await first.machine()
        kid = first.context.secrets.signing_key.id
    async with start() as second:
        assert second.context.secrets.signing_key.id == kid
        assert (await second.details(first.token)).status == 200
        assert (await second.login(machine)).status == 200, "the pepper is the same"
        assert not second.identity.said.of("identity.signing-keys.changed.v1")


async def test_replicas_that_start_together_agree(start) -> None:
    async def begin() -> tuple[str, bytes]:
        async with start() as actions:
            return actions.context.secrets.signing_key.id, actions.context.secrets.pepper.key()

    found = await asyncio.gather(*(begin() for _ in range(4)))
    assert len(set(found)) == 1
