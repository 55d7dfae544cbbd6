"""Every knob of the automation service: `STRONGROOM_AUTOMATION_...`."""

from pydantic_settings import SettingsConfigDict

from strongroom_common.runtime.settings import ServiceSettings


class AutomationSettings(ServiceSettings):
    """Read from the environment; each may stand in a file named by `..._FILE`."""

    model_config = SettingsConfigDict(env_prefix="STRONGROOM_AUTOMATION_", extra="ignore", frozen=True)
