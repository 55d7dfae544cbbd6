"""Many at once, and what a read costs."""

import asyncio
from typing import Any

import pytest


@pytest.mark.timeout(60)
async def test_thirty_creates_at_once_in_one_folder_all_succeed(world: Any) -> None:
    made = await asyncio.gather(*(world.create(f"KEY_{number:02}") for number in range(30)))
    assert len({secret["id"] for secret in made}) == 30
    assert len(await world.names()) == 30
    assert len(await world.audited("create-secret", 30)) == 30


@pytest.mark.timeout(60)
async def test_of_creates_of_one_name_one_wins(world: Any) -> None:
    body = world.place(secretValue="v")
    answers = await asyncio.gather(*(world.send("POST", "/api/v4/secrets/KEY", json=body) for _ in range(10)))
    assert sorted(answer.status for answer in answers) == [200] + [400] * 9
    assert len(await world.rows("SELECT 1 FROM secret_versions")) == 1


@pytest.mark.timeout(60)
async def test_updates_at_once_are_all_kept_as_versions(world: Any) -> None:
    await world.create("KEY", "0")
    bodies = [world.place(secretValue=str(number), secretComment=str(number)) for number in range(1, 16)]
    answers = await asyncio.gather(*(world.send("PATCH", "/api/v4/secrets/KEY", json=body) for body in bodies))
    assert {answer.status for answer in answers} == {200}
    versions = [(await world.get("KEY", version=str(number))).json["secret"] for number in range(1, 17)]
    assert {secret["secretValue"] for secret in versions} == {str(number) for number in range(16)}
    # Never a mix of two writers.
    assert all(secret["secretComment"] == secret["secretValue"] for secret in versions[1:])


@pytest.mark.timeout(60)
async def test_batches_over_the_same_folders_in_any_order_do_not_block_each_other(world: Any) -> None:
    paths = ["/a", "/b", "/c"]
    for path in paths:
        await world.add_folder(path)
        await world.create("KEY", secretPath=path)

    async def touch(order: list[str]) -> int:
        secrets = [{"secretKey": "KEY", "secretPath": path, "secretValue": "v"} for path in order]
        return (await world.send("PATCH", "/api/v4/secrets/batch", json=world.place(secrets=secrets))).status

    statuses = await asyncio.gather(*(touch(paths if number % 2 else paths[::-1]) for number in range(12)))
    assert set(statuses) == {200}
    assert (await world.get("KEY", secretPath="/a")).json["secret"]["version"] == 13


@pytest.mark.timeout(60)
async def test_writers_and_a_delete_of_their_folder_do_not_block_each_other(world: Any) -> None:
    await world.add_folder("/a/b")

    async def write(number: int) -> int:
        path = "/a" if number % 2 else "/a/b"
        body = world.place(secretValue="v", secretPath=path)
        return (await world.send("POST", f"/api/v4/secrets/KEY_{number}", json=body)).status

    async def remove() -> int:
        return (await world.send("DELETE", "/api/v2/folders/a", json=world.place(forceDelete=True))).status

    *written, removed = await asyncio.gather(*(write(number) for number in range(10)), remove())
    assert removed == 200
    assert set(written) <= {200, 404}
    assert await world.rows("SELECT 1 FROM secrets") == []


@pytest.mark.timeout(60)
async def test_folders_made_at_once_below_one_missing_parent_share_it(world: Any) -> None:
    made = await asyncio.gather(*(world.add_folder(f"/a/b/c{number}") for number in range(8)))
    assert len({folder["parentId"] for folder in made}) == 1
    body = world.place(name="same")
    answers = await asyncio.gather(*(world.send("POST", "/api/v2/folders", json=body) for _ in range(5)))
    assert sorted(answer.status for answer in answers) == [200, 400, 400, 400, 400]


async def test_a_read_is_one_statement_whatever_its_size(world: Any, statements: list[str]) -> None:
    await world.add_folder("/a")
    await world.create_many({f"KEY_{number}": "v" for number in range(200)}, secretPath="/a")
    await world.create("ONE")
    queries = [
        ("/api/v4/secrets/ONE", world.place()),
        ("/api/v4/secrets/ONE", world.place(version="1")),
        ("/api/v3/secrets/raw/ONE", {"workspaceSlug": "shop", "environment": "dev"}),
        ("/api/v4/secrets", world.place(secretPath="/a")),
        ("/api/v4/secrets", world.place(recursive="true")),
        ("/api/v3/secrets/raw", {"workspaceSlug": "shop", "environment": "dev", "recursive": "true"}),
        ("/api/v2/folders", world.place(path="/", recursive="true")),
    ]
    for path, query in queries:
        # The first reading may have to ask for keys.
        for _ in range(2):
            statements.clear()
            assert (await world.send("GET", path, params=query)).status == 200
        read = [text for text in statements if text.startswith("SELECT")]
        assert len(read) == 1, (path, read)
