"""The way out, proved on a real name server and a real HTTP server, both on private ports of this machine."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import cast

import aiohttp
import dns.asyncresolver
import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from strongroom_common.egress.addresses import Address
from strongroom_common.egress.guard import (
    AddressRefused,
    AnswerTooLarge,
    BadAllowList,
    Guard,
    GuardedConnector,
    RedirectRefused,
    read_at_most,
)
from strongroom_common.egress.resolvers import SystemResolver
from strongroom_common.kernel.errors import InvalidInput, Unavailable

PUBLIC = "93.184.215.14"
PUBLIC_V6 = "2606:2800:21f::1"


class Names(asyncio.DatagramProtocol):
    """A name server: `zone` holds the addresses of each name; a name with None gets no answer at all."""

    def __init__(self) -> None:
        self.zone: dict[str, Sequence[str] | None] = {}
        self.asked: list[str] = []
        self.port = 0
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)
        self.port = transport.get_extra_info("sockname")[1]

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        query = dns.message.from_wire(data)
        question = query.question[0]
        name = question.name.to_text().rstrip(".")
        self.asked.append(name)
        addresses = self.zone.get(name, ())
        if addresses is None:
            return
        answer = dns.message.make_response(query)
        answer.flags |= dns.flags.RA
        if name not in self.zone:
            answer.set_rcode(dns.rcode.NXDOMAIN)
        kind = dns.rdatatype.to_text(question.rdtype)
        fitting = [address for address in addresses if (":" in address) == (kind == "AAAA")]
        if fitting:
            answer.answer.append(dns.rrset.from_text(question.name, 0, "IN", kind, *fitting))
        assert self._transport is not None
        self._transport.sendto(answer.to_wire(), addr)


@pytest.fixture
async def names() -> AsyncIterator[Names]:
    transport, server = await asyncio.get_running_loop().create_datagram_endpoint(Names, ("127.0.0.1", 0))
    yield server
    transport.close()


@pytest.fixture
def resolver(names: Names, tmp_path: Path) -> SystemResolver:
    def configured() -> dns.asyncresolver.Resolver:
        asked = dns.asyncresolver.Resolver(configure=False)
        asked.nameservers, asked.port = ["127.0.0.1"], names.port
        return asked

    hosts = tmp_path / "hosts"
    hosts.write_text(
        "# comment\n127.0.0.1 localhost # this machine\n::1 localhost ip6-localhost\n10.9.8.7 Filed.example\n"
    )
    return SystemResolver(hosts_file=hosts, configured=configured, longest=timedelta(seconds=0.3))


def a_guard(resolver: SystemResolver, *allow: str) -> Guard:
    return Guard(allow, resolve=resolver)


async def refusal(guard: Guard, host: str, port: int = 443) -> str:
    with pytest.raises(AddressRefused) as refused:
        await guard.check(host, port)
    assert isinstance(refused.value, InvalidInput)
    assert refused.value.wire_label == "AddressRefused"
    return refused.value.message


async def test_a_public_name_is_pinned_to_its_addresses(names: Names, resolver: SystemResolver) -> None:
    names.zone["api.example"] = [PUBLIC, PUBLIC_V6]
    assert set(await a_guard(resolver).check("API.example.", 443)) == {PUBLIC, PUBLIC_V6}


async def test_a_refusal_names_the_host_and_the_setting_but_not_the_address(
    names: Names, resolver: SystemResolver
) -> None:
    names.zone["db.example"] = ["10.1.2.3"]
    message = await refusal(a_guard(resolver), "db.example")
    assert "db.example" in message
    assert "STRONGROOM_EGRESS_ALLOW" in message
    assert "10.1.2.3" not in message, "who may not go there learns nothing about inner names"


async def test_one_bad_address_among_several_refuses_all(names: Names, resolver: SystemResolver) -> None:
    names.zone["mixed.example"] = [PUBLIC, "127.0.0.1"]
    names.zone["mixed6.example"] = [PUBLIC, "::ffff:169.254.169.254"]
    await refusal(a_guard(resolver), "mixed.example")
    await refusal(a_guard(resolver), "mixed6.example")
    await refusal(a_guard(resolver, "10.0.0.0/8"), "mixed.example")


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST.",
        "a.localhost",
        "host.docker.internal",
        "metadata.google.internal",
        "metadata",
        "127.0.0.1",
        "[::1]",
        "::ffff:127.0.0.1",
        "2130706433",
        "0x7f.1",
        "127.1",
        "169.254.169.254",
        "10.0.0.1",
        "",
        "a b",
    ],
)
async def test_what_needs_no_name_server_is_refused_without_asking_one(
    names: Names, resolver: SystemResolver, host: str
) -> None:
    await refusal(a_guard(resolver), host)
    assert names.asked == []


@pytest.mark.parametrize("port", [0, -1, 65536])
async def test_a_port_must_exist(resolver: SystemResolver, port: int) -> None:
    await refusal(a_guard(resolver), PUBLIC, port)


async def test_the_operator_lets_through_networks_names_and_whole_domains(
    names: Names, resolver: SystemResolver
) -> None:
    names.zone |= {"db.internal.example": ["10.1.2.3"], "internal.example": ["10.1.2.3"], "b.example": ["10.1.2.3"]}
    names.zone["evilinternal.example"] = ["10.1.2.3"]
    by_domain = a_guard(resolver, "*.Internal.example")
    assert await by_domain.check("db.internal.example", 5432) == ["10.1.2.3"]
    for host in ("internal.example", "evilinternal.example", "b.example", "10.1.2.3"):
        await refusal(by_domain, host)
    by_name = a_guard(resolver, "b.example", "localhost")
    assert await by_name.check("B.example", 5432) == ["10.1.2.3"]
    assert await by_name.check("localhost", 5432) == ["127.0.0.1", "::1"]
    await refusal(by_name, "a.b.example")
    by_network = Guard.of_setting("10.1.0.0/16, ::1,", resolve=resolver)
    assert await by_network.check("b.example", 5432) == ["10.1.2.3"]
    assert await by_network.check("10.1.2.3", 5432) == ["10.1.2.3"]
    assert await by_network.check("::ffff:10.1.2.3", 5432) == ["10.1.2.3"]
    assert await by_network.check("64:ff9b::a01:203", 5432) == ["64:ff9b::a01:203"]
    await refusal(by_network, "10.2.0.1")


async def test_an_own_address_is_refused_even_when_it_is_public(names: Names, resolver: SystemResolver) -> None:
    names.zone["self.example"] = [PUBLIC]
    own: set[str] = {PUBLIC}

    def is_own(address: Address) -> bool:
        return str(address) in own

    guard = Guard(resolve=resolver, is_own=is_own)
    assert "this machine" in await refusal(guard, "self.example")
    assert "this machine" in await refusal(guard, PUBLIC)
    own.clear()
    assert await guard.check("self.example", 443) == [PUBLIC]


@pytest.mark.parametrize("entry", ["*", "*.", "10.0.0.1/8", "10.0.0.0/33", "http://a.example", "a.*.example", "127.1"])
def test_a_wrong_setting_is_refused_by_its_place(entry: str) -> None:
    with pytest.raises(BadAllowList, match="STRONGROOM_EGRESS_ALLOW: entry 2 "):
        Guard.of_setting(f"10.0.0.0/8,{entry}")


@given(text=st.text(max_size=60) | st.text("0123456789./*:,ab", max_size=30))
def test_reading_the_setting_never_crashes(text: str) -> None:
    try:
        Guard.of_setting(text)
    except BadAllowList as error:
        assert str(error).startswith("STRONGROOM_EGRESS_ALLOW")  # noqa: PT017 - not every text is wrong


async def test_an_unknown_name_is_refused_and_a_silent_name_server_is_unavailable(
    names: Names, resolver: SystemResolver
) -> None:
    names.zone |= {"silent.example": None, "empty.example": []}
    assert "nowhere.example" in await refusal(a_guard(resolver), "nowhere.example")
    assert "empty.example" in await refusal(a_guard(resolver), "empty.example")
    with pytest.raises(Unavailable, match=r"silent\.example"):
        await a_guard(resolver).check("silent.example", 443)


async def test_the_hosts_file_is_read_before_a_name_server_is_asked(names: Names, resolver: SystemResolver) -> None:
    assert await a_guard(resolver, "10.9.8.7").check("filed.example", 443) == ["10.9.8.7"]
    assert names.asked == []
    await refusal(a_guard(resolver), "filed.example")


async def test_a_resolver_without_any_name_server_is_unavailable(tmp_path: Path) -> None:
    def unconfigured() -> dns.asyncresolver.Resolver:
        raise dns.resolver.NoResolverConfiguration

    nothing = SystemResolver(hosts_file=tmp_path / "absent", configured=unconfigured)
    with pytest.raises(Unavailable):
        await a_guard(nothing).check("api.example", 443)


async def test_an_answer_that_is_no_address_is_refused(resolver: SystemResolver) -> None:
    async def nonsense(_: str) -> list[str]:
        return ["nonsense"]

    await refusal(Guard(resolve=nonsense), "api.example")


class Server:
    """An HTTP server on this machine that notes what reached it."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.reached: list[str] = []


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async def hello(request: web.Request) -> web.Response:
        noted.reached.append(f"{request.host}{request.path}")
        return web.Response(text="hello")

    async def elsewhere(request: web.Request) -> web.Response:
        noted.reached.append(f"{request.host}{request.path}")
        return web.Response(status=302, headers={"Location": f"http://127.0.0.1:{noted.port}/inner"})

    async def large(request: web.Request) -> web.Response:
        response = web.Response(body=b"\x00" * 1_000_000)
        response.enable_compression(web.ContentCoding.gzip)
        return response

    app = web.Application()
    app.router.add_get("/hello", hello)
    app.router.add_get("/inner", hello)
    app.router.add_get("/elsewhere", elsewhere)
    app.router.add_get("/large", large)
    runner = web.AppRunner(app)
    await runner.setup()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        noted = Server(listener.getsockname()[1])
        await web.SockSite(runner, listener).start()
        yield noted
        await runner.cleanup()


async def test_a_session_connects_to_the_judged_address_and_keeps_the_name(
    names: Names, resolver: SystemResolver, server: Server
) -> None:
    names.zone["api.example"] = ["127.0.0.1"]
    async with (
        a_guard(resolver, "127.0.0.0/8").session() as session,
        session.get(f"http://api.example:{server.port}/hello") as response,
    ):
        assert await read_at_most(response, 100) == b"hello"
    assert server.reached == [f"api.example:{server.port}/hello"]


@pytest.mark.parametrize(
    "host", ["api.example", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost", "2130706433", "127.1", "0x7f.1"]
)
async def test_a_session_reaches_nothing_inside(
    names: Names, resolver: SystemResolver, server: Server, host: str
) -> None:
    names.zone["api.example"] = ["127.0.0.1"]
    async with a_guard(resolver).session() as session:
        with pytest.raises((AddressRefused, aiohttp.InvalidURL)):
            await session.get(f"http://{host}:{server.port}/hello")
    assert server.reached == []


async def test_a_name_that_turns_inward_after_the_check_gains_nothing(
    names: Names, resolver: SystemResolver, server: Server
) -> None:
    guard = a_guard(resolver)
    names.zone["rebind.example"] = [PUBLIC]
    assert await guard.check("rebind.example", server.port) == [PUBLIC]
    names.zone["rebind.example"] = ["127.0.0.1"]
    async with guard.session() as session:
        with pytest.raises(AddressRefused):
            await session.get(f"http://rebind.example:{server.port}/hello")
    assert server.reached == []


async def test_each_new_connection_is_judged_anew_and_asks_once(
    names: Names, resolver: SystemResolver, server: Server
) -> None:
    names.zone["api.example"] = ["127.0.0.1"]
    url = f"http://api.example:{server.port}/hello"
    async with a_guard(resolver, "127.0.0.1").session(headers={"Connection": "close"}) as session:
        async with session.get(url) as response:
            assert response.status == 200
        assert names.asked == ["api.example"] * 2, "one question for IPv6 and one for IPv4"
        names.zone["api.example"] = ["127.0.0.2"]
        with pytest.raises(AddressRefused):
            await session.get(url)
    assert len(server.reached) == 1


@pytest.mark.parametrize("allow_redirects", [None, True])
async def test_a_redirect_is_not_followed_even_when_asked_for(
    names: Names, resolver: SystemResolver, server: Server, allow_redirects: bool | None
) -> None:
    names.zone["api.example"] = ["127.0.0.1"]
    wish = {} if allow_redirects is None else {"allow_redirects": allow_redirects}
    async with a_guard(resolver, "127.0.0.0/8").session() as session:
        with pytest.raises(RedirectRefused):
            await session.get(f"http://api.example:{server.port}/elsewhere", **wish)
    assert server.reached == [f"api.example:{server.port}/elsewhere"]


async def test_the_connector_alone_is_guarded_as_well(resolver: SystemResolver, server: Server) -> None:
    async with aiohttp.ClientSession(connector=GuardedConnector(a_guard(resolver))) as session:
        with pytest.raises(AddressRefused):
            await session.get(f"http://127.0.0.1:{server.port}/hello")
    assert server.reached == []


async def test_a_proxy_from_the_environment_is_not_used(
    names: Names, resolver: SystemResolver, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    names.zone["api.example"] = ["127.0.0.1"]
    monkeypatch.setenv("http_proxy", f"http://127.0.0.2:{server.port}")
    async with a_guard(resolver, "127.0.0.1").session() as session:
        async with session.get(f"http://api.example:{server.port}/hello") as response:
            assert response.status == 200
        with pytest.raises(AddressRefused):
            await session.get("http://api.example/", proxy=f"http://127.0.0.2:{server.port}")
    assert server.reached == [f"api.example:{server.port}/hello"]


async def test_an_answer_is_read_only_up_to_its_limit_counted_after_decompression(
    names: Names, resolver: SystemResolver, server: Server
) -> None:
    names.zone["api.example"] = ["127.0.0.1"]
    async with a_guard(resolver, "127.0.0.1").session() as session:
        async with session.get(f"http://api.example:{server.port}/large") as response:
            assert len(await read_at_most(response, 1_000_000)) == 1_000_000
        async with session.get(f"http://api.example:{server.port}/large") as response:
            with pytest.raises(AnswerTooLarge):
                await read_at_most(response, 999_999)
