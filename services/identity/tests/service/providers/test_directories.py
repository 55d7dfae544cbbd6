"""Speaking to a real OpenLDAP: plainly, with StartTLS, with TLS; to one that is away, or silent, or something else."""

import asyncio
import contextlib
import secrets
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from strongroom_common.egress.guard import AddressRefused, Guard
from strongroom_common.kernel.secret import Secret
from strongroom_common.testing.authorities import Authority
from strongroom_common.testing.ldap import BIND_DN, PEOPLE, LdapServer
from strongroom_identity.domain.directories import Directory
from strongroom_identity.domain.errors import BadCredentials
from strongroom_identity.providers import directories
from strongroom_identity.providers.directories import DirectoryRefused

FILTER = "(uid={{username}})"
GUARD = Guard(["127.0.0.0/8", "localhost"])
PASSWORD = "pässword with a space at its end "


@pytest.fixture
def directory(ldap_server: LdapServer) -> Directory:
    return Directory(ldap_server.url, BIND_DN, Secret(ldap_server.bind_password), PEOPLE)


@pytest.fixture
def ada(ldap_server: LdapServer) -> str:
    """A person of each test's own; the user name is hostile enough to be a filter by itself."""
    name = f"ada*)(uid=*\\{secrets.token_hex(8)}"
    ldap_server.add_person(name, PASSWORD, mail="ada@example.com", ou=["engines", "tables"])
    return name


async def enter(directory: Directory, name: str, password: str = PASSWORD, *attributes: str):
    return await directories.authenticate(GUARD, directory, FILTER, name, password, attributes)


def with_tls(directory: Directory, server: LdapServer, url: str, ca: str | None = None) -> Directory:
    return replace(directory, url=url, ca_certificates=server.authority.certificate if ca is None else ca)


async def test_the_right_password_opens_and_shows_the_attributes_asked_for(directory, ada):
    assert await enter(directory, ada, PASSWORD, "MAIL", "ou", "title") == {
        "mail": ["ada@example.com"],
        "ou": ["engines", "tables"],
    }


@pytest.mark.parametrize("password", ["wrong", PASSWORD.strip(), PASSWORD.upper(), "\x00", "\u00ad", "\u200b", " "])
async def test_another_password_does_not(directory, ada, password):
    with pytest.raises(BadCredentials, match="Invalid credentials"):
        await enter(directory, ada, password)


async def test_an_empty_password_is_never_a_bind(directory, ada):
    # This directory calls a bind with a name and no password a success, so it must not be asked.
    with pytest.raises(BadCredentials):
        await enter(directory, ada, "")


@pytest.mark.parametrize(
    "name", ["*", "ada*", "nobody", "*)(objectClass=*", "ada)(|(uid=*))", "\\2a", "\x00", "ada\x00", "(", "\\"]
)
async def test_a_name_is_only_ever_a_name(directory, ada, name):
    with pytest.raises(BadCredentials):
        await enter(directory, name)


async def test_a_name_of_two_people_is_nobodys(directory, ldap_server):
    for _ in range(2):
        ldap_server.add_person("twins", PASSWORD)
    with pytest.raises(BadCredentials) as refusal:
        await enter(directory, "twins")
    assert "only one" in refusal.value.reason


async def test_a_wrong_bind_account_a_wrong_base_and_a_wrong_url_are_told(directory, ada):
    with pytest.raises(DirectoryRefused, match="refused the bind account"):
        await directories.verify(GUARD, replace(directory, bind_password=Secret("wrong")))
    with pytest.raises(DirectoryRefused, match="refused the search"):
        await enter(replace(directory, search_base="dc=elsewhere"), ada)
    with pytest.raises(DirectoryRefused, match="url must be"):
        await directories.verify(GUARD, replace(directory, url="http://127.0.0.1"))


async def test_tls_and_starttls_are_verified_against_the_given_authority(directory, ldap_server, ada):
    for url in (ldap_server.tls_url, ldap_server.named_url):
        assert await enter(with_tls(directory, ldap_server, url), ada) == {}


@pytest.mark.parametrize("is_tls", [True, False])
async def test_another_authority_and_another_name_are_not_trusted(directory, ldap_server, is_tls):
    url = ldap_server.tls_url if is_tls else ldap_server.named_url
    impostor = Authority("Strongroom directory tests").certificate
    with pytest.raises(DirectoryRefused, match="not trusted"):
        await directories.verify(GUARD, with_tls(directory, ldap_server, url, impostor))
    with pytest.raises(DirectoryRefused, match="not trusted"):
        await directories.verify(GUARD, with_tls(directory, ldap_server, url.replace("localhost", "127.0.0.1")))


async def test_without_an_authority_of_its_own_tls_trusts_the_machines(directory, ldap_server):
    with pytest.raises(DirectoryRefused, match="not trusted"):
        await directories.verify(GUARD, replace(directory, url=ldap_server.tls_url))


@contextlib.asynccontextmanager
async def a_server(answer) -> AsyncIterator[str]:
    """A server of another kind on a free port."""
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"ldap://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def test_no_password_is_said_to_a_directory_that_refuses_starttls(directory, ldap_server):
    heard = bytearray()

    async def refuse(reader, writer):
        heard.extend(await reader.read(4096))
        message_id = heard[4]
        # An extended response: protocolError (2).
        writer.write(bytes([0x30, 0x0C, 0x02, 0x01, message_id, 0x78, 0x07, 0x0A, 0x01, 0x02, 0x04, 0x00, 0x04, 0x00]))
        await writer.drain()
        heard.extend(await reader.read(4096))
        writer.close()

    async with a_server(refuse) as url:
        with pytest.raises(DirectoryRefused):
            await directories.verify(GUARD, with_tls(directory, ldap_server, url))
    assert b"1.3.6.1.4.1.1466.20037" in heard
    assert ldap_server.bind_password.encode() not in heard


async def test_a_directory_that_is_away_or_answers_nonsense_is_told(directory, ldap_server):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(DirectoryRefused, match="cannot be reached"):
        await directories.verify(GUARD, replace(directory, url=f"ldap://127.0.0.1:{port}"))

    async def nonsense(reader, writer):
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n" * 100)
        await writer.drain()
        writer.close()

    async with a_server(nonsense) as url:
        with pytest.raises(DirectoryRefused):
            await directories.verify(GUARD, replace(directory, url=url))


async def test_a_directory_that_talks_without_end_is_not_listened_to_for_ever(directory):
    async def chatter(reader, writer):
        # The beginning of one LDAP message of a gigabyte.
        writer.write(b"\x30\x84\x40\x00\x00\x00")
        with contextlib.suppress(ConnectionError):
            while True:
                writer.write(bytes(65536))
                await writer.drain()

    async with a_server(chatter) as url:
        with pytest.raises(DirectoryRefused):
            await directories.verify(GUARD, replace(directory, url=url))


async def test_a_silent_directory_holds_no_thread_longer_than_it_may(directory, ldap_server, ada):
    longest = timedelta(milliseconds=200)
    with ldap_server.paused():
        for _ in range(2):
            at_once = [directories.verify(GUARD, directory, longest=longest) for _ in range(2 * directories.AT_ONCE)]
            for result in await asyncio.gather(*at_once, return_exceptions=True):
                assert isinstance(result, DirectoryRefused)
                assert "in time" in str(result)
    # All threads are free again: had one waited for its socket, this would have to wait for it.
    assert await enter(directory, ada) == {}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "10.0.0.1", "169.254.169.254"])
async def test_a_directory_on_this_machine_or_a_private_network_needs_the_operators_leave(directory, host):
    with pytest.raises(AddressRefused):
        await directories.verify(Guard(), replace(directory, url=f"ldap://{host}:389"))


async def test_the_address_that_was_judged_is_the_one_that_is_connected_to(directory, ldap_server, ada):
    answers = iter([["127.0.0.1"], ["10.0.0.1"]])

    async def resolve(name):
        return next(answers)

    guard = Guard(["127.0.0.1"], resolve=resolve)
    named = replace(directory, url=f"ldap://directory.example.com:{ldap_server.port}")
    await directories.verify(guard, named)
    with pytest.raises(AddressRefused):
        await directories.verify(guard, named)


@pytest.mark.parametrize("text", ["(uid={{username}})", "(&(uid={{username}})(!(ou=x*))(|(a=1)(b>=2)))"])
def test_a_filter_is_a_filter(text):
    directories.verify_filter(text)


@pytest.mark.parametrize(
    "text", ["", "uid", "(uid={{username}}", "uid={{username}})", "(uid)", "(&)", "((uid=1))", "(" * 30 + ")" * 30]
)
def test_what_is_no_filter_is_refused(text):
    with pytest.raises(ValueError, match=r"valid LDAP filter|too many"):
        directories.verify_filter(text)
