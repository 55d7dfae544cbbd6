"""A small identity on a memory bus, for tests of one other service alone: it answers the questions that services ask
and signs real tokens. What it does not know it refuses, as identity does.

    identity = IdentityDouble(bus)
    project = identity.add_project()
    robot = identity.add_machine()
    identity.grant(robot, project, ADMIN)
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar
from uuid import UUID

import orjson

from strongroom_common.access.roles import PROJECT_ROLES
from strongroom_common.bus.memory import MemoryBus
from strongroom_common.contracts.envelopes import Envelope, Origin, Postmaster
from strongroom_common.contracts.identity import (
    AccessChanged,
    CallerAccess,
    DescribeProject,
    EnvironmentState,
    ListSigningKeys,
    ProjectAccess,
    ProjectCreated,
    ProjectDeleted,
    ProjectState,
    ProjectUpdated,
    PublicKey,
    PublicKeys,
    ResolveCaller,
    ResolveProjectAccess,
    SpendToken,
    TokenSpent,
    TokensRevoked,
)
from strongroom_common.contracts.messages import Event, Payload, Query
from strongroom_common.crypto.jwts import SigningKey
from strongroom_common.kernel.clock import Clock, SystemClock
from strongroom_common.kernel.errors import Forbidden, NotFound, Unauthenticated, Unavailable
from strongroom_common.kernel.ids import new_id, random_text

Q = TypeVar("Q", bound=Query[Any])
Rules = Sequence[Mapping[str, Any]]

ADMIN: Rules = tuple(rule.to_wire() for rule in PROJECT_ROLES["admin"].rules)
VIEWER: Rules = tuple(rule.to_wire() for rule in PROJECT_ROLES["viewer"].rules)


@dataclass(frozen=True)
class Bearer:
    """Someone with a token."""

    id: UUID
    token: str
    kind: Literal["user", "identity"]
    organization_id: UUID


class IdentityDouble:
    """Declare it on a bus before the bus opens."""

    def __init__(self, bus: MemoryBus, clock: Clock | None = None) -> None:
        self.organization_id = new_id()
        self.asked: list[str] = []
        """The types of the questions so far."""
        self.is_away = False
        self._bus = bus
        self._clock = clock or SystemClock()
        # No message of identity's that is used here has a secret field.
        self._postmaster = Postmaster(self._clock, _refuse, _refuse)
        self._key = SigningKey.generate()
        self._callers: dict[UUID, CallerAccess] = {}
        self._projects: dict[UUID, ProjectState] = {}
        self._rules: dict[tuple[UUID, UUID], Rules] = {}
        self._answer(ResolveCaller, self._resolve_caller)
        self._answer(ResolveProjectAccess, self._resolve_project_access)
        self._answer(DescribeProject, self._describe_project)
        self._answer(ListSigningKeys, self._list_signing_keys)
        self._answer(SpendToken, self._spend_token)

    def add_machine(self, organization_id: UUID | None = None) -> Bearer:
        """Make a machine identity with a token."""
        return self._add("identity", organization_id)

    def add_user(self, organization_id: UUID | None = None) -> Bearer:
        """Make a user with a session."""
        return self._add("user", organization_id)

    def add_project(
        self,
        slug: str | None = None,
        environments: Sequence[str] = ("dev", "staging", "prod"),
        organization_id: UUID | None = None,
        **more: Any,
    ) -> ProjectState:
        """Make a project that identity knows, but has told nobody about."""
        project = ProjectState(
            id=new_id(),
            organization_id=organization_id or self.organization_id,
            name="Shop",
            slug=slug or f"shop-{random_text(6).lower()}",
            type="secret-manager",
            environments=[
                EnvironmentState(id=new_id(), name=name.title(), slug=name, position=position)
                for position, name in enumerate(environments, 1)
            ],
            revision=1,
            **more,
        )
        self._projects[project.id] = project
        return project

    def change_project(self, project: ProjectState, **changes: Any) -> ProjectState:
        """Make the next revision of a project; nobody is told."""
        changed = project.model_copy(update={"revision": project.revision + 1, **changes})
        self._projects[project.id] = changed
        return changed

    def remove_project(self, project: ProjectState) -> None:
        """Forget a project; nobody is told."""
        self._projects.pop(project.id, None)

    def grant(self, bearer: Bearer, project: ProjectState, rules: Rules) -> None:
        """Make the bearer a member with exactly these rules."""
        self._rules[bearer.id, project.id] = rules

    async def say(self, event: Event) -> None:
        """Publish an event and wait until every consumer has done its work."""
        await self._bus.publish(self._postmaster.enclose(event, Origin()))

    async def say_created(self, project: ProjectState) -> None:
        """Tell of a new project."""
        await self.say(ProjectCreated(project=project))

    async def say_updated(self, project: ProjectState) -> None:
        """Tell of a changed project."""
        await self.say(ProjectUpdated(project=project))

    async def say_deleted(self, project: ProjectState) -> None:
        """Tell of a deleted project."""
        await self.say(ProjectDeleted(project_id=project.id, organization_id=project.organization_id))

    async def say_access_changed(self) -> None:
        """Let all services ask anew who may what."""
        await self.say(AccessChanged(organization_id=self.organization_id))

    async def revoke(self, bearer: Bearer) -> None:
        """End all tokens of the bearer."""
        self._callers = {token: caller for token, caller in self._callers.items() if caller.subject_id != bearer.id}
        await self.say(TokensRevoked(subject_ids=[bearer.id]))

    def sign(self, claims: Mapping[str, Any]) -> str:
        """Sign anything, as identity would."""
        return self._key.sign(claims)

    def _add(self, kind: Literal["user", "identity"], organization_id: UUID | None) -> Bearer:
        organization_id = organization_id or self.organization_id
        access = CallerAccess(
            token_id=new_id(),
            kind=kind,
            subject_id=new_id(),
            name=f"{kind}-{len(self._callers) + 1}",
            email=f"someone{len(self._callers)}@example.com" if kind == "user" else None,
            auth_method="universal-auth" if kind == "identity" else "email",
            organization_id=organization_id,
        )
        self._callers[access.token_id] = access
        claims = (
            {"authTokenType": "identityAccessToken", "identityAccessTokenId": str(access.token_id)}
            if kind == "identity"
            else {"authTokenType": "accessToken", "tokenVersionId": str(access.token_id)}
        )
        token = self.sign({**claims, "organizationId": str(organization_id)})
        return Bearer(access.subject_id, token, kind, organization_id)

    def _answer(self, query: type[Q], answer: Callable[[Q], Awaitable[Payload]]) -> None:
        async def respond(envelope: Envelope) -> dict[str, Any]:
            self.asked.append(envelope.type)
            if self.is_away:
                raise Unavailable("identity does not answer")
            return self._postmaster.enclose_answer(await answer(self._postmaster.disclose(envelope, query)), envelope)

        self._bus.answer(query.type, respond)

    async def _resolve_caller(self, question: ResolveCaller) -> CallerAccess:
        found = self._callers.get(question.token_id)
        if found is None:
            raise Unauthenticated("the token is unknown or revoked")
        return found

    async def _resolve_project_access(self, question: ResolveProjectAccess) -> ProjectAccess:
        project = self._projects.get(question.project_id)
        if project is None or project.organization_id != question.organization_id:
            raise NotFound("There is no such project")
        rules = self._rules.get((question.subject_id, project.id))
        if rules is None:
            raise Forbidden("You are not a member of this project")
        return ProjectAccess(
            project_id=project.id,
            organization_id=project.organization_id,
            name=project.name,
            slug=project.slug,
            type=project.type,
            rules=rules,
        )

    async def _describe_project(self, question: DescribeProject) -> ProjectState:
        for project in self._projects.values():
            if question.organization_id in {None, project.organization_id} and (
                project.id == question.project_id or (question.project_id is None and project.slug == question.slug)
            ):
                return project
        raise NotFound("There is no such project")

    async def _list_signing_keys(self, _: ListSigningKeys) -> PublicKeys:
        document = orjson.dumps(self._key.verification_key.to_json()).decode()
        return PublicKeys(keys=[PublicKey(kid=self._key.id, key=document)])

    async def _spend_token(self, _: SpendToken) -> TokenSpent:
        return TokenSpent()


def _refuse(_: bytes, __: bytes) -> bytes:
    raise ValueError("this identity has no bus key: it says nothing secret")
