"""The data folder: who made it, with which layout, and the master keys in it."""

import os
from collections.abc import Callable
from pathlib import Path

import orjson

from strongroom_common.crypto.keyring import BadKeyring, Keyring
from strongroom_common.kernel.secret import Secret
from strongroom_common.runtime.process import CannotStart

LAYOUT = 1
KEYRINGS = ("identity", "secrets", "pki", "automation", "bus")


class DataFolder:
    """Everything that must survive: `postgres/`, `keys/` and `layout.json`."""

    def __init__(self, path: Path, say: Callable[[str], None]) -> None:
        self.path = path.expanduser().resolve()
        self._say = say

    @property
    def postgres(self) -> Path:
        """The database server's own folder."""
        return self.path / "postgres"

    def claim(self) -> None:
        """Make the folder, or see that it is one of ours that this release can read."""
        try:
            # Root's database server runs under an account that has to pass through; what lies inside is private.
            self.path.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700, parents=True, exist_ok=True)
            layout = self.path / "layout.json"
            if layout.exists():
                made_with = orjson.loads(layout.read_bytes()).get("layout")
                if not isinstance(made_with, int) or made_with > LAYOUT:
                    raise CannotStart(
                        f"{self.path} was written by a newer release (layout {made_with}, this one knows {LAYOUT}): "
                        "start that release, or name another folder"
                    )
                return
            strangers = [entry.name for entry in self.path.iterdir() if entry.name not in {"postgres", "keys"}]
            if strangers:
                raise CannotStart(f"{self.path} holds something else ({strangers[0]}): name an empty or a new folder")
            _write(layout, orjson.dumps({"layout": LAYOUT}))
        except OSError as error:
            raise CannotStart(f"cannot write to the data folder {self.path}: {error.strerror}") from None
        except orjson.JSONDecodeError:
            raise CannotStart(f"{self.path / 'layout.json'} is damaged: restore the folder from a backup") from None

    def keyrings(self) -> dict[str, Secret]:
        """Return the text of each keyring; on the first start, make them (mode 0600) and say so."""
        folder = self.path / "keys"
        has_database = (self.postgres / "data").exists()
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            made = []
            for name in KEYRINGS:
                file = folder / f"{name}.keys"
                if file.exists():
                    continue
                if has_database:
                    raise CannotStart(
                        f"{file} is gone, and what the database holds cannot be read without it: "
                        "restore it from a backup"
                    )
                Keyring.generate().write_new(file)
                made.append(file.name)
            if made:
                self._say(f"made master keys in {folder} (mode 0600): back them up, without them the data is lost")
            return {name: Keyring.read(folder / f"{name}.keys").to_text() for name in KEYRINGS}
        except BadKeyring as error:
            raise CannotStart(str(error)) from None
        except OSError as error:
            raise CannotStart(f"cannot keep keys in {folder}: {error.strerror}") from None


def _write(path: Path, content: bytes) -> None:
    new = path.with_suffix(".new")
    new.write_bytes(content)
    new.rename(path)
