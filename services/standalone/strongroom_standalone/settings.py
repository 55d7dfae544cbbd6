"""What `standalone` can be told: arguments first, then `STRONGROOM_STANDALONE_...`. Everything has a default."""

from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from strongroom_common.runtime.settings import CommonSettings, ListSetting


class StandaloneSettings(CommonSettings):
    """One process, one port, one folder."""

    model_config = SettingsConfigDict(env_prefix="STRONGROOM_STANDALONE_", extra="ignore", frozen=True)

    log_level: Literal["debug", "info", "warning", "error"] = Field("warning", description="The least that is logged.")
    log_format: Literal["json", "console"] = Field("console", description="`json` for machines, `console` for people.")
    port: int = Field(8080, ge=0, le=65535, description="The port to listen on; 0 takes a free one.")
    internal_port: int | None = Field(
        None, ge=0, le=65535, description="The port of /livez, /readyz and /metrics; none is opened by default."
    )
    data: Path = Field(Path("data"), description="The folder that holds databases and keys.")
    trusted_proxies: ListSetting = Field((), description="Proxies in front whose forwarding headers are believed.")
    egress_allow: ListSetting = Field(
        (),
        validation_alias="STRONGROOM_EGRESS_ALLOW",
        description="Comma list of CIDRs and host patterns that user-given outbound addresses may reach nevertheless.",
    )
    audit_reads: Literal["durable", "relaxed"] = Field(
        "durable", description="`relaxed` answers a read before its audit record is on disk."
    )
