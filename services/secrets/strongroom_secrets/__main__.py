"""`python -m strongroom_secrets serve | migrate | check | settings | dead-letters`."""

from strongroom_common.runtime.cli import service_app
from strongroom_secrets.service import MIGRATIONS, build
from strongroom_secrets.settings import SecretsSettings

app = service_app("secrets", SecretsSettings, build, MIGRATIONS)

if __name__ == "__main__":
    app()
