"""Every knob of the secrets service: `STRONGROOM_SECRETS_...`."""

from pydantic_settings import SettingsConfigDict

from strongroom_common.runtime.settings import ServiceSettings


class SecretsSettings(ServiceSettings):
    """Read from the environment; each may stand in a file named by `..._FILE`."""

    model_config = SettingsConfigDict(env_prefix="STRONGROOM_SECRETS_", extra="ignore", frozen=True)
