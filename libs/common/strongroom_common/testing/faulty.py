"""Run a module of ours in a process that dies, without a word, at a named place.

`python -m strongroom_common.testing.faulty PLACE TRIGGER MODULE [ARGUMENT ...]`: as soon as the file TRIGGER exists,
the next time PLACE is reached (see `kernel.faults`) the process kills itself with SIGKILL.
"""

import os
import runpy
import signal
import sys
from pathlib import Path

from strongroom_common.kernel import faults


def main(place: str, trigger: str, module: str, *arguments: str) -> None:
    """Arm the fault and become the module."""

    def die() -> None:
        if Path(trigger).exists():
            os.kill(os.getpid(), signal.SIGKILL)

    faults.arm(place, die)
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
