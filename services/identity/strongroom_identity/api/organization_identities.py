"""The identities and the groups of an organization, as the organization lists them."""

from collections.abc import Sequence
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StringConstraints

from strongroom_common.http.endpoints import USER, Routes
from strongroom_common.http.models import NoBody, QueryString, View
from strongroom_identity.api.calls import Call
from strongroom_identity.api.groups import GroupView
from strongroom_identity.api.identities import MembershipView
from strongroom_identity.api.organization_members import WholeListQuery
from strongroom_identity.api.organizations import OF_ORGANIZATION, V2_OF_ORGANIZATION
from strongroom_identity.domain.identities import IdentityFilter, TextTest
from strongroom_identity.usecases import groups, identities
from strongroom_identity.usecases.organizations import verify_own

routes = Routes("Organizations")


class IdentityMembershipsQuery(QueryString):
    """Which identities, and in which order."""

    offset: Annotated[int, Field(ge=0, le=2**31)] = 0
    limit: Annotated[int, Field(ge=1, le=20_000)] = 100
    order_by: Literal["name", "role"] = "name"
    order_direction: Literal["asc", "desc"] = "asc"
    search: Annotated[str, StringConstraints(strip_whitespace=True, max_length=255, pattern=r"^[^\x00]*$")] = ""


class IdentityMembershipsAnswer(View):
    """Identities in the organization, and how many there are."""

    identity_memberships: Sequence[MembershipView]
    total_count: int


class GroupsOfOrganizationAnswer(View):
    """The groups of the organization."""

    groups: Sequence[GroupView]


@routes.get(
    V2_OF_ORGANIZATION + "/identity-memberships",
    query=IdentityMembershipsQuery,
    returns=IdentityMembershipsAnswer,
    permission="organization: identity read",
    audit="search-identities",
)
async def list_identities(call: Call[NoBody, IdentityMembershipsQuery]) -> IdentityMembershipsAnswer:
    """List the identities of the organization."""
    verify_own(call.caller, UUID(call.path["organizationId"]))
    query = call.query
    found, total = await identities.search(
        call.service,
        call.caller,
        call.origin,
        IdentityFilter(name=TextTest(contains=query.search or None)),
        order=query.order_by,
        is_descending=query.order_direction == "desc",
        limit=query.limit,
        offset=query.offset,
    )
    memberships = [MembershipView.of(one) for one in found]
    return IdentityMembershipsAnswer(identity_memberships=memberships, total_count=total)


@routes.get(
    OF_ORGANIZATION + "/groups",
    query=WholeListQuery,
    returns=GroupsOfOrganizationAnswer,
    callers=USER,
    permission="organization: groups read",
)
async def list_groups(call: Call[NoBody, WholeListQuery]) -> GroupsOfOrganizationAnswer:
    """List the groups of the organization."""
    verify_own(call.caller, UUID(call.path["organizationId"]))
    found = await groups.list_all(call.service, call.caller, call.query.limit, call.query.offset)
    return GroupsOfOrganizationAnswer(groups=[GroupView.of(group) for group in found])
