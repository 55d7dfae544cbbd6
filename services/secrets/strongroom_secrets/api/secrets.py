"""Secrets, v3 raw and v4 (wire-secrets 2 to 4). Fixed segments (`id`, `batch`) win over a secret's name."""

from typing import Any

from strongroom_common.http.endpoints import Routes
from strongroom_common.http.models import NoBody, NoQuery
from strongroom_secrets.api import secret_bodies as bodies
from strongroom_secrets.api import secret_views as views
from strongroom_secrets.api.calls import Call
from strongroom_secrets.api.fields import id_or_none, known_name
from strongroom_secrets.domain.errors import SecretNotFound
from strongroom_secrets.domain.places import parse_path
from strongroom_secrets.domain.secrets import parse_new_name
from strongroom_secrets.usecases.create_secrets import CreateSecrets, create_secrets
from strongroom_secrets.usecases.delete_secrets import DeleteSecrets, delete_secrets
from strongroom_secrets.usecases.read_secrets import get_secret, get_secret_by_id, list_secrets
from strongroom_secrets.usecases.update_secrets import UpdateSecrets, update_secrets

routes = Routes("Secrets")


def _about(permission: str, audit: str) -> Any:
    return {"permission": f"project: secrets {permission}", "audit": audit, "rate": "secrets"}


_LIST = _about("describeSecret + readValue", "get-secrets")
_GET = _about("describeSecret + readValue", "get-secret")
_CREATE, _CREATE_MANY = _about("create", "create-secret"), _about("create", "create-secrets")
_UPDATE, _UPDATE_MANY = _about("edit", "update-secret"), _about("edit (upsert: create)", "update-secrets")
_DELETE, _DELETE_MANY = _about("delete", "delete-secret"), _about("delete", "delete-secrets")


@routes.get("/api/v3/secrets/raw", query=bodies.ListSecretsV3, returns=views.SecretList, **_LIST)
@routes.get("/api/v4/secrets", query=bodies.ListSecretsV4, returns=views.SecretList, **_LIST)
async def find(call: Call[NoBody, bodies.ListSecretsV3 | bodies.ListSecretsV4]) -> dict[str, Any]:
    """List the secrets of a folder."""
    found = await list_secrets(call.service, call.caller, call.origin, call.query.to_question())
    return views.listing(found)


@routes.get("/api/v3/secrets/raw/id/{secretId}", returns=views.FoundSecret, **_GET)
@routes.get("/api/v4/secrets/id/{secretId}", returns=views.FoundSecret, **_GET)
async def get_by_id(call: Call[NoBody, NoQuery]) -> dict[str, Any]:
    """Get a secret by its id."""
    secret_id = id_or_none(call.path["secretId"])
    if secret_id is None:
        raise SecretNotFound("There is no secret with this id in your organization")
    return views.by_id(await get_secret_by_id(call.service, call.caller, call.origin, secret_id))


@routes.get("/api/v3/secrets/raw/{secretName}", query=bodies.GetSecretV3, returns=views.NamedSecret, **_GET)
@routes.get("/api/v4/secrets/{secretName}", query=bodies.GetSecretV4, returns=views.NamedSecret, **_GET)
async def get(call: Call[NoBody, bodies.GetSecretV3 | bodies.GetSecretV4]) -> dict[str, Any]:
    """Get a secret, or an old version of it, by its name."""
    question = call.query.to_question(known_name(call.path["secretName"]))
    return views.by_name(await get_secret(call.service, call.caller, call.origin, question))


@routes.post("/api/v3/secrets/batch/raw", body=bodies.CreateSecretsV3, returns=views.CreatedSecrets, **_CREATE_MANY)
@routes.post("/api/v4/secrets/batch", body=bodies.CreateSecretsV4, returns=views.CreatedSecrets, **_CREATE_MANY)
async def create_many(call: Call[bodies.CreateSecretsV3 | bodies.CreateSecretsV4, NoQuery]) -> dict[str, Any]:
    """Create many secrets, all or none."""
    body = call.body
    order = CreateSecrets(
        which=body.project(),
        environment=body.environment,
        path=parse_path(body.secret_path),
        secrets=[item.to_new(item.secret_key) for item in body.secrets],
    )
    return {"secrets": views.created(await create_secrets(call.service, call.caller, call.origin, order))}


@routes.post("/api/v3/secrets/raw/{secretName}", body=bodies.CreateSecretV3, returns=views.CreatedSecret, **_CREATE)
@routes.post("/api/v4/secrets/{secretName}", body=bodies.CreateSecretV4, returns=views.CreatedSecret, **_CREATE)
async def create(call: Call[bodies.CreateSecretV3 | bodies.CreateSecretV4, NoQuery]) -> dict[str, Any]:
    """Create a secret."""
    body = call.body
    order = CreateSecrets(
        which=body.project(),
        environment=body.environment,
        path=parse_path(body.secret_path),
        secrets=[body.to_new(parse_new_name(call.path["secretName"], ["secretName"]))],
        is_personal=body.type == "personal",
        is_batch=False,
    )
    (secret,) = views.created(await create_secrets(call.service, call.caller, call.origin, order))
    return {"secret": secret}


@routes.patch("/api/v3/secrets/batch/raw", body=bodies.UpdateSecretsV3, returns=views.ChangedSecrets, **_UPDATE_MANY)
@routes.patch("/api/v4/secrets/batch", body=bodies.UpdateSecretsV4, returns=views.ChangedSecrets, **_UPDATE_MANY)
async def update_many(call: Call[bodies.UpdateSecretsV3 | bodies.UpdateSecretsV4, NoQuery]) -> dict[str, Any]:
    """Update many secrets, all or none."""
    body = call.body
    order = UpdateSecrets(which=body.project(), environment=body.environment, changes=body.to_changes(), mode=body.mode)
    return {"secrets": views.changed(await update_secrets(call.service, call.caller, call.origin, order))}


@routes.patch("/api/v3/secrets/raw/{secretName}", body=bodies.UpdateSecretV3, returns=views.ChangedSecret, **_UPDATE)
@routes.patch("/api/v4/secrets/{secretName}", body=bodies.UpdateSecretV4, returns=views.ChangedSecret, **_UPDATE)
async def update(call: Call[bodies.UpdateSecretV3 | bodies.UpdateSecretV4, NoQuery]) -> dict[str, Any]:
    """Update a secret."""
    body = call.body
    order = UpdateSecrets(
        which=body.project(),
        environment=body.environment,
        changes=[body.to_change(known_name(call.path["secretName"]), parse_path(body.secret_path))],
        is_personal=body.type == "personal",
        is_batch=False,
    )
    (secret,) = views.changed(await update_secrets(call.service, call.caller, call.origin, order))
    return {"secret": secret}


@routes.delete("/api/v3/secrets/batch/raw", body=bodies.DeleteSecretsV3, returns=views.ChangedSecrets, **_DELETE_MANY)
@routes.delete("/api/v4/secrets/batch", body=bodies.DeleteSecretsV4, returns=views.ChangedSecrets, **_DELETE_MANY)
async def delete_many(call: Call[bodies.DeleteSecretsV3 | bodies.DeleteSecretsV4, NoQuery]) -> dict[str, Any]:
    """Delete many secrets, all or none."""
    body = call.body
    order = DeleteSecrets(
        which=body.project(),
        environment=body.environment,
        path=parse_path(body.secret_path),
        secrets=[(item.secret_key, item.type == "personal") for item in body.secrets],
    )
    return {"secrets": views.changed(await delete_secrets(call.service, call.caller, call.origin, order))}


@routes.delete("/api/v3/secrets/raw/{secretName}", body=bodies.DeleteSecretV3, returns=views.ChangedSecret, **_DELETE)
@routes.delete("/api/v4/secrets/{secretName}", body=bodies.DeleteSecretV4, returns=views.ChangedSecret, **_DELETE)
async def delete(call: Call[bodies.DeleteSecretV3 | bodies.DeleteSecretV4, NoQuery]) -> dict[str, Any]:
    """Delete a secret; a shared one goes with all overrides of it."""
    body = call.body
    order = DeleteSecrets(
        which=body.project(),
        environment=body.environment,
        path=parse_path(body.secret_path),
        secrets=[(known_name(call.path["secretName"]), body.type == "personal")],
        is_batch=False,
    )
    (secret,) = views.changed(await delete_secrets(call.service, call.caller, call.origin, order))
    return {"secret": secret}
