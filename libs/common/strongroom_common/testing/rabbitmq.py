"""A real RabbitMQ for tests: private, on free ports of 127.0.0.1, with everything in a temporary folder.

It is the `rabbitmq-server` of this machine, else a container, else (as root on Debian) installed with apt. Without any
of them the tests fail and say what to install: a test that is skipped in silence proves nothing.
"""

import contextlib
import logging
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import LogMessageWaitStrategy

from strongroom_common.kernel.secret import Secret

START_LIMIT: Final = 60.0  # seconds; a few are enough on an idle machine
STOP_LIMIT: Final = 20.0  # seconds
IMAGE: Final = "rabbitmq:4.1-alpine"

# Debian's /usr/sbin/rabbitmq-server changes to the user `rabbitmq` and to the system's folders; the script behind it
# does not, so it is looked for first.
FOLDERS: Final = (
    "/usr/lib/rabbitmq/bin",
    "/opt/homebrew/sbin",
    "/usr/local/sbin",
    "/usr/sbin",
    "/opt/rabbitmq/sbin",
)

log = logging.getLogger(__name__)


class RabbitServer(ABC):
    """One broker. Its data outlives `stop`, `kill` and `paused`, so a test can take it away for a while."""

    def __init__(self) -> None:
        self.port = _free_port()
        self.user = "strongroom"
        self.password = secrets.token_hex(16)

    @property
    def url(self) -> Secret:
        """The address of the default virtual host, for a user who may do anything."""
        return self.url_for(self.user, self.password)

    def url_for(self, user: str, password: str, virtual_host: str = "/") -> Secret:
        """The address for another user or another virtual host."""
        return Secret(f"amqp://{user}:{password}@127.0.0.1:{self.port}/{virtual_host.replace('/', '%2F')}")

    def add_virtual_host(self) -> Secret:
        """Make an empty world of queues and exchanges and return its address. Takes a second or two."""
        name = f"test-{secrets.token_hex(8)}"
        self.control("add_vhost", name)
        self.control("set_permissions", "--vhost", name, self.user, ".*", ".*", ".*")
        return self.url_for(self.user, self.password, name)

    def add_user(self, name: str, configure: str, write: str, read: str) -> Secret:
        """Add a user with these rights (regular expressions on names) and return its address. Takes a second or two."""
        password = secrets.token_hex(16)
        self.control("add_user", name, password)
        self.control("set_permissions", name, configure, write, read)
        return self.url_for(name, password)

    def restart(self) -> None:
        """Stop and start."""
        self.stop()
        self.start()

    def wait_until_ready(self) -> None:
        """Return when the broker greets; raises `TimeoutError` with the end of its log."""
        deadline = time.monotonic() + START_LIMIT
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=5) as stream:
                stream.sendall(b"AMQP\x00\x00\x09\x01")
                if stream.recv(1) == b"\x01":  # a method frame, Connection.Start
                    return
            self.verify_running()
            time.sleep(0.1)
        raise TimeoutError(f"RabbitMQ did not start within {START_LIMIT:.0f} s:\n{self.last_words()}")

    @abstractmethod
    def start(self) -> None:
        """Start and wait until it can be used."""

    @abstractmethod
    def stop(self) -> None:
        """Shut down in order; the data stays."""

    @abstractmethod
    def kill(self) -> None:
        """Take it away from one instruction to the next; the data stays."""

    @abstractmethod
    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Freeze it: connections stay open, and nothing answers."""

    @abstractmethod
    def control(self, *arguments: str) -> str:
        """Run `rabbitmqctl` and return what it printed."""

    @abstractmethod
    def verify_running(self) -> None:
        """Raise `RuntimeError` when it has died."""

    @abstractmethod
    def last_words(self) -> str:
        """The end of its log."""

    @abstractmethod
    def close(self) -> None:
        """End it and remove its data."""


# Puts a process under a guard: should the tests be killed, their end of the pipe closes, and the process group goes.
GUARD: Final = 'exec 3<&0; (read _ <&3; kill -9 -$$) & exec "$@" </dev/null 3<&-'


class _Guarded:
    """A child process in a group of its own that never outlives this one."""

    def __init__(self, command: Sequence[str], environment: dict[str, str], output: Path) -> None:
        with output.open("ab") as sink:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", GUARD, "guard", *command],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def is_running(self) -> bool:
        return self._process.poll() is None

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def end(self, number: signal.Signals, limit: float) -> None:
        """Ask it to end, insist after the limit, and take its helpers along."""
        self._process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(limit)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()


class LocalRabbitServer(RabbitServer):
    """The machine's own `rabbitmq-server`, run by the current user."""

    def __init__(self, script: Path) -> None:
        super().__init__()
        self._script = script
        self._home = Path(tempfile.mkdtemp(prefix="strongroom-rabbitmq-"))
        self._log = self._home / "output.log"
        self._node = f"strongroom{self.port}@localhost"
        self._name_port = _free_port()
        erl = shutil.which("erl") or "/usr/bin/erl"
        (self._home / "rabbitmq.conf").write_text(
            f"listeners.tcp.1 = 127.0.0.1:{self.port}\n"
            f"default_user = {self.user}\n"
            f"default_pass = {self.password}\n"
            "vm_memory_high_watermark.absolute = 512MB\n"
            "disk_free_limit.absolute = 1MB\n"
            "raft.wal_max_size_bytes = 16777216\n"
            "collect_statistics = none\n"
            "log.console = true\n"
            "log.console.level = warning\n"
            "log.file = false\n"
        )
        (self._home / "enabled_plugins").write_text("[].\n")
        (self._home / "rabbitmq-env.conf").touch()
        self._environment = {
            "HOME": str(self._home),  # holds the Erlang cookie
            "LANG": "C.UTF-8",
            "PATH": os.pathsep.join([str(Path(erl).parent), "/usr/bin", "/bin", "/usr/sbin", "/sbin"]),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(self._name_port),
            "RABBITMQ_ALLOW_INPUT": "true",  # no shell between us and Erlang: signals reach the broker itself
            "RABBITMQ_CONF_ENV_FILE": str(self._home / "rabbitmq-env.conf"),
            "RABBITMQ_CONFIG_FILE": str(self._home / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self._home / "enabled_plugins"),
            "RABBITMQ_DIST_PORT": str(_free_port()),
            "RABBITMQ_LOG_BASE": str(self._home / "log"),
            "RABBITMQ_MNESIA_BASE": str(self._home / "data"),
            "RABBITMQ_NODENAME": self._node,
            # One scheduler, and no spinning while there is nothing to do: the machine has better uses for its cores.
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": (
                "-noinput +S 1:1 +SDcpu 1:1 +SDio 1 +A 1 +sbwt none +sbwtdcpu none +sbwtdio none"
                " -kernel inet_dist_use_interface {127,0,0,1}"
            ),
            "RABBITMQ_CTL_ERL_ARGS": "+S 1:1 +SDio 1 +A 1 +sbwt none",
        }
        self._names: _Guarded | None = None
        self._broker: _Guarded | None = None

    def start(self) -> None:
        if self._names is None:
            # Erlang would start this daemon by itself and leave it behind for ever.
            epmd = shutil.which("epmd") or "/usr/bin/epmd"
            self._names = _Guarded([epmd, "-port", str(self._name_port)], self._environment, self._log)
        self._broker = _Guarded([str(self._script)], self._environment, self._log)
        self.wait_until_ready()

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        if self._broker is not None:
            self._broker.end(number, STOP_LIMIT)
            self._broker = None

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        if self._broker is None:
            raise RuntimeError("only a running broker can be paused")
        self._broker.send(signal.SIGSTOP)
        try:
            yield
        finally:
            self._broker.send(signal.SIGCONT)

    def control(self, *arguments: str) -> str:
        return subprocess.run(
            [self._script.with_name("rabbitmqctl"), "--quiet", "--node", self._node, *arguments],
            env=self._environment,
            check=True,
            capture_output=True,
            text=True,
            timeout=START_LIMIT,
        ).stdout

    def verify_running(self) -> None:
        if self._broker is None or not self._broker.is_running():
            raise RuntimeError(f"RabbitMQ has ended:\n{self.last_words()}")

    def last_words(self) -> str:
        return self._log.read_text(errors="replace")[-4000:]

    def close(self) -> None:
        self.kill()
        if self._names is not None:
            self._names.end(signal.SIGKILL, STOP_LIMIT)
            self._names = None
        shutil.rmtree(self._home, ignore_errors=True)


class ContainerRabbitServer(RabbitServer):
    """The official image in Docker."""

    def __init__(self) -> None:
        super().__init__()
        self._started = False
        # A plain container: testcontainers' own class for RabbitMQ warns when it is imported. The node's name is the
        # host's name, so a fixed one finds its data again after a stop.
        self._container = (
            DockerContainer(IMAGE, hostname="strongroom-rabbitmq")
            .with_env("RABBITMQ_DEFAULT_USER", self.user)
            .with_env("RABBITMQ_DEFAULT_PASS", self.password)
            .with_env("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", "+S 1:1 +sbwt none")
            .with_bind_ports(5672, ("127.0.0.1", self.port))  # type: ignore[arg-type] # it goes to docker-py, which takes a pair
            .waiting_for(LogMessageWaitStrategy("Server startup complete"))
        )

    def start(self) -> None:
        if self._started:
            self._container.get_wrapped_container().start()
        else:
            self._container.start()
            self._started = True
        self.wait_until_ready()

    def stop(self) -> None:
        self._container.get_wrapped_container().stop(timeout=int(STOP_LIMIT))

    def kill(self) -> None:
        self._container.get_wrapped_container().kill()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        self._container.get_wrapped_container().pause()
        try:
            yield
        finally:
            self._container.get_wrapped_container().unpause()

    def control(self, *arguments: str) -> str:
        status, output = self._container.get_wrapped_container().exec_run(["rabbitmqctl", "--quiet", *arguments])
        text = bytes(output).decode(errors="replace")
        if status != 0:
            raise RuntimeError(f"rabbitmqctl {arguments[0]}: {text}")
        return text

    def verify_running(self) -> None:
        container = self._container.get_wrapped_container()
        container.reload()
        if container.status != "running":
            raise RuntimeError(f"RabbitMQ has ended:\n{self.last_words()}")

    def last_words(self) -> str:
        return bytes(self._container.get_wrapped_container().logs(tail=50)).decode(errors="replace")

    def close(self) -> None:
        self._container.stop()


def new_rabbit_server() -> RabbitServer:
    """Return a broker that is not yet started, by the first way this machine offers; raises with what to install."""
    script = _find_script()
    if script is None and _docker_answers():
        return ContainerRabbitServer()
    if script is None:
        _install()
        script = _find_script()
    if script is None:
        raise RuntimeError(
            "These tests need RabbitMQ 3.10 or newer: install rabbitmq-server"
            " (Debian: apt-get install rabbitmq-server; macOS: brew install rabbitmq), or start Docker."
        )
    return LocalRabbitServer(script)


def _find_script() -> Path | None:
    candidates = [Path(folder) / "rabbitmq-server" for folder in FOLDERS]
    found = shutil.which("rabbitmq-server")
    if found is not None:
        candidates.append(Path(found))
    return next((path for path in candidates if path.exists() and shutil.which("epmd")), None)


def _docker_answers() -> bool:
    docker = shutil.which("docker")
    if docker is None:
        return False
    return subprocess.run([docker, "info"], capture_output=True, timeout=START_LIMIT, check=False).returncode == 0


def _install() -> None:
    """Install Debian's package without starting its service; does nothing where that is not possible."""
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        return
    print("strongroom tests: installing rabbitmq-server with apt-get", file=sys.stderr, flush=True)  # noqa: T201 - said aloud: it changes the machine
    policy = Path("/usr/sbin/policy-rc.d")  # asked by every package before it starts a service; 101 forbids it
    ours = not policy.exists()
    if ours:
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
    try:
        quiet = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run([apt, "-q", "update"], env=quiet, check=False)
        subprocess.run(
            [apt, "-q", "install", "--yes", "--no-install-recommends", "rabbitmq-server"], env=quiet, check=False
        )
    finally:
        if ours:
            policy.unlink()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
