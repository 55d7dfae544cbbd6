"""What is measured, and with which floor."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

import orjson
from jwt.utils import base64url_decode

from bench.access import Access, Question, access_in_process
from bench.load import LoadGenerator, Plan, request
from bench.processes import Server, serving
from bench.product import BATCH, LOGIN, Product, name, standalone
from strongroom_common.crypto.jwts import SigningKey, verify
from strongroom_common.kernel.clock import SystemClock

_WARM_UP = 0.4
"""Seconds."""
_BATCHES = 24
"""How many batches one round sends."""
_NEW_TOKENS = 64
"""How many tokens that nobody has seen before one round sends."""
_CLIENTS = 32
"""How many clients log in by turns."""
_LARGE, _SMALL = "staging", "dev"
"""The environments whose root folders hold 1,000 and 100 secrets."""
_BATCHES_GO_TO = "prod"


class What(StrEnum):
    """The rows of the table, by the names that `--only` takes."""

    GATEWAY = "gateway"
    SIGNATURE = "signature"
    ADMIT = "admit"
    ADMIT_NEW = "admit-new"
    CALLER = "caller"
    STANDING = "standing"
    LOGIN = "login"
    ONE = "one"
    TOKEN = "token"
    LIST_100 = "list-100"
    LIST_1000 = "list-1000"
    ROWS = "rows"
    BATCH = "batch"


class Reading(NamedTuple):
    """One measurement of one side."""

    per_second: float
    p50: float
    """Milliseconds."""

    @classmethod
    def of(cls, count: int, seconds: float) -> "Reading":
        """What was done one after the other: the mean stands for the median."""
        return cls(count / seconds, 1000 * seconds / count)


Measure = Callable[[int], Reading]
"""Measure for the round of this number."""


@dataclass(frozen=True)
class Case:
    """One row of the table."""

    title: str
    floor_title: str
    floor: Measure
    product: Measure
    goal: float | None = None
    """The share of the floor's rate that an issue asks for."""


class Meter:
    """The load generator, as this run uses it."""

    def __init__(self, load: LoadGenerator, connections: int, seconds: float) -> None:
        self.load = load
        self.seconds = seconds
        self.busiest = 0.0
        """The largest share of a core that the load generator needed for a measurement."""
        self._connections = connections

    def again_and_again(self, port: int, requests: Sequence[str], seconds: float | None = None) -> Reading:
        """Go round these requests for a while."""
        return self._measure(Plan(port, requests, self._connections, self.seconds if seconds is None else seconds))

    def each_once(self, port: int, requests: Sequence[str]) -> Reading:
        """Send each of these requests once."""
        return self._measure(Plan(port, requests, self._connections, is_once=True))

    def case(
        self,
        title: str,
        floor_title: str,
        floor: tuple[int, Sequence[str]],
        product: tuple[int, Sequence[str]],
        goal: float | None = None,
    ) -> Case:
        """Return a row of which each side is asked the same again and again, at its port. Warms both up."""
        for port, requests in (floor, product):
            self.again_and_again(port, requests, _WARM_UP)
        return Case(
            title,
            floor_title,
            floor=lambda _: self.again_and_again(*floor),
            product=lambda _: self.again_and_again(*product),
            goal=goal,
        )

    def _measure(self, plan: Plan) -> Reading:
        result = self.load.measure(plan)
        self.busiest = max(self.busiest, result.busy)
        return Reading(result.per_second, result.p50)


class Cases:
    """Builds rows, and starts what they need when the first of them needs it. Use it as `with`."""

    def __init__(self, meter: Meter, rows: int, stack: ExitStack, say: Callable[[str], None]) -> None:
        """`stack` closes what is started; `rows` is how many secrets the large one of two instances holds."""
        self._meter = meter
        self._rows = rows
        self._stack = stack
        self._say = say
        self._house: tuple[Product, Server] | None = None
        self._answers: Access | None = None

    def build(self, what: What) -> Case:
        """Return the row, with everything running and warm."""
        match what:
            case What.GATEWAY:
                return self._gateway()
            case What.SIGNATURE:
                return self._signature()
            case What.ADMIT:
                return self._in_process(
                    "admit a known token", "SHA-256, a look into a dict", Access.recall, Access.admit
                )
            case What.ADMIT_NEW:
                return self._in_process(
                    "admit a new token", "Ed25519, select by id", Access.check_and_select, Access.admit_new
                )
            case What.CALLER:
                return self._in_process("resolve a caller", "select by id", Access.select_token, Access.resolve_caller)
            case What.STANDING:
                return self._in_process(
                    "resolve a standing", "select by id", Access.select_project, Access.resolve_standing
                )
            case What.LOGIN:
                return self._login()
            case What.ONE:
                return self._one()
            case What.TOKEN:
                return self._token()
            case What.LIST_100:
                return self._list(100, _SMALL, None)
            case What.LIST_1000:
                return self._list(1000, _LARGE, 0.5)
            case What.ROWS:
                return self._many_rows()
            case What.BATCH:
                return self._batch()

    def _gateway(self) -> Case:
        self._say("starting the gateway")
        upstream = self._start("bench.floors", "constant")
        proxy = self._start("bench.floors", "proxy", "--upstream", upstream.url)
        environment = {
            "STRONGROOM_GATEWAY_PORT": "0",
            "STRONGROOM_GATEWAY_IDENTITY_URL": upstream.url,
            "STRONGROOM_GATEWAY_LOG_FORMAT": "json",
        }
        gateway = self._stack.enter_context(
            serving("strongroom_gateway", "serve", ready='"event": "ready"', environment=environment)
        )
        # A token's length is part of what is forwarded.
        requests = [request("GET", "/api/v1/projects", token="x" * 400)]
        return self._meter.case(
            "forward a GET, gateway's own process",
            "aiohttp to aiohttp",
            (proxy.port, requests),
            (orjson.loads(gateway.line)["port"], requests),
        )

    def _signature(self) -> Case:
        key, clock = SigningKey.generate(), SystemClock()
        claims = {"authTokenType": "identityAccessToken", "identityAccessTokenId": "0" * 36, "organizationId": "0" * 36}
        token = key.sign({**claims, "exp": 4_000_000_000})
        message, _, signature = token.rpartition(".")
        public, known = key.verification_key.public, {key.id: key.verification_key}
        signed, signature_bytes = message.encode(), base64url_decode(signature)
        return Case(
            "verify a token, in one thread",
            "Ed25519 alone",
            floor=lambda _: self._repeat(lambda: public.verify(signature_bytes, signed)),
            product=lambda _: self._repeat(lambda: verify(token, known.get, clock)),
        )

    def _in_process(self, title: str, floor_title: str, floor: Question, product: Question) -> Case:
        """Return a row of which each side is asked here, one question after the other. Warms both up."""
        access = self._access()

        def side(question: Question) -> Measure:
            access.repeat(question, _WARM_UP)
            return lambda _: Reading.of(*access.repeat(question, self._meter.seconds))

        return Case(f"{title}, in one thread", floor_title, floor=side(floor), product=side(product))

    def _login(self) -> Case:
        product, _ = self._instance()
        # More clients than connections: logins of one client wait for each other's lock on the row of its secret.
        requests = [request("POST", LOGIN, body=body) for body in product.clients(_CLIENTS)]
        self._meter.each_once(product.port, requests)
        floor = self._start("bench.floors", "login", "--data", str(product.data))
        return self._meter.case(
            "log in by universal auth",
            "select, HMAC, insert, sign, orjson",
            (floor.port, requests),
            (product.port, requests),
        )

    def _one(self) -> Case:
        product, floor = self._instance()
        names = [name(number) for number in range(BATCH)]
        return self._meter.case(
            "read one secret",
            "select, open, orjson",
            (floor.port, [request("GET", f"/one/{each}") for each in names]),
            (product.port, [product.reading(each, _LARGE) for each in names]),
            0.5,
        )

    def _token(self) -> Case:
        product, floor = self._instance()
        ask_floor = [request("GET", f"/one/{name(0)}")]
        return Case(
            "read one secret, token never seen before",
            "select, open, orjson",
            floor=lambda _: self._meter.again_and_again(floor.port, ask_floor),
            product=lambda _: self._meter.each_once(
                product.port, [product.reading(name(0), _LARGE, token=token) for token in product.tokens(_NEW_TOKENS)]
            ),
        )

    def _list(self, count: int, environment: str, goal: float | None) -> Case:
        product, floor = self._instance()
        return self._meter.case(
            f"list {count:,} secrets",
            f"select, {count:,} opens, orjson",
            (floor.port, [request("GET", f"/list/{count}")]),
            (product.port, [product.listing(environment)]),
            goal,
        )

    def _many_rows(self) -> Case:
        few, _ = self._instance()
        many = self._product()
        self._say(f"filling another instance with {self._rows:,} secrets")
        paths = many.add_folders(_LARGE, "folder", max(1, self._rows // BATCH))
        many.fill(self._meter.load, _LARGE, paths)
        spread = [paths[number % len(paths)] for number in range(BATCH)]
        return self._meter.case(
            f"read one of {len(paths) * BATCH:,} secrets",
            f"read one of {BATCH:,}",
            (few.port, [few.reading(name(number), _LARGE) for number in range(BATCH)]),
            (many.port, [many.reading(name(number), _LARGE, path) for number, path in enumerate(spread)]),
            1 / 1.2,
        )

    def _batch(self) -> Case:
        product, floor = self._instance()

        def ask(prefix: str) -> list[str]:
            # A folder of its own for each batch: both sides' tables grow alike, and no batch waits for another's lock.
            return [
                product.writing(_BATCHES_GO_TO, path) for path in product.add_folders(_BATCHES_GO_TO, prefix, _BATCHES)
            ]

        ask_floor = [request("POST", "/batch", body=product.batch(_BATCHES_GO_TO, "/"))] * _BATCHES
        self._meter.each_once(floor.port, ask_floor)
        self._meter.each_once(product.port, ask("warm-up"))
        return Case(
            f"create {BATCH:,} secrets in one batch",
            "insert of the same rows",
            floor=lambda _: self._meter.each_once(floor.port, ask_floor),
            product=lambda number: self._meter.each_once(product.port, ask(f"round-{number}")),
            goal=0.5,
        )

    def _instance(self) -> tuple[Product, Server]:
        """Return the instance with 1,000 and 100 secrets, and the floors on copies of its rows."""
        if self._house is None:
            product = self._product()
            self._say("filling it")
            product.fill(self._meter.load, _LARGE, ["/"])
            product.fill(self._meter.load, _SMALL, ["/"], 100)
            self._house = product, self._start("bench.floors", "rows", "--data", str(product.data))
        return self._house

    def _access(self) -> Access:
        """Return identity's answers, on the database of that instance."""
        if self._answers is None:
            self._answers = self._stack.enter_context(access_in_process(self._instance()[0]))
        return self._answers

    def _product(self) -> Product:
        self._say("starting standalone")
        folder = self._stack.enter_context(TemporaryDirectory(prefix="strongroom-bench-", ignore_cleanup_errors=True))
        return self._stack.enter_context(standalone(Path(folder)))

    def _start(self, *arguments: str) -> Server:
        return self._stack.enter_context(serving(*arguments))

    def _repeat(self, work: Callable[[], object]) -> Reading:
        count, started = 0, perf_counter()
        while (elapsed := perf_counter() - started) < self._meter.seconds:
            for _ in range(100):
                work()
            count += 100
        return Reading.of(count, elapsed)
