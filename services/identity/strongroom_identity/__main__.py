"""`python -m strongroom_identity serve | migrate | check | settings | dead-letters`."""

from strongroom_common.runtime.cli import service_app
from strongroom_identity.service import MIGRATIONS, build
from strongroom_identity.settings import IdentitySettings

app = service_app("identity", IdentitySettings, build, MIGRATIONS)

if __name__ == "__main__":
    app()
