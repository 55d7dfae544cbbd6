"""Every knob that all services share. Each may stand in a file: `STRONGROOM_PKI_DATABASE_URL_FILE=/run/secrets/url`."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, TypeVar

from pydantic import BeforeValidator, Field, PlainSerializer, PlainValidator, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from strongroom_common.egress.mail import Encryption, Mailer, NoMailServer, SmtpMailer, SmtpServer
from strongroom_common.kernel.secret import MASK, Secret

S = TypeVar("S", bound=BaseSettings)


def _secret(value: Any) -> Secret:
    return value if isinstance(value, Secret) else Secret(str(value).strip())


def _words(value: Any) -> Any:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


SecretSetting = Annotated[Secret, NoDecode, PlainValidator(_secret), PlainSerializer(lambda _: MASK, return_type=str)]
"""A setting that is never shown."""

ListSetting = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_words)]
"""A comma list."""


class _Files(PydanticBaseSettingsSource):
    """Reads `<NAME>_FILE` for every setting."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        name = field.validation_alias if isinstance(field.validation_alias, str) else None
        prefix = self.config.get("env_prefix", "")
        variable = f"{name or prefix + field_name}_FILE".upper()
        path = os.environ.get(variable)
        if not path:
            return None, field_name, False
        try:
            return Path(path).read_text().strip(), name or field_name, False
        except (OSError, UnicodeDecodeError) as error:
            raise BadSetting(f"{variable}: cannot read {path}: {getattr(error, 'strerror', 'not text')}") from None

    def __call__(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, field in self.settings_cls.model_fields.items():
            value, key, _ = self.get_field_value(field, name)
            if value is not None:
                found[key] = value
        return found


class BadSetting(ValueError):
    """One setting and what is wrong with it."""


class CommonSettings(BaseSettings):
    """What every process can be told."""

    model_config = SettingsConfigDict(extra="ignore", frozen=True)

    host: str = Field("127.0.0.1", description="The address to listen on.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="The least that is logged.")
    log_format: Literal["json", "console"] = Field("json", description="`json` for machines, `console` for people.")
    trusted_proxies: ListSetting = Field(
        ("127.0.0.0/8", "::1/128"),
        description="Comma list of addresses or CIDRs whose forwarding headers are believed: the hop in front of us.",
    )
    most_body_bytes: int = Field(10 * 1024 * 1024, ge=1024, description="The largest request body, in bytes.")
    request_seconds: float = Field(60.0, gt=0, description="The longest a request may take, in seconds.")
    drain_seconds: float = Field(8.0, ge=0, description="How long to let requests in hand finish at stop, in seconds.")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments, then the environment, then files. No dotenv: what runs is what was said."""
        return init_settings, env_settings, _Files(settings_cls)


class ServiceSettings(CommonSettings):
    """What every service with a database can be told."""

    port: int = Field(0, ge=0, le=65535, description="The port to listen on; 0 takes a free one.")
    internal_port: int = Field(0, ge=0, le=65535, description="The port of /livez, /readyz and /metrics.")
    database_url: SecretSetting = Field(description="postgresql://user:password@host:5432/database")
    bus_url: SecretSetting = Field(description="amqp://user:password@host:5672/vhost of RabbitMQ")
    master_keys: SecretSetting = Field(
        description="This service's master keys, `id:base64` of 32 bytes each, separated by commas; the first seals."
    )
    bus_keys: SecretSetting = Field(
        validation_alias="STRONGROOM_BUS_KEYS",
        description="The keys that seal secret fields of messages, the same for all services; form as for master keys.",
    )
    egress_allow: ListSetting = Field(
        (),
        validation_alias="STRONGROOM_EGRESS_ALLOW",
        description="Comma list of CIDRs and host patterns that user-given outbound addresses may reach nevertheless.",
    )
    database_connections: int = Field(10, ge=2, le=200, description="Connections for work; as many again for reads.")
    access_max_age: float = Field(
        60.0, ge=1, le=600, description="Seconds after which a remembered access is asked anew."
    )
    audit_reads: Literal["durable", "relaxed"] = Field(
        "durable", description="`relaxed` answers a read before its audit record is on disk."
    )


class MailSettings(CommonSettings):
    """How mails leave. Without a host there is no mail server, and links are shown instead of being sent."""

    smtp_host: str = Field(
        "", validation_alias="STRONGROOM_SMTP_HOST", description="The mail server; none: links are shown instead."
    )
    smtp_port: int = Field(
        587, ge=1, le=65535, validation_alias="STRONGROOM_SMTP_PORT", description="The mail server's port."
    )
    smtp_encryption: Encryption = Field(
        "starttls",
        validation_alias="STRONGROOM_SMTP_ENCRYPTION",
        description="`starttls` (usually port 587), `tls` (465), or `none`: never over a network.",
    )
    smtp_user_name: str = Field(
        "", validation_alias="STRONGROOM_SMTP_USER_NAME", description="The account at the mail server, if it wants one."
    )
    smtp_password: SecretSetting = Field(
        default_factory=lambda: Secret(""),
        validation_alias="STRONGROOM_SMTP_PASSWORD",
        description="The account's password.",
    )
    smtp_from: str = Field(
        "strongroom@localhost", validation_alias="STRONGROOM_SMTP_FROM", description="The address that mails come from."
    )
    smtp_from_name: str = Field(
        "Strongroom", validation_alias="STRONGROOM_SMTP_FROM_NAME", description="The name that mails come from."
    )
    smtp_ca: Path | None = Field(
        None,
        validation_alias="STRONGROOM_SMTP_CA",
        description="A PEM file of the authorities that the mail server is verified with; none: the system's.",
    )

    def mailer(self) -> Mailer:
        """Return what sends mails. Raises `OSError` when the file of authorities cannot be read."""
        if not self.smtp_host:
            return NoMailServer()
        return SmtpMailer(
            SmtpServer(
                host=self.smtp_host,
                port=self.smtp_port,
                encryption=self.smtp_encryption,
                sender=self.smtp_from,
                sender_name=self.smtp_from_name,
                user_name=self.smtp_user_name or None,
                password=self.smtp_password if self.smtp_password else None,
                ca=self.smtp_ca,
            )
        )


def settings_or_exit(kind: Callable[[], S], prefix: str) -> S:
    """Read the settings, or stop the process with one clear line per wrong setting. No value is ever printed."""
    try:
        return kind()
    except BadSetting as error:
        _exit([str(error)])
    except ValidationError as error:
        exit_for_wrong_settings(error, prefix)


def exit_for_wrong_settings(error: ValidationError, prefix: str) -> NoReturn:
    """Stop the process with one clear line per wrong setting."""
    _exit(
        [
            f"{_variable(finding['loc'], prefix)}: "
            + ("is required" if finding["type"] == "missing" else str(finding["msg"]))
            for finding in error.errors(include_url=False, include_input=False)
        ]
    )


def _variable(location: tuple[int | str, ...], prefix: str) -> str:
    name = str(location[0]) if location else ""
    return name if name.startswith("STRONGROOM_") else f"{prefix}{name}".upper()


def _exit(lines: list[str]) -> NoReturn:
    for line in lines:
        sys.stderr.write(f"wrong setting: {line}\n")
    raise SystemExit(2)
