"""The PostgreSQL that the product brings along: private, durable, and never two of it on one folder."""

import asyncio
import json
import os
import pwd
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import asyncpg
import psutil
import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import create_async_engine

from strongroom_common.kernel.secret import Secret
from strongroom_common.runtime.postgres import EmbeddedPostgres, PostgresFailed
from strongroom_common.testing.postgres import PostgresServer
from strongroom_common.testing.waiting import eventually

pytestmark = pytest.mark.timeout(60)

AS_ROOT = os.geteuid() == 0

# A process that serves a database, says so in one line of JSON, and stays until it is killed. Everything is imported
# before it becomes another user, who may not be able to read our Python.
SERVE = """
import asyncio, json, os, pathlib, sys
import asyncpg, concurrent.futures.thread, encodings.idna
from strongroom_common.runtime.postgres import EmbeddedPostgres, PostgresFailed

async def serve(folder):
    heard = []
    try:
        async with EmbeddedPostgres(pathlib.Path(folder), say=heard.append) as server:
            url = (await server.create_role_and_database("strongroom_demo")).reveal()
            connection = await asyncpg.connect(url)
            await connection.execute("CREATE TABLE IF NOT EXISTS kept (value int)")
            await connection.execute("INSERT INTO kept VALUES (42)")
            await connection.close()
            print(json.dumps({"pid": server.pid, "url": url, "heard": heard}), flush=True)
            await asyncio.Event().wait()
    except PostgresFailed as error:
        sys.exit(str(error))

uid = int(sys.argv[2])
if uid != os.geteuid():
    os.setgroups([]); os.setgid(uid); os.setuid(uid)
asyncio.run(serve(sys.argv[1]))
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for data that does not exist yet, on a path short enough for a socket."""
    parent = Path(tempfile.mkdtemp(prefix="sr-"))
    yield parent / "data folder"
    shutil.rmtree(parent)


@pytest.fixture
async def server(folder: Path) -> AsyncIterator[EmbeddedPostgres]:
    async with EmbeddedPostgres(folder, durable=False) as server:
        yield server


def a_server(folder: Path, **settings: object) -> EmbeddedPostgres:
    return EmbeddedPostgres(folder, durable=False, **settings)  # type: ignore[arg-type] - any of its settings


def serve(folder: Path, uid: int | None = None, largest_file: int = resource.RLIM_INFINITY) -> subprocess.Popen[str]:
    uid = os.geteuid() if uid is None else uid
    return subprocess.Popen(
        [sys.executable, "-c", SERVE, str(folder), str(uid)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd="/",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file)),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def heard_from(process: subprocess.Popen[str]) -> dict[str, object]:
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline()
    assert line, process.stderr.read()
    answer: dict[str, object] = json.loads(line)
    return answer


def ended(process: subprocess.Popen[str], how: signal.Signals) -> None:
    process.send_signal(how)
    process.communicate(timeout=20)


async def ask(url: Secret, query: str) -> object:
    connection = await asyncpg.connect(url.reveal())
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_what_is_written_is_there_after_a_stop_and_a_start(folder: Path) -> None:
    async with a_server(folder) as server:
        url = await server.create_role_and_database("strongroom_demo")
        await ask(url, "CREATE TABLE kept AS SELECT 42 AS value")
        pid = server.pid
        assert pid is not None
    assert server.pid is None
    assert not psutil.pid_exists(pid)
    async with a_server(folder) as server:
        assert await ask(await server.create_role_and_database("strongroom_demo"), "SELECT value FROM kept") == 42


async def test_the_url_serves_sqlalchemy_too(server: EmbeddedPostgres) -> None:
    url = await server.create_role_and_database("strongroom_demo")
    engine = create_async_engine(make_url(url.reveal()).set(drivername="postgresql+asyncpg"))
    async with engine.connect() as connection:
        assert await connection.scalar(text("SELECT current_user")) == "strongroom_demo"
    await engine.dispose()


async def test_the_cluster_is_the_same_on_every_machine(server: EmbeddedPostgres) -> None:
    url = await server.create_role_and_database("strongroom_demo")
    query = "SELECT array[datlocprovider::text, datlocale, pg_encoding_to_char(encoding)] FROM pg_database LIMIT 1"
    assert await ask(url, query) == ["b", "C.UTF-8", "UTF8"]
    assert await ask(url, "SHOW data_checksums") == "on"
    assert await ask(url, "SHOW timezone") == "UTC"


async def test_a_kept_server_really_keeps(folder: Path) -> None:
    async with EmbeddedPostgres(folder) as server:
        url = await server.create_role_and_database("strongroom_demo")
        assert [await ask(url, f"SHOW {name}") for name in ("fsync", "synchronous_commit", "full_page_writes")] == [
            "on",
            "on",
            "on",
        ]


async def test_no_socket_listens_on_the_network(server: EmbeddedPostgres) -> None:
    assert server.pid is not None
    assert psutil.Process(server.pid).net_connections("inet") == []


async def test_everything_inside_the_folder_is_private(server: EmbeddedPostgres) -> None:
    await server.create_role_and_database("strongroom_demo")
    assert mode(server.folder) == (0o711 if AS_ROOT else 0o700)
    assert {path.name: oct(mode(path)) for path in server.folder.iterdir()} == {
        "lock": "0o600",
        "passwords.json": "0o600",
        "postgres.log": "0o600",
        "data": "0o700",
        "socket": "0o700",
    }
    assert (server.folder / "passwords.json").stat().st_uid == os.geteuid()


async def test_nobody_enters_without_the_right_password(server: EmbeddedPostgres) -> None:
    url = (await server.create_role_and_database("strongroom_demo")).reveal()
    for wrong in ("wrong", ""):
        with pytest.raises(asyncpg.InvalidPasswordError):
            await asyncpg.connect(url, password=wrong)


async def test_a_role_enters_its_own_database_only(server: EmbeddedPostgres) -> None:
    await server.create_role_and_database("strongroom_one")
    await server.create_role_and_database("strongroom_two")
    for foreign in ("strongroom_two", "postgres", "template1"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await asyncpg.connect(server.url_for("strongroom_one", foreign).reveal())
    rights = """SELECT bool_or(rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication OR rolbypassrls)
                FROM pg_roles WHERE rolname LIKE 'strongroom%'"""
    assert await ask(server.url_for("strongroom_one"), rights) is False


async def test_making_a_role_again_keeps_its_password_and_its_data(server: EmbeddedPostgres) -> None:
    first = await server.create_role_and_database("strongroom_demo")
    await ask(first, "CREATE TABLE kept AS SELECT 42 AS value")
    second = await server.create_role_and_database("strongroom_demo")
    assert second == first
    assert await ask(second, "SELECT value FROM kept") == 42


@pytest.mark.parametrize("name", ["postgres", "", "1st", 'a"; DROP ROLE postgres', "A", "a" * 64])
async def test_a_name_that_is_no_name_is_refused(folder: Path, name: str) -> None:
    with pytest.raises(ValueError, match="a role's name"):
        await EmbeddedPostgres(folder).create_role_and_database(name)


async def test_a_failing_statement_leaves_no_values_in_the_log(server: EmbeddedPostgres) -> None:
    url = await server.create_role_and_database("strongroom_demo")
    await ask(url, "CREATE TABLE narrow (value text UNIQUE)")
    await ask(url, "INSERT INTO narrow VALUES ('canary-4711')")
    with pytest.raises(asyncpg.UniqueViolationError):
        await ask(url, "INSERT INTO narrow VALUES ('canary-4711')")
    said = (server.folder / "postgres.log").read_text()
    assert "duplicate key" in said
    assert "canary-4711" not in said


async def test_a_folder_in_use_is_refused_with_the_number_of_its_user(server: EmbeddedPostgres) -> None:
    with pytest.raises(PostgresFailed, match=f"is in use by process {os.getpid()}$"):
        await a_server(server.folder).start()
    async with server.administrator() as connection:
        assert await connection.fetchval("SELECT 1") == 1


async def test_after_kill_9_the_orphan_is_replaced_and_the_data_is_there(folder: Path) -> None:
    process = serve(folder)
    orphan = heard_from(process)["pid"]
    assert isinstance(orphan, int)
    ended(process, signal.SIGKILL)
    assert psutil.Process(orphan).is_running()

    heard: list[str] = []
    async with a_server(folder, say=heard.append) as server:
        assert server.pid != orphan
        assert await ask(server.url_for("strongroom_demo"), "SELECT value FROM kept") == 42
    assert heard == [f"stopping the PostgreSQL that an earlier run left behind (process {orphan})"]
    await eventually(lambda: not psutil.pid_exists(orphan) or psutil.Process(orphan).status() == psutil.STATUS_ZOMBIE)


async def test_after_kill_9_of_everything_the_data_is_there(folder: Path) -> None:
    process = serve(folder)
    orphan = heard_from(process)["pid"]
    assert isinstance(orphan, int)
    ended(process, signal.SIGKILL)
    os.kill(orphan, signal.SIGKILL)
    async with a_server(folder) as server:
        assert await ask(server.url_for("strongroom_demo"), "SELECT value FROM kept") == 42


async def test_a_stale_number_of_another_living_process_harms_nobody(folder: Path) -> None:
    async with a_server(folder) as server:
        await server.create_role_and_database("strongroom_demo")
    bystander = psutil.Popen(["sleep", "60"])
    try:
        pid_file = folder / "data" / "postmaster.pid"
        pid_file.write_text(f"{bystander.pid}\n{folder / 'data'}\n1\n5432\n{folder / 'socket'}\n\n1 1\nready\n")
        async with a_server(folder) as server:
            assert await ask(server.url_for("strongroom_demo"), "SELECT 1") == 1
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


async def test_a_postmaster_pid_cut_short_does_not_stand_in_the_way(folder: Path) -> None:
    async with a_server(folder):
        pass
    (folder / "data" / "postmaster.pid").write_text("")
    async with a_server(folder) as server:
        assert server.pid is not None


async def test_another_process_finds_the_way_in_while_the_server_runs(folder: Path) -> None:
    async with a_server(folder) as server:
        url = await server.create_role_and_database("strongroom_demo")
        assert EmbeddedPostgres.url_of_running(folder, "strongroom_demo") == url
        with pytest.raises(PostgresFailed, match="has no database strongroom_other"):
            EmbeddedPostgres.url_of_running(folder, "strongroom_other")
    with pytest.raises(PostgresFailed, match="is not running"):
        EmbeddedPostgres.url_of_running(folder, "strongroom_demo")


async def test_a_start_that_was_cut_short_begins_anew(folder: Path) -> None:
    half_made = folder / "data.new-abandoned"
    half_made.mkdir(parents=True)
    (half_made / "PG_VERSION").write_text("18\n")
    async with a_server(folder) as server:
        assert server.pid is not None
    assert not half_made.exists()


async def test_a_cancelled_start_leaves_nothing_running(folder: Path) -> None:
    server = a_server(folder)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await server.start()
    assert server.pid is None
    assert [p for p in psutil.process_iter(["cmdline"]) if str(folder) in " ".join(p.info["cmdline"] or ())] == []
    async with a_server(folder) as again:
        assert again.pid is not None


async def test_the_terminal_s_ctrl_c_does_not_reach_the_server(server: EmbeddedPostgres) -> None:
    assert server.pid is not None
    assert os.getsid(server.pid) == server.pid != os.getsid(0)


async def test_a_path_too_long_for_a_socket_gets_a_private_one_elsewhere(folder: Path) -> None:
    deep = folder / ("d" * 90)
    async with a_server(deep) as server:
        url = await server.create_role_and_database("strongroom_demo")
        assert await ask(url, "SELECT 1") == 1
        socket = Path(str(make_url(url.reveal()).query["host"]))
        assert socket.parent == Path(tempfile.gettempdir())
        assert mode(socket) == 0o700
    assert not socket.exists()


@pytest.mark.parametrize(("version", "word"), [("19", "a newer"), ("16", "another")])
async def test_data_of_another_major_version_is_refused_untouched(folder: Path, version: str, word: str) -> None:
    data = folder / "data"
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_text(f"{version}\n")
    with pytest.raises(
        PostgresFailed, match=rf"was written by {word} PostgreSQL \({version}\); this release brings 18"
    ):
        await a_server(folder).start()
    assert [path.name for path in data.iterdir()] == ["PG_VERSION"]


async def test_a_folder_that_cannot_be_is_one_clear_line(folder: Path) -> None:
    folder.parent.joinpath("file").write_text("")
    with pytest.raises(PostgresFailed, match=r"^cannot use data folder .*: Not a directory \(.*\)$"):
        await a_server(folder.parent / "file" / "data").start()


async def test_a_disk_without_room_is_one_clear_line_and_the_next_start_begins_anew(folder: Path) -> None:
    # A limit on the size of files stands in for the full disk: the write fails in the same place.
    process = serve(folder, largest_file=100_000)
    _, said = await asyncio.to_thread(process.communicate, timeout=20)
    assert process.returncode == 1
    assert re.fullmatch(rf"PostgreSQL could not be set up in {folder}: .*File too large\n", said)
    async with a_server(folder) as server:
        assert server.pid is not None


async def test_a_cluster_without_its_passwords_is_refused(folder: Path) -> None:
    async with a_server(folder):
        pass
    (folder / "passwords.json").unlink()
    with pytest.raises(PostgresFailed, match=r"passwords\.json is gone"):
        await a_server(folder).start()


async def test_a_server_that_cannot_start_says_why_in_one_line(folder: Path) -> None:
    async with a_server(folder):
        pass
    (folder / "data" / "global" / "pg_control").unlink()
    with pytest.raises(PostgresFailed, match=r"^PostgreSQL did not start: [^\n]*pg_control[^\n]*postgres\.log\)$"):
        await a_server(folder).start()


async def test_a_start_that_takes_too_long_is_given_up(folder: Path) -> None:
    with pytest.raises(PostgresFailed, match="did not start"):
        await a_server(folder, start_limit=timedelta(0)).start()
    assert [p for p in psutil.process_iter(["cmdline"]) if str(folder) in " ".join(p.info["cmdline"] or ())] == []


async def test_a_large_log_makes_room(folder: Path) -> None:
    folder.mkdir()
    with (folder / "postgres.log").open("wb") as log:
        log.truncate(9 * 1024 * 1024)
    async with a_server(folder):
        assert (folder / "postgres.log").stat().st_size < 100_000
        assert (folder / "postgres.log.1").stat().st_size == 9 * 1024 * 1024


@pytest.mark.skipif(not AS_ROOT, reason="only root's server runs under another account")
async def test_as_root_the_way_to_the_folder_is_opened_and_nothing_else(folder: Path) -> None:
    outer, inner, neighbour = folder / "outer", folder / "outer" / "inner", folder / "outer" / "neighbour"
    for place, bits in ((folder, 0o755), (outer, 0o750), (inner, 0o700), (neighbour, 0o700)):
        place.mkdir()
        place.chmod(bits)
    heard: list[str] = []
    async with a_server(inner / "data", say=heard.append) as server:
        assert psutil.Process(server.pid).uids().real != 0
    assert (mode(outer), mode(inner), mode(neighbour)) == (0o751, 0o701, 0o700)
    assert outer.stat().st_uid == inner.stat().st_uid == 0
    assert (
        sum(
            line.endswith(f"added the search permission (o+x) to {place}") for line in heard for place in (outer, inner)
        )
        == 2
    )


@pytest.mark.skipif(not AS_ROOT, reason="a user who is not root has no one to become; all other tests are that case")
async def test_a_plain_user_serves_from_a_folder_of_its_own(folder: Path) -> None:
    async with a_server(folder.parent / "another"):
        pass  # This opened the way to the programs, should the tree lie where a plain user cannot pass.
    nobody = pwd.getpwnam("nobody").pw_uid
    folder.mkdir()
    os.chown(folder, nobody, nobody)
    folder.parent.chmod(0o711)
    process = serve(folder, nobody)
    answer = heard_from(process)
    pid = answer["pid"]
    assert isinstance(pid, int)
    assert psutil.Process(pid).uids().real == nobody
    assert answer["heard"] == [f"creating a PostgreSQL 18 cluster in {folder / 'data'}"]
    ended(process, signal.SIGKILL)

    # Root, later, uses the same folder without taking it away from its owner.
    async with a_server(folder) as server:
        assert psutil.Process(server.pid).uids().real == nobody
        await server.create_role_and_database("strongroom_later")
    assert {path.stat().st_uid for path in folder.iterdir()} == {nobody}

    process = serve(folder, nobody)
    heard_from(process)
    ended(process, signal.SIGINT)
    assert not (folder / "data" / "postmaster.pid").exists()


@pytest.mark.skipif(not AS_ROOT, reason="a plain user's own test folder is writable; root can choose one that is not")
async def test_a_plain_user_hears_that_a_folder_is_not_writable(folder: Path) -> None:
    folder.parent.chmod(0o755)
    process = serve(folder, pwd.getpwnam("nobody").pw_uid)
    _, said = await asyncio.to_thread(process.communicate, timeout=20)
    assert process.returncode == 1
    assert said == f"cannot use data folder {folder}: Permission denied ({folder})\n"


async def test_a_template_is_migrated_once_and_cloned(postgres_server: PostgresServer) -> None:
    migrations = 0

    async def migrate(url: Secret) -> None:
        nonlocal migrations
        migrations += 1
        await ask(url, "CREATE TABLE things AS SELECT 7 AS value")

    clones = [postgres_server.clone(postgres_server.template("things", migrate)) for _ in range(2)]
    await ask(clones[0], "UPDATE things SET value = 8")
    assert [await ask(clone, "SELECT value FROM things") for clone in clones] == [8, 7]
    assert migrations == 1
    postgres_server.drop(clones[0])
    with pytest.raises(asyncpg.InvalidCatalogNameError):
        await asyncpg.connect(clones[0].reveal())


async def test_a_migration_that_leaves_a_connection_open_is_told(postgres_server: PostgresServer) -> None:
    def connect(url: Secret) -> "asyncpg.Connection[asyncpg.Record]":
        return asyncio.run_coroutine_threadsafe(asyncpg.connect(url.reveal()), loop).result()

    async def migrate(url: Secret) -> None:
        left.append(await asyncio.to_thread(connect, url))

    left: list[asyncpg.Connection[asyncpg.Record]] = []
    loop = asyncio.get_running_loop()
    with pytest.raises(RuntimeError, match="left 1 connection"):
        await asyncio.to_thread(postgres_server.template, "careless", migrate)
    await left[0].close()
