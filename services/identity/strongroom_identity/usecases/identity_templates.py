"""Identity templates: made, looked at, changed for all who use them, unlinked, deleted (wire-identity 6.1)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import orjson

from strongroom_common.access.callers import Caller
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.crypto.data_keys import bind, open_many
from strongroom_common.db.database import UnitOfWork
from strongroom_common.kernel.errors import Conflict
from strongroom_identity.domain.directories import DirectoryUrl
from strongroom_identity.domain.errors import IdentityTemplateNotFound
from strongroom_identity.domain.identity_templates import MOST_TEMPLATES, IdentityTemplate, OpenTemplate, TemplateUse
from strongroom_identity.store import identity_templates
from strongroom_identity.store.pages import Page
from strongroom_identity.usecases.auth_methods import COMPLETIONS, METHODS, place_of
from strongroom_identity.usecases.context import IdentityContext

LDAP_AUTH = "ldap-auth"
SUBJECT = "machine-identity-auth-template"
MOST_USES = 10_000
"""How many identities one answer names."""


async def create(
    context: IdentityContext, caller: Caller, origin: Origin, name: str, fields: Mapping[str, Any]
) -> OpenTemplate:
    """Make a template; raises `AddressRefused` for a host that no login could reach."""
    caller.require("create-templates", SUBJECT)
    _judge(context, fields)
    template = IdentityTemplate.new(caller.organization_id, name, context.clock.now())
    async with context.database.begin(origin) as work:
        if await identity_templates.count(work, caller.organization_id) >= MOST_TEMPLATES:
            raise Conflict(f"An organization can have at most {MOST_TEMPLATES} identity templates")
        template = await _sealed(context, work, template, fields)
        await identity_templates.add(work, template)
        work.record(audit_record(origin, context.clock, "create-identity-auth-template", _facts(template)))
        await work.commit()
    return OpenTemplate(template, fields)


async def change(
    context: IdentityContext,
    caller: Caller,
    origin: Origin,
    template_id: UUID,
    name: str | None,
    given: Mapping[str, Any],
) -> OpenTemplate:
    """Change a template, and with it every identity that is linked to it, in one transaction.

    Fields that are not given stay. Raises `IdentityTemplateNotFound`, `AddressRefused`.
    """
    caller.require("edit-templates", SUBJECT)
    now = context.clock.now()
    async with context.database.begin(origin) as work:
        template = await _lock(work, caller, template_id)
        fields = {**await _open(context, template), **given}
        _judge(context, fields)
        template = await _sealed(context, work, template.changed(name, now), fields)
        await identity_templates.save(work, template)
        linked = await identity_templates.lock_linked(work, template) if given else []
        if linked:
            key = await context.data_keys.active(work, template.organization_id)
            plain = {name: value for name, value in fields.items() if name not in _SEALED}
            sealed = orjson.dumps({name: value for name, value in fields.items() if name in _SEALED})
            rewritten = [(each.id, key.seal(sealed, place_of(each))) for each in linked]
            await identity_templates.rewrite(work, plain, rewritten, now)
        facts = {**_facts(template), "fields": sorted(given), "linkedIdentities": len(linked)}
        work.record(audit_record(origin, context.clock, "update-identity-auth-template", facts))
        await work.commit()
    return OpenTemplate(template, fields)


async def get(context: IdentityContext, caller: Caller, origin: Origin, template_id: UUID) -> OpenTemplate:
    """Return a template; its bind password only to those who may change it. Raises `IdentityTemplateNotFound`."""
    caller.require("list-templates", SUBJECT)
    template = await _find(context, caller, template_id)
    fields = await _open(context, template)
    if not caller.rules.may("edit-templates", SUBJECT):
        fields = _without_secrets(fields)
    await context.trail.note(audit_record(origin, context.clock, "get-identity-auth-template", _facts(template)))
    return OpenTemplate(template, fields)


async def list_all(context: IdentityContext, caller: Caller, origin: Origin, method: str) -> list[OpenTemplate]:
    """List the organization's templates of one kind, without their secrets."""
    caller.require("list-templates", SUBJECT)
    found = await identity_templates.list_of(context.database, caller.organization_id, method)
    return await _shown(context, origin, found)


async def search(
    context: IdentityContext, caller: Caller, origin: Origin, page: Page
) -> tuple[list[OpenTemplate], int]:
    """List templates by name, without their secrets, and say how many there are in all."""
    caller.require("list-templates", SUBJECT)
    found, total = await identity_templates.search(context.database, caller.organization_id, page)
    return await _shown(context, origin, found), total


async def delete(context: IdentityContext, caller: Caller, origin: Origin, template_id: UUID) -> None:
    """Delete a template; identities that were linked to it keep what came from it."""
    caller.require("delete-templates", SUBJECT)
    async with context.database.begin(origin) as work:
        template = await _lock(work, caller, template_id)
        unlinked = await identity_templates.unlink(work, template, None, context.clock.now())
        await identity_templates.remove(work, template.id)
        facts = {**_facts(template), "unlinkedIdentities": len(unlinked)}
        work.record(audit_record(origin, context.clock, "delete-identity-auth-template", facts))
        await work.commit()


async def list_uses(context: IdentityContext, caller: Caller, origin: Origin, template_id: UUID) -> list[TemplateUse]:
    """List the identities that are linked to a template; raises `IdentityTemplateNotFound`."""
    caller.require("list-templates", SUBJECT)
    template = await _find(context, caller, template_id)
    found = await identity_templates.list_uses(context.database, template, MOST_USES)
    facts = {**_facts(template), "count": len(found)}
    await context.trail.note(audit_record(origin, context.clock, "get-identity-auth-template-usage", facts))
    return found


async def unlink(
    context: IdentityContext, caller: Caller, origin: Origin, template_id: UUID, identity_ids: Sequence[UUID]
) -> list[TemplateUse]:
    """Unlink identities from a template; they keep what came from it. Returns those that were linked."""
    caller.require("unlink-templates", SUBJECT)
    async with context.database.begin(origin) as work:
        template = await _lock(work, caller, template_id)
        unlinked = await identity_templates.unlink(work, template, identity_ids, context.clock.now())
        facts = {**_facts(template), "identityIds": [str(use.identity_id) for use in unlinked]}
        work.record(audit_record(origin, context.clock, "delete-identity-auth-template-usage", facts))
        await work.commit()
    return unlinked


async def complete(
    context: IdentityContext, caller: Caller, organization_id: UUID, own: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Fill an LDAP configuration's settings from the template that it names, if it names one."""
    if own.get("templateId") is None:
        return own
    caller.require("attach-templates", SUBJECT)
    template = await identity_templates.find(context.database, organization_id, UUID(str(own["templateId"])))
    if template is None:
        raise IdentityTemplateNotFound
    return {**own, **await _open(context, template)}


COMPLETIONS[LDAP_AUTH] = complete

_METHOD = METHODS[LDAP_AUTH]
_SEALED = frozenset(_METHOD.settings.model_fields[name].alias for name in _METHOD.sealed)
"""The fields of the settings that lie sealed, all of which a template has."""


async def _find(context: IdentityContext, caller: Caller, template_id: UUID) -> IdentityTemplate:
    template = await identity_templates.find(context.database, caller.organization_id, template_id)
    if template is None:
        raise IdentityTemplateNotFound
    return template


async def _lock(work: UnitOfWork, caller: Caller, template_id: UUID) -> IdentityTemplate:
    template = await identity_templates.lock(work, caller.organization_id, template_id)
    if template is None:
        raise IdentityTemplateNotFound
    return template


async def _shown(context: IdentityContext, origin: Origin, found: Sequence[IdentityTemplate]) -> list[OpenTemplate]:
    keys = await context.data_keys.opening([template.sealed_fields for template in found])
    opened = open_many(keys, [(template.sealed_fields, _place(template)) for template in found])
    shown = [
        OpenTemplate(template, _without_secrets(orjson.loads(fields)))
        for template, fields in zip(found, opened, strict=True)
    ]
    await context.trail.note(audit_record(origin, context.clock, "get-identity-auth-templates", {"count": len(found)}))
    return shown


async def _open(context: IdentityContext, template: IdentityTemplate) -> dict[str, Any]:
    keys = await context.data_keys.opening([template.sealed_fields])
    (key,) = keys.values()
    fields: dict[str, Any] = orjson.loads(key.open(template.sealed_fields, _place(template)))
    return fields


async def _sealed(
    context: IdentityContext, work: UnitOfWork, template: IdentityTemplate, fields: Mapping[str, Any]
) -> IdentityTemplate:
    key = await context.data_keys.active(work, template.organization_id)
    return replace(template, sealed_fields=key.seal(orjson.dumps(fields), _place(template)))


def _place(template: IdentityTemplate) -> bytes:
    return bind("identity_templates", template.id, "fields", template.organization_id)


def _judge(context: IdentityContext, fields: Mapping[str, Any]) -> None:
    context.guard.judge_host(DirectoryUrl.parse(fields["url"]).host)


def _without_secrets(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {**fields, "bindPass": None}


def _facts(template: IdentityTemplate) -> dict[str, Any]:
    return {"templateId": str(template.id), "name": template.name}
