"""Every knob of the identity service: `STRONGROOM_IDENTITY_...`."""

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from strongroom_common.runtime.settings import ServiceSettings


class IdentitySettings(ServiceSettings):
    """Read from the environment; each may stand in a file named by `..._FILE`."""

    model_config = SettingsConfigDict(env_prefix="STRONGROOM_IDENTITY_", extra="ignore", frozen=True)

    password_hashes_at_once: int = Field(
        2, ge=1, le=64, description="How many passwords are hashed at the same time; each takes 64 MiB meanwhile."
    )
