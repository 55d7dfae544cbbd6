"""Organizations, their users, roles and sub-organizations, and the administration of the instance."""

from services.identity.tests.service.organization_people import (
    a_role,
    a_user,
    an_organization_of,
    root_token,
    user_token,
)
from services.identity.tests.service.route_examples import Cast, RouteExample, Sent, unique

ORGANIZATION = "/api/v1/organization"
OF_ORGANIZATION = ORGANIZATION + "/{organizationId:uuid}"
V2 = "/api/v2/organizations"
V2_OF_ORGANIZATION = V2 + "/{organizationId:uuid}"
OF_MEMBERSHIP = V2_OF_ORGANIZATION + "/memberships/{membershipId:uuid}"
SUBS = "/api/v1/sub-organizations"
ADMIN = "/api/v1/admin"
USERS = ADMIN + "/user-management/users"
IDENTITIES = ADMIN + "/identity-management/identities"
ORGANIZATIONS = ADMIN + "/organization-management/organizations"


def own(world) -> dict[str, str]:
    return {"organizationId": world.tenants[0].organization_id}


async def user_cast(world) -> Cast:
    """Users: the admin of ours, the admin of another organization, one of ours without rights."""
    if not hasattr(world, "organization_users"):
        foreign, powerless = f"{unique('foreign')}@example.com", f"{unique('powerless')}@example.com"
        await a_user(world, foreign, None)
        elsewhere = await an_organization_of(world, foreign, unique("Elsewhere"))
        await a_user(world, powerless, "no-access")
        world.organization_users = Cast(
            able=await root_token(world),
            foreign=await user_token(world, foreign, elsewhere),
            powerless=await user_token(world, powerless, world.tenants[0].organization_id),
        )
    return world.organization_users


async def doomed_cast(world) -> Cast:
    """The same, in an organization that may go."""
    guest = f"{unique('guest')}@example.com"
    await a_user(world, guest, "no-access", world.doomed)
    return Cast(
        able=await user_token(world, "root@example.com", world.doomed),
        foreign=(await user_cast(world)).foreign,
        powerless=await user_token(world, guest, world.doomed),
    )


async def nothing(world) -> Sent:
    return Sent()


async def our_organization(world) -> Sent:
    return Sent(path=own(world))


async def a_change(world) -> Sent:
    return Sent(path=own(world), body={"pkiProductEnabled": True})


async def a_name(world) -> Sent:
    return Sent(body={"name": unique("Organization")})


async def a_doomed_organization(world) -> Sent:
    world.doomed = await an_organization_of(world, "root@example.com", unique("Doomed"))
    return Sent(path={"organizationId": world.doomed})


async def a_membership(world) -> Sent:
    made = await a_user(world, f"{unique('member')}@example.com", "no-access")
    return Sent(path={**own(world), "membershipId": made["membership"]})


async def a_changed_membership(world) -> Sent:
    return Sent(path=(await a_membership(world)).path, body={"role": "no-access"})


async def some_memberships(world) -> Sent:
    made = await a_user(world, f"{unique('member')}@example.com", "no-access")
    return Sent(path=own(world), body={"membershipIds": [made["membership"]]})


async def a_new_role(world) -> Sent:
    rules = [{"subject": "member", "action": ["read"]}]
    return Sent(path=own(world), body={"slug": unique("role"), "name": "Role", "permissions": rules})


async def an_own_role(world) -> Sent:
    role = await a_role(world, unique("role"), ("member", "read"))
    return Sent(path={**own(world), "roleId": role["id"], "roleSlug": role["slug"]})


async def a_changed_role(world) -> Sent:
    return Sent(path=(await an_own_role(world)).path, body={"name": "Changed"})


async def a_sub_organization(world) -> Sent:
    body = {"name": unique("Below")}
    made = await world.http.post(SUBS, token=world.token, json=body)
    return Sent(path={"subOrgId": made.json["organization"]["id"]})


async def a_changed_sub_organization(world) -> Sent:
    return Sent(path=(await a_sub_organization(world)).path, body={"name": unique("Beneath")})


async def a_configuration(world) -> Sent:
    return Sent(body={"trustOidcEmails": False})


async def somebody(world) -> Sent:
    made = await a_user(world, f"{unique('somebody')}@example.com")
    return Sent(path={"userId": made["id"]})


async def an_identity(world) -> Sent:
    return Sent(path={"identityId": (await world.machine(unique("robot"))).id})


async def an_organization_for_others(world) -> Sent:
    return Sent(body={"name": unique("For others"), "inviteAdminEmails": [f"{unique('invited')}@example.com"]})


async def another_organization(world) -> Sent:
    return Sent(path={"organizationId": (await world.another_tenant(unique("Other"))).organization_id})


ID = ["organizationId"]
MEMBERSHIP = [*ID, "membershipId"]
ROLE = [*ID, "roleId"]

EXAMPLES = [
    RouteExample("GET", ORGANIZATION, nothing, anyone=True, cast=user_cast),
    RouteExample("GET", OF_ORGANIZATION, our_organization, ids=ID, anyone=True, cast=user_cast),
    RouteExample("PATCH", OF_ORGANIZATION, a_change, ids=ID, bad="enforceMfa", cast=user_cast),
    RouteExample("POST", V2, a_name, bad="name", anyone=True, cast=user_cast),
    RouteExample("DELETE", V2_OF_ORGANIZATION, a_doomed_organization, ids=ID, cast=doomed_cast),
    RouteExample("GET", V2_OF_ORGANIZATION + "/workspaces", our_organization, ids=ID, anyone=True),
    RouteExample("GET", V2_OF_ORGANIZATION + "/identity-memberships", our_organization, ids=ID, bad_query="limit"),
    RouteExample("GET", OF_ORGANIZATION + "/groups", our_organization, ids=ID, bad_query="limit", cast=user_cast),
    RouteExample("GET", OF_ORGANIZATION + "/users", our_organization, ids=ID, bad_query="limit", cast=user_cast),
    RouteExample("GET", OF_ORGANIZATION + "/permissions", our_organization, ids=ID, anyone=True, cast=user_cast),
    # Members.
    RouteExample("GET", V2_OF_ORGANIZATION + "/memberships", our_organization, ids=ID, bad_query="limit"),
    RouteExample("DELETE", V2_OF_ORGANIZATION + "/memberships", some_memberships, ids=ID, bad="membershipIds"),
    RouteExample("GET", OF_MEMBERSHIP, a_membership, ids=MEMBERSHIP),
    RouteExample("PATCH", OF_MEMBERSHIP, a_changed_membership, ids=MEMBERSHIP, bad="role"),
    RouteExample("DELETE", OF_MEMBERSHIP, a_membership, ids=MEMBERSHIP),
    RouteExample("GET", OF_MEMBERSHIP + "/project-memberships", a_membership, ids=MEMBERSHIP, bad_query="limit"),
    # Roles.
    RouteExample("POST", OF_ORGANIZATION + "/roles", a_new_role, ids=ID, bad="permissions", cast=user_cast),
    RouteExample("GET", OF_ORGANIZATION + "/roles", our_organization, ids=ID, cast=user_cast),
    RouteExample("GET", OF_ORGANIZATION + "/roles/{roleId:uuid}", an_own_role, ids=ROLE, cast=user_cast),
    RouteExample(
        "PATCH", OF_ORGANIZATION + "/roles/{roleId:uuid}", a_changed_role, ids=ROLE, bad="name", cast=user_cast
    ),
    RouteExample("DELETE", OF_ORGANIZATION + "/roles/{roleId:uuid}", an_own_role, ids=ROLE, cast=user_cast),
    RouteExample("POST", ORGANIZATION + "/roles", a_new_role, bad="permissions"),
    RouteExample("GET", ORGANIZATION + "/roles/{roleId:uuid}", an_own_role, ids=["roleId"]),
    RouteExample("PATCH", ORGANIZATION + "/roles/{roleId:uuid}", a_changed_role, ids=["roleId"], bad="name"),
    RouteExample("DELETE", ORGANIZATION + "/roles/{roleId:uuid}", an_own_role, ids=["roleId"]),
    RouteExample(
        "GET",
        ORGANIZATION + "/roles/slug/{roleSlug}",
        an_own_role,
        ids=["roleSlug"],
        unknown_value={"roleSlug": "nobody-has-this"},
    ),
    # Sub-organizations.
    RouteExample("POST", SUBS, a_name, bad="name"),
    RouteExample("GET", SUBS, nothing, bad_query="limit", filtered=["organizations"]),
    RouteExample("PATCH", SUBS + "/{subOrgId:uuid}", a_changed_sub_organization, ids=["subOrgId"], bad="name"),
    RouteExample("DELETE", SUBS + "/{subOrgId:uuid}", a_sub_organization, ids=["subOrgId"]),
    # The instance.
    RouteExample("GET", ADMIN + "/config", nothing),
    RouteExample("PATCH", ADMIN + "/config", a_configuration, bad="allowSignUp"),
    RouteExample("GET", USERS, nothing, bad_query="limit"),
    RouteExample("DELETE", USERS + "/{userId:uuid}", somebody, ids=["userId"]),
    RouteExample("PATCH", USERS + "/{userId:uuid}/admin-access", somebody, ids=["userId"]),
    RouteExample("DELETE", USERS + "/{userId:uuid}/admin-access", somebody, ids=["userId"]),
    RouteExample("GET", IDENTITIES, nothing, bad_query="limit"),
    RouteExample("DELETE", IDENTITIES + "/{identityId:uuid}/super-admin-access", an_identity, ids=["identityId"]),
    RouteExample("GET", ORGANIZATIONS, nothing, bad_query="limit"),
    RouteExample("POST", ORGANIZATIONS, an_organization_for_others, bad="inviteAdminEmails"),
    RouteExample("DELETE", ORGANIZATIONS + "/{organizationId:uuid}", another_organization, ids=ID),
]
