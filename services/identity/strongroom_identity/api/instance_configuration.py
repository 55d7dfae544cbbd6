"""What holds for the whole instance."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from strongroom_common.http.endpoints import PUBLIC, Routes
from strongroom_common.http.models import Body, NoQuery, View
from strongroom_common.kernel.errors import Conflict
from strongroom_identity.api.calls import BareCall, Call
from strongroom_identity.api.changes import given
from strongroom_identity.domain.instance_configuration import (
    LOGIN_METHODS,
    InstanceConfiguration,
    LoginMethod,
    canonical_domains,
)
from strongroom_identity.usecases import instance_configuration

routes = Routes("Admin")

Domains = Annotated[
    str | None,
    BeforeValidator(lambda value: None if isinstance(value, str) and not value.strip() else value),
    AfterValidator(lambda value: None if value is None else canonical_domains(value)),
]
Content = Annotated[str, StringConstraints(max_length=20_000, pattern=r"^[^\x00]*$")]


class ChangeConfigurationBody(Body):
    """What is to be different. `envOverrides` must be empty: what a deployment sets, only the deployment changes."""

    allow_sign_up: bool | None = None
    allowed_sign_up_domain: Domains = None
    trust_saml_emails: bool | None = None
    trust_ldap_emails: bool | None = None
    trust_oidc_emails: bool | None = None
    default_auth_org_id: UUID | None = None
    enabled_login_methods: Annotated[Sequence[LoginMethod] | None, Field(min_length=1, max_length=20)] = None
    auth_consent_content: Content | None = None
    page_frame_content: Content | None = None
    env_overrides: Annotated[Mapping[str, str] | None, Field(max_length=100)] = None

    def to_changes(self) -> dict[str, Any]:
        """What is to be different, in our words; raises `Conflict` for settings of the deployment."""
        changes = given(self, "allowed_sign_up_domain", "default_auth_org_id")
        if changes.pop("env_overrides", None):
            raise Conflict("Settings of the deployment cannot be changed here: set them in its environment")
        if "default_auth_org_id" in changes:
            changes["default_auth_organization_id"] = changes.pop("default_auth_org_id")
        if "enabled_login_methods" in changes:
            changes["enabled_login_methods"] = list(dict.fromkeys(changes["enabled_login_methods"]))
        return changes


class ConfigurationView(View):
    """What holds for the whole instance."""

    id: UUID
    initialized: bool
    allow_sign_up: bool
    allowed_sign_up_domain: str | None
    instance_id: UUID
    trust_saml_emails: bool
    trust_ldap_emails: bool
    trust_oidc_emails: bool
    default_auth_org_id: UUID | None
    default_auth_org_slug: str | None
    default_auth_org_auth_enforced: bool | None = None
    default_auth_org_auth_method: str | None = None
    enabled_login_methods: Sequence[str]
    auth_consent_content: str | None
    page_frame_content: str | None
    admin_identity_ids: Sequence[UUID]
    fips_enabled: bool = False
    is_migration_mode_on: bool = False
    is_secret_scanning_disabled: bool = True
    kubernetes_auto_fetch_service_account_token: bool = False
    params_folder_secret_detection_enabled: bool = False
    is_offline_usage_reports_enabled: bool = False

    @classmethod
    def of(cls, configuration: InstanceConfiguration) -> "ConfigurationView":
        """Show it."""
        domains = configuration.allowed_sign_up_domain
        methods = configuration.enabled_login_methods
        return cls(
            id=configuration.instance_id,
            initialized=configuration.is_initialized,
            allow_sign_up=configuration.allow_sign_up,
            allowed_sign_up_domain=None if domains is None else domains.replace(",", ", "),
            instance_id=configuration.instance_id,
            trust_saml_emails=configuration.trust_saml_emails,
            trust_ldap_emails=configuration.trust_ldap_emails,
            trust_oidc_emails=configuration.trust_oidc_emails,
            default_auth_org_id=configuration.default_auth_organization_id,
            default_auth_org_slug=configuration.default_auth_organization_slug,
            enabled_login_methods=LOGIN_METHODS if methods is None else methods,
            auth_consent_content=configuration.auth_consent_content,
            page_frame_content=configuration.page_frame_content,
            admin_identity_ids=configuration.admin_identity_ids,
        )


class ConfigurationAnswer(View):
    """The configuration."""

    config: ConfigurationView


@routes.get("/api/v1/admin/config", returns=ConfigurationAnswer, callers=PUBLIC, permission="anybody")
async def get(call: BareCall) -> ConfigurationAnswer:
    """Return what holds for the whole instance: a page needs it before anybody logs in."""
    return ConfigurationAnswer(config=ConfigurationView.of(await instance_configuration.get(call.service)))


@routes.patch(
    "/api/v1/admin/config",
    body=ChangeConfigurationBody,
    returns=ConfigurationAnswer,
    permission="instance admin",
    audit="update-instance-configuration",
)
async def change(call: Call[ChangeConfigurationBody, NoQuery]) -> ConfigurationAnswer:
    """Change what holds for the whole instance."""
    changed = await instance_configuration.change(call.service, call.caller, call.origin, call.body.to_changes())
    return ConfigurationAnswer(config=ConfigurationView.of(changed))
