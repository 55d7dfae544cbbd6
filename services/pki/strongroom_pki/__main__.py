"""`python -m strongroom_pki serve | migrate | check | settings | dead-letters`."""

from strongroom_common.runtime.cli import service_app
from strongroom_pki.service import MIGRATIONS, build
from strongroom_pki.settings import PkiSettings

app = service_app("pki", PkiSettings, build, MIGRATIONS)

if __name__ == "__main__":
    app()
