"""The routes of all kinds of login that have a file in `providers/auth_methods/`, made from what each declares.

Kinds of the contract that have no file yet answer a login and an attachment with a 400 that says which ones there are.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from pydantic import Field, create_model

from strongroom_common.http.endpoints import PUBLIC, Routes
from strongroom_common.http.models import Body, View
from strongroom_common.kernel.errors import InvalidInput
from strongroom_identity.api.auth_configurations import (
    ChangeBody,
    ClearedAnswer,
    ConfigurationView,
    LockoutBody,
    LockoutView,
    ScopeBody,
    change_body,
    lockout_fields,
    lockout_in,
    shared_fields,
    token_settings_in,
)
from strongroom_identity.api.calls import BareCall
from strongroom_identity.api.tokens import LoginView, TokenSettingsBody
from strongroom_identity.domain.auth_methods import Verb
from strongroom_identity.usecases import auth_configurations, auth_methods
from strongroom_identity.usecases.auth_methods import METHODS, AnyMethod, Login, Settings, Shown

routes = Routes("Machine logins")

IN_THE_CONTRACT = (
    "alicloud-auth",
    "aws-auth",
    "azure-auth",
    "gcp-auth",
    "jwt-auth",
    "kubernetes-auth",
    "ldap-auth",
    "oci-auth",
    "oidc-auth",
    "tls-cert-auth",
)
"""Every kind that clients may ask for, beside universal auth and token auth."""

_create: Any = create_model
"""Models made at run time are no types to the checker."""

ABSENT = tuple(name for name in IN_THE_CONTRACT if name not in METHODS)


class LoginBody(ScopeBody):
    """What every login of these kinds sends."""

    identity_id: UUID


def _declare(name: str, method: AnyMethod) -> None:
    base = f"/api/v1/auth/{name}"
    of_identity = base + "/identities/{identityId:uuid}"
    title = method.answer_key.removeprefix("identity")
    attach_body, login_body = _attach_body(title, method), _login_body(title, method)
    patch_body = change_body(f"Change{title}Body", attach_body, method.required_on_change)
    answers = {verb: _answer(title, method, verb) for verb in ("attach", "change", "get", "detach")}

    def show(verb: Verb, shown: Shown) -> View:
        return answers[verb].model_validate({method.answer_key: _fields(method, verb, shown)})

    @routes.post(
        f"{base}/login",
        body=login_body,
        returns=LoginView,
        callers=PUBLIC,
        permission="what is presented",
        audit=f"login-identity-{name}",
        is_bearer_ignored=True,
    )
    async def login(call: Any) -> LoginView:
        """Exchange what proves the identity for an access token."""
        body = call.body
        presented = method.presented.model_construct(
            **{field: getattr(body, field) for field in method.presented.model_fields}
        )
        wish = Login(body.identity_id, presented, body.sub_organization, call.proxy_headers)
        return LoginView.of(await auth_methods.login(call.service, call.origin, name, wish))

    @routes.post(
        of_identity,
        body=attach_body,
        returns=answers["attach"],
        permission="organization or project: identity create",
        audit=f"add-identity-{name}",
    )
    async def attach(call: Any) -> View:
        """Let an identity log in this way."""
        wish, identity_id = _settings(method, call.body), UUID(call.path["identityId"])
        return show(
            "attach", await auth_methods.attach(call.service, call.caller, call.origin, identity_id, name, wish)
        )

    @routes.patch(
        of_identity,
        body=patch_body,
        returns=answers["change"],
        permission="organization or project: identity edit",
        audit=f"update-identity-{name}",
    )
    async def change(call: Any) -> View:
        """Change how an identity logs in this way."""
        wish, identity_id = _settings(method, call.body), UUID(call.path["identityId"])
        return show(
            "change", await auth_methods.change(call.service, call.caller, call.origin, identity_id, name, wish)
        )

    @routes.get(
        of_identity,
        returns=answers["get"],
        permission="organization or project: identity read",
        audit=f"get-identity-{name}",
    )
    async def get(call: BareCall) -> View:
        """Return how an identity logs in this way."""
        identity_id = UUID(call.path["identityId"])
        return show("get", await auth_methods.get(call.service, call.caller, call.origin, identity_id, name))

    @routes.delete(
        of_identity,
        returns=answers["detach"],
        permission="organization or project: identity edit + revoke-auth",
        audit=f"revoke-identity-{name}",
    )
    async def detach(call: BareCall) -> View:
        """Take this login from an identity, and the tokens that it got by it."""
        identity_id = UUID(call.path["identityId"])
        return show("detach", await auth_methods.detach(call.service, call.caller, call.origin, identity_id, name))

    if not method.has_lockout:
        return

    @routes.post(
        f"{of_identity}/clear-lockouts",
        returns=ClearedAnswer,
        permission="organization or project: identity edit",
        audit=f"clear-identity-{name}-lockouts",
    )
    async def clear_lockouts(call: BareCall) -> ClearedAnswer:
        """Open the door that failed logins have closed."""
        identity_id = UUID(call.path["identityId"])
        cleared = await auth_configurations.clear_lockouts(call.service, call.caller, call.origin, identity_id, name)
        return ClearedAnswer(deleted=cleared)


def _declare_absent(name: str) -> None:
    base = f"/api/v1/auth/{name}"

    @routes.post(
        f"{base}/login",
        returns=View,
        callers=PUBLIC,
        permission="none: this kind is not here yet",
        is_bearer_ignored=True,
    )
    async def login(call: BareCall) -> View:
        """Say which kinds of login there are: this one is not among them yet."""
        raise _not_here(name)

    @routes.post(
        base + "/identities/{identityId:uuid}",
        returns=View,
        permission="none: this kind is not here yet",
        audit="none: this kind is not here yet",
    )
    async def attach(call: BareCall) -> View:
        """Say which kinds of login there are: this one is not among them yet."""
        raise _not_here(name)


def _not_here(name: str) -> InvalidInput:
    there = ", ".join(sorted({"universal-auth", "token-auth", *METHODS}))
    return InvalidInput(f"This instance does not have {name} yet; it has {there}")


def _attach_body(title: str, method: AnyMethod) -> type[Body]:
    bases = (
        (method.settings, LockoutBody, TokenSettingsBody)
        if method.has_lockout
        else (method.settings, TokenSettingsBody)
    )
    fields: dict[str, Any] = {}
    if method.least_max_ttl:
        fields["access_token_max_ttl"] = (
            int,
            Field(2_592_000, alias="accessTokenMaxTTL", ge=method.least_max_ttl, le=315_360_000),
        )
    made: type[Body] = _create(f"Attach{title}Body", __base__=bases, __doc__=method.settings.__doc__, **fields)
    return made


def _login_body(title: str, method: AnyMethod) -> type[Body]:
    doc = method.presented.__doc__
    made: type[Body] = _create(f"Login{title}Body", __base__=(method.presented, LoginBody), __doc__=doc)
    return made


def _answer(title: str, method: AnyMethod, verb: Verb) -> type[View]:
    hidden = method.hidden.get(verb, frozenset())
    shown: dict[str, Any] = {
        field: (info.annotation, Field(alias=info.alias, description=info.description, repr=info.repr))
        for field, info in method.settings.model_fields.items()
        if field not in hidden
    }
    bases = (LockoutView, ConfigurationView) if method.has_lockout else (ConfigurationView,)
    name = f"{title}{verb.capitalize()}" if hidden else title
    view = _create(f"{name}View", __base__=bases, __doc__=method.settings.__doc__, **shown)
    made: type[View] = _create(
        f"{name}Answer",
        __base__=View,
        __doc__="One configuration.",
        **{method.answer_key: (view, Field(alias=method.answer_key))},
    )
    return made


def _fields(method: AnyMethod, verb: Verb, shown: Shown) -> Mapping[str, Any]:
    hidden = method.hidden.get(verb, frozenset())
    own = {name: getattr(shown.settings, name) for name in method.settings.model_fields if name not in hidden}
    lockout = lockout_fields(shown.configuration) if method.has_lockout else {}
    return {**shared_fields(shown.configuration), **lockout, **own}


def _settings(method: AnyMethod, body: Body) -> Settings:
    own = method.settings.model_fields.keys()
    given = own & body.model_fields_set if isinstance(body, ChangeBody) else own
    return Settings(
        tokens=token_settings_in(body),
        lockout=lockout_in(body),
        own=body.model_dump(mode="json", by_alias=True, include=set(given)),
    )


for _name, _method in METHODS.items():
    _declare(_name, _method)
for _name in ABSENT:
    _declare_absent(_name)
