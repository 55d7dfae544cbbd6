"""`python -m strongroom_automation serve | migrate | check | settings | dead-letters`."""

from strongroom_automation.service import MIGRATIONS, build
from strongroom_automation.settings import AutomationSettings
from strongroom_common.runtime.cli import service_app

app = service_app("automation", AutomationSettings, build, MIGRATIONS)

if __name__ == "__main__":
    app()
