"""Servers that tests need and the machine does not have yet."""

import os
import shutil
import subprocess
import sys
from pathlib import Path


def install_on_debian(*packages: str) -> None:
    """Install Debian's packages without starting their services; does nothing where that is not possible."""
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        return
    print(f"strongroom tests: installing {' '.join(packages)} with apt-get", file=sys.stderr, flush=True)  # noqa: T201 - said aloud: it changes the machine
    policy = Path("/usr/sbin/policy-rc.d")  # asked by every package before it starts a service; 101 forbids it
    ours = not policy.exists()
    if ours:
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
    try:
        quiet = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run([apt, "-q", "update"], env=quiet, check=False)
        command = [apt, "-q", "install", "--yes", "--no-install-recommends", *packages]
        subprocess.run(command, env=quiet, check=False)
    finally:
        if ours:
            policy.unlink()
