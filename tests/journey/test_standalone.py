"""How `standalone` starts, stops, dies and refuses to start."""

import os
import re
import signal
import socket
import stat
import threading
from typing import Any

import pytest
from journey.houses import Client, Standalone, bootstrap

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def place(standalone: Standalone) -> Any:
    """A running instance with a project: (client, query that names its dev environment)."""
    standalone.start()
    admin = bootstrap(standalone.url)
    project = admin.post_ok("/api/v1/projects", projectName="p")["project"]
    return admin, {"workspaceId": project["id"], "environment": "dev"}


def _values(client: Client, place: dict[str, str]) -> dict[str, str]:
    secrets = client.get_ok("/api/v3/secrets/raw", params=place)["secrets"]
    return {secret["secretKey"]: secret["secretValue"] for secret in secrets}


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_says_what_it_does_stops_cleanly_and_finds_everything_again(
    standalone: Standalone, how: signal.Signals
) -> None:
    first = standalone.start()
    assert re.search(r"made master keys in .*keys \(mode 0600\)", first.text().replace("\n", " "))
    assert "next: curl" in first.wait_for("next: ")
    for file in (standalone.data / "keys").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    admin = bootstrap(standalone.url)
    project = admin.post_ok("/api/v1/projects", projectName="p")["project"]
    place = {"workspaceId": project["id"], "environment": "dev"}
    admin.post_ok("/api/v3/secrets/raw/KEY", secretValue="kept", **place)

    assert first.stop(how) == 0
    again = standalone.start()
    assert "made master keys" not in again.text()
    assert _values(Client(standalone.url, admin.token), place) == {"KEY": "kept"}
    assert again.stop() == 0


def test_kill_9_in_the_middle_of_writes_loses_nothing_that_was_acknowledged(standalone: Standalone, place: Any) -> None:
    admin, query = place
    acknowledged: list[str] = []

    def write() -> None:
        for number in range(10_000):
            try:
                status, _ = admin(
                    "POST", f"/api/v3/secrets/raw/KEY_{number}", json={**query, "secretValue": f"v{number}"}
                )
            except OSError:
                return
            if status == 200:
                acknowledged.append(f"KEY_{number}")
                if len(acknowledged) == 30:
                    enough.set()

    enough = threading.Event()
    writer = threading.Thread(target=write)
    writer.start()
    assert enough.wait(30)
    standalone._processes[-1].kill()
    writer.join(30)

    standalone.start()
    values = _values(Client(standalone.url, admin.token), query)
    assert set(acknowledged) <= set(values)
    assert all(values[key] == "v" + key.removeprefix("KEY_") for key in values)


def test_a_busy_port_is_one_clear_line(standalone: Standalone) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        process = standalone.launch("--port", port, "--data", str(standalone.data))
        assert process.process.wait(20) == 1
    assert process.text().strip().splitlines() == [
        f"cannot start: cannot listen on 127.0.0.1:{port}: the port is in use; choose another one with PORT=..."
    ]
    assert not standalone.data.exists()


def test_a_folder_in_use_by_another_instance_is_one_clear_line(standalone: Standalone) -> None:
    standalone.start()
    second = standalone.launch()
    assert second.process.wait(30) == 1
    assert "in use by process" in second.text().strip().splitlines()[-1]


def test_a_folder_of_a_newer_release_is_one_clear_line(standalone: Standalone) -> None:
    standalone.data.mkdir()
    (standalone.data / "layout.json").write_text('{"layout": 99}')
    process = standalone.launch()
    assert process.process.wait(20) == 1
    assert "newer release" in process.text()
    assert len(process.text().strip().splitlines()) == 1


def test_a_folder_with_something_else_in_it_is_left_alone(standalone: Standalone) -> None:
    standalone.data.mkdir()
    (standalone.data / "thesis.txt").write_text("mine")
    process = standalone.launch()
    assert process.process.wait(20) == 1
    assert "holds something else (thesis.txt)" in process.text()
    assert [file.name for file in standalone.data.iterdir()] == ["thesis.txt"]


def test_a_place_that_cannot_be_a_folder_is_one_clear_line(standalone: Standalone) -> None:
    (standalone.folder / "file").write_text("")
    process = standalone.launch("--port", "0", "--data", str(standalone.folder / "file" / "data"))
    assert process.process.wait(20) == 1
    assert process.text().startswith("cannot start: cannot write to the data folder")
    assert len(process.text().strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("STRONGROOM_STANDALONE_LOG_LEVEL", "canary"),
        ("STRONGROOM_STANDALONE_MOST_BODY_BYTES", "canary"),
        ("STRONGROOM_STANDALONE_AUDIT_READS", "canary"),
    ],
)
def test_a_wrong_setting_is_one_clear_line_that_names_it(standalone: Standalone, variable: str, value: str) -> None:
    process = standalone.launch(environment={variable: value})
    assert process.process.wait(20) == 2
    assert process.text().startswith(f"wrong setting: {variable}: ")
    assert len(process.text().strip().splitlines()) == 1


def test_lost_keys_are_noticed_before_anything_is_written(standalone: Standalone) -> None:
    standalone.start().stop()
    os.remove(standalone.data / "keys" / "secrets.keys")
    process = standalone.launch()
    assert process.process.wait(20) == 1
    assert "secrets.keys is gone" in process.text()
    assert not (standalone.data / "keys" / "secrets.keys").exists()


def test_a_key_file_that_others_can_read_is_refused(standalone: Standalone) -> None:
    standalone.start().stop()
    (standalone.data / "keys" / "bus.keys").chmod(0o644)
    process = standalone.launch()
    assert process.process.wait(20) == 1
    assert "bus.keys" in process.text()
