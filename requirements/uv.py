"""Run the uv in this environment with what pip is told: uv reads no pip configuration, and a site that has its own
registry or certificates has told pip. What is set for uv itself wins.

    python requirements/uv.py pip install ...
"""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

FROM_PIP = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
}
OLD_NAMES = {"UV_DEFAULT_INDEX": "UV_INDEX_URL", "UV_INDEX": "UV_EXTRA_INDEX_URL"}


def pip_settings() -> dict[str, str]:
    """What pip would use to install: its files, then its environment."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], check=True, capture_output=True, text=True
    ).stdout
    found: dict[str, dict[str, str]] = {}
    for section, name, value in re.findall(r"^(global|install|:env:)\.([a-z-]+)='(.*)'$", listed, re.MULTILINE):
        found.setdefault(section, {})[name] = value
    return {**found.get("global", {}), **found.get("install", {}), **found.get(":env:", {})}


def main() -> None:
    """Become uv."""
    environment = dict(os.environ)  # noqa: TID251 - a tool of the tree, not of the product
    for name, value in pip_settings().items():
        variable = FROM_PIP.get(name)
        if variable and not environment.get(variable) and not environment.get(OLD_NAMES.get(variable, "")):
            # pip separates by white space and line ends, uv by white space, except for these two.
            values = value.replace("\\n", " ").split()
            environment[variable] = ("," if variable == "UV_FIND_LINKS" else " ").join(values)
    uv = Path(sysconfig.get_path("scripts"), "uv")
    os.execve(uv, [str(uv), *sys.argv[1:]], environment)  # noqa: S606 - the program that requirements/uv.txt pins


main()
