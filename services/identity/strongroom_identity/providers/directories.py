"""LDAP directories that a user named: reached through the guard, never on the event loop, always in time.

ldap3 blocks, so its calls run in threads of their own, a bounded number of them. A directory that says nothing, or says
it byte by byte, holds a thread no longer than `LONGEST`: then its socket is shut under it.
"""

import asyncio
import contextlib
import secrets
import socket
import ssl
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, Final, TypeVar

from strongroom_common.egress.guard import Guard
from strongroom_common.kernel.errors import Conflict, InvalidInput, StrongroomError
from strongroom_identity.domain.directories import USERNAME, BadDirectoryUrl, Directory, DirectoryUrl
from strongroom_identity.domain.errors import BadCredentials
from strongroom_identity.providers.outside_tls import outside_context

with warnings.catch_warnings():
    # ldap3 2.9 uses names that pyasn1 calls deprecated, and has no later release.
    warnings.simplefilter("ignore", DeprecationWarning)
    import ldap3  # type: ignore[import-untyped]  # no stubs
    from ldap3.core.exceptions import LDAPInvalidFilterError  # type: ignore[import-untyped]  # no stubs
    from ldap3.operation.search import parse_filter  # type: ignore[import-untyped]  # no stubs
    from ldap3.utils.conv import escape_filter_chars  # type: ignore[import-untyped]  # no stubs

T = TypeVar("T")

LONGEST: Final = timedelta(seconds=10)
"""For everything together: the name, the connection, TLS, both binds and the search."""
LONGEST_STEP: Final = 5  # seconds; ldap3 wants a whole number
MOST_BYTES: Final = 1024 * 1024
"""What a directory may answer in one conversation: a person's entry, not a catalogue."""
MOST_NESTING: Final = 20
AT_ONCE: Final = 8
"""How many directories are spoken to at the same time; the others wait, as long as they may."""
SUCCESS: Final = 0
SIZE_LIMIT_EXCEEDED: Final = 4

_POOL = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="ldap")


class DirectoryRefused(Conflict):
    """The directory cannot be used as it is configured; says why in our words."""


async def verify(guard: Guard, directory: Directory, *, longest: timedelta = LONGEST) -> None:
    """Log in with the bind account and out again; raises `DirectoryRefused`, `AddressRefused`, `Unavailable`."""

    def try_it(line: _Line) -> None:
        with line.opened(directory, directory.bind_dn, directory.bind_password.reveal()):
            pass

    await _converse(guard, directory, try_it, longest)


async def authenticate(
    guard: Guard,
    directory: Directory,
    search_filter: str,
    name: str,
    password: str,
    attributes: Sequence[str],
    *,
    longest: timedelta = LONGEST,
) -> Mapping[str, Sequence[str]]:
    """Return the person's attributes, by their names in lower case.

    Raises `BadCredentials` for a name that is nobody's or not only one person's and for a wrong password; what else is
    wrong raises as in `verify`.
    """
    if not password:
        # A bind with a name and no password is an anonymous one, which many directories call a success.
        raise BadCredentials("no password")
    wanted = filter_for(search_filter, name)

    def try_it(line: _Line) -> Mapping[str, Sequence[str]]:
        with line.opened(directory, directory.bind_dn, directory.bind_password.reveal()) as connection:
            found = _find_only_one(connection, directory.search_base, wanted, attributes)
        # Nobody's password is tried as well: how long the answer takes does not say whether there is such a name.
        dn = found[0] if found else f"cn={secrets.token_hex(16)},{directory.search_base}"
        try:
            with line.opened(directory, dn, password):
                pass
        except _BindRefused:
            raise BadCredentials(
                "wrong password" if found else "the name is nobody's, or not only one person's"
            ) from None
        if found is None:
            raise BadCredentials("the name is nobody's, or not only one person's")
        return found[1]

    return await _converse(guard, directory, try_it, longest)


async def _converse(guard: Guard, directory: Directory, work: "Callable[[_Line], T]", longest: timedelta) -> T:
    try:
        url = DirectoryUrl.parse(directory.url)
    except BadDirectoryUrl as error:
        raise DirectoryRefused(f"The directory's url {error}") from None
    line: _Line | None = None
    try:
        # Waiting for a free thread counts as well: whoever has waited too long is gone from the queue.
        async with asyncio.timeout(longest.total_seconds()):
            line = _Line(url, await guard.check(url.host, url.port))
            return await asyncio.get_running_loop().run_in_executor(_POOL, line.run, work)
    except TimeoutError:
        raise DirectoryRefused("The directory did not answer in time") from None
    except _BindRefused:
        raise DirectoryRefused("The directory refused the bind account") from None
    except StrongroomError:
        raise
    except Exception:  # noqa: BLE001 - whatever ldap3 makes of hostile bytes, the directory is what failed
        raise DirectoryRefused("The directory broke off, or answered with something that is not LDAP") from None
    finally:
        if line is not None:
            line.cut()


def filter_for(search_filter: str, name: str) -> str:
    """Put a login name into a filter: what it matches is that name, whatever characters are in it."""
    return search_filter.replace(USERNAME, escape_filter_chars(name))


def verify_filter(search_filter: str) -> None:
    """Raise `ValueError` for what is no LDAP filter (RFC 4515)."""
    probe = filter_for(search_filter, "name")
    if probe.count("(") > MOST_NESTING:
        raise ValueError("has too many parts")
    try:
        parse_filter(probe, None, False, False, None, False)
    except (LDAPInvalidFilterError, IndexError, TypeError, AttributeError):
        raise ValueError("must be a valid LDAP filter") from None


class _BindRefused(InvalidInput):
    """The directory does not take this name with this password."""


class _Line:
    """The connections of one conversation, which can be cut from outside their thread."""

    def __init__(self, url: DirectoryUrl, addresses: Sequence[str]) -> None:
        self._url = url
        self._addresses = addresses
        self._connections: list[Any] = []
        self._is_cut = False

    @contextlib.contextmanager
    def opened(self, directory: Directory, dn: str, password: str) -> Any:
        """Connect, secure the connection, and log in; raises `DirectoryRefused`, `_BindRefused`."""
        connection = self._connect(directory, dn, password)
        try:
            if not connection.bind() or connection.result["result"] != SUCCESS:
                raise _BindRefused("refused")
            yield connection
        finally:
            with contextlib.suppress(Exception):
                connection.unbind()

    def run(self, work: "Callable[[_Line], T]") -> T:
        """Do the work, in the thread that this is called in, and leave no socket behind."""
        try:
            return work(self)
        finally:
            for raw in self._sockets():
                raw.close()

    def cut(self) -> None:
        """Shut every socket: whoever waits for an answer gets an error instead."""
        self._is_cut = True
        for raw in self._sockets():
            with contextlib.suppress(OSError):
                # Not its own `shutdown`: that of a TLS socket would have the thread go on in plain text.
                socket.socket.shutdown(raw, socket.SHUT_RDWR)

    def _sockets(self) -> Sequence[socket.socket]:
        lines = [connection.socket for connection in self._connections]
        return [line.inner if isinstance(line, _Metered) else line for line in lines if line is not None]

    def _connect(self, directory: Directory, dn: str, password: str) -> Any:
        url, is_secured = self._url, self._url.is_tls or bool(directory.ca_certificates.strip())
        tls = _Tls(outside_context(directory.ca_certificates), url.host) if is_secured else None
        refusal = DirectoryRefused("The directory cannot be reached")
        for address in self._addresses:
            if self._is_cut:
                break
            server = ldap3.Server(
                address,
                port=url.port,
                use_ssl=url.is_tls,
                tls=tls,
                get_info=ldap3.NONE,
                connect_timeout=LONGEST_STEP,
            )
            connection = ldap3.Connection(
                server,
                user=dn,
                # As bytes: ldap3 would prepare a text and could be left with nothing, which is an anonymous bind.
                password=password.encode(),
                client_strategy=ldap3.SYNC,
                receive_timeout=LONGEST_STEP,
                auto_referrals=False,
                auto_escape=False,
                check_names=False,
                return_empty_attributes=False,
            )
            self._connections.append(connection)
            try:
                connection.open(read_server_info=False)
                connection.socket = _Metered(connection.socket)
                if tls is not None and not url.is_tls:
                    connection.start_tls(read_server_info=False)
            except Exception:  # noqa: BLE001 - ldap3 makes its exceptions up as it goes
                connection.strategy.close()
                if tls is not None and tls.is_untrusted:
                    raise DirectoryRefused("The directory's certificate is not trusted, or is another host's") from None
                refusal = DirectoryRefused(
                    "The directory cannot be reached" if not connection.result else "The directory refused StartTLS"
                )
                continue
            return connection
        raise refusal


class _Tls(ldap3.Tls):  # type: ignore[misc]  # no stubs
    """Checks the certificate and the name that the user gave, not the address we were led to, before a byte is sent."""

    def __init__(self, context: ssl.SSLContext, name: str) -> None:
        super().__init__(validate=ssl.CERT_REQUIRED)
        self._context = context
        self._name = name
        self.is_untrusted = False

    def wrap_socket(self, connection: Any, do_handshake: bool = False) -> None:
        """Secure the connection's socket, at once."""
        plain = connection.socket
        inner = plain.inner if isinstance(plain, _Metered) else plain
        secured = self._context.wrap_socket(inner, server_hostname=self._name, do_handshake_on_connect=False)
        # Known before the handshake, so that it can be cut meanwhile.
        connection.socket = _Metered(secured)
        try:
            secured.do_handshake()
        except ssl.SSLCertVerificationError:
            self.is_untrusted = True
            raise


class _Metered:
    """A socket that gives so many bytes and no more."""

    def __init__(self, inner: socket.socket) -> None:
        self.inner = inner
        self._left = MOST_BYTES

    def recv(self, size: int) -> bytes:
        """Receive; raises `OSError` when it becomes too much."""
        received = self.inner.recv(size)
        self._left -= len(received)
        if self._left < 0:
            raise OSError("too much")
        return received

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def _find_only_one(
    connection: Any, base: str, search_filter: str, attributes: Sequence[str]
) -> tuple[str, Mapping[str, Sequence[str]]] | None:
    """Return a person's DN and attributes; None for nobody and for several."""
    connection.search(
        base,
        search_filter,
        search_scope=ldap3.SUBTREE,
        dereference_aliases=ldap3.DEREF_NEVER,
        attributes=list(attributes) or [ldap3.NO_ATTRIBUTES],
        size_limit=2,
        time_limit=LONGEST_STEP,
    )
    if connection.result["result"] not in {SUCCESS, SIZE_LIMIT_EXCEEDED}:
        raise DirectoryRefused("The directory refused the search")
    entries = [entry for entry in connection.response or () if entry["type"] == "searchResEntry"]
    if len(entries) != 1 or not entries[0]["dn"]:
        return None
    raw: Mapping[str, Sequence[bytes]] = entries[0]["raw_attributes"]
    return entries[0]["dn"], {name.lower(): [_text(value) for value in values] for name, values in raw.items()}


def _text(value: bytes) -> str:
    # Bytes that are no text equal no text that an administrator could have written.
    return value.decode("utf-8", "replace")
