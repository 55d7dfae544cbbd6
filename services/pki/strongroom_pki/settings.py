"""Every knob of the pki service: `STRONGROOM_PKI_...`."""

from pydantic_settings import SettingsConfigDict

from strongroom_common.runtime.settings import ServiceSettings


class PkiSettings(ServiceSettings):
    """Read from the environment; each may stand in a file named by `..._FILE`."""

    model_config = SettingsConfigDict(env_prefix="STRONGROOM_PKI_", extra="ignore", frozen=True)
