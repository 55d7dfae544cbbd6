"""Users as members of projects."""

from services.identity.tests.service.organization_people import (
    ROOT,
    a_user,
    an_organization_of,
    joins,
    root_token,
    user_token,
)
from services.identity.tests.service.route_examples import Cast, RouteExample, Sent, unique

from strongroom_identity.api.user_memberships import LISTS, ONES, WRITTEN


async def people(world) -> Cast:
    """Users instead of machines. Made once per world."""
    if not hasattr(world, "people_in_projects"):
        ours = world.tenants[0].organization_id
        stranger = await a_user(world, f"{unique('stranger')}@example.com", None)
        elsewhere = await an_organization_of(world, stranger["email"], unique("Other"))
        nobody = await a_user(world, f"{unique('nobody')}@example.com", "no-access")
        world.people_in_projects = Cast(
            able=await root_token(world),
            foreign=await user_token(world, stranger["email"], elsewhere),
            powerless=await user_token(world, nobody["email"], ours),
        )
    cast: Cast = world.people_in_projects
    return cast


async def a_project_and_a_user(world) -> Sent:
    project, user = await world.project(unique("Payments")), await a_user(world, f"{unique('ada')}@example.com")
    return Sent(path={"projectId": project["id"]}, body={"usernames": [user["email"]], "roleSlugs": ["viewer"]})


async def a_member(world) -> Sent:
    project, user = await world.project(unique("Payments")), await a_user(world, f"{unique('ada')}@example.com")
    membership = await joins(world, user["id"], "viewer", project["orgId"], project["id"])
    path = {"projectId": project["id"], "membershipId": membership}
    return Sent(
        path=path, body={"username": user["email"], "usernames": [user["email"]], "roles": [{"role": "member"}]}
    )


async def a_project_of_root(world) -> Sent:
    project = await world.project(unique("Payments"))
    (root,) = await world.rows("SELECT id FROM users WHERE email = $1", ROOT)
    await joins(world, str(root["id"]), "admin", project["orgId"], project["id"])
    return Sent(path={"projectId": project["id"]})


BOTH = ["projectId", "membershipId"]
TWINS = ("/api/v1/projects/{projectId:uuid}", "/api/v1/workspace/{projectId:uuid}")

EXAMPLES = [
    *(RouteExample("GET", path, a_member, ids=["projectId"], bad_query="limit") for path in LISTS),
    *(RouteExample("POST", path, a_project_and_a_user, ids=["projectId"], bad="roleSlugs") for path in WRITTEN),
    *(RouteExample("DELETE", path, a_member, ids=["projectId"], bad="usernames") for path in WRITTEN),
    *(RouteExample("POST", f"{path}/details", a_member, ids=["projectId"], bad="username") for path in LISTS),
    *(RouteExample("PATCH", path, a_member, ids=BOTH, bad="roles") for path in ONES),
    *(RouteExample(method, path, a_member, ids=BOTH) for method in ("GET", "DELETE") for path in ONES),
    *(
        RouteExample("GET", f"{base}/users", a_project_of_root, ids=["projectId"], bad_query="limit", cast=people)
        for base in TWINS
    ),
    *(RouteExample("GET", f"{base}/permissions", a_project_of_root, ids=["projectId"], cast=people) for base in TWINS),
]
