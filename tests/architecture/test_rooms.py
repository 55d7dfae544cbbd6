"""Facts about the tree that no linter states."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SERVICES = ("gateway", "identity", "secrets", "pki", "automation")
DISTRIBUTIONS = ("libs/common", *(f"services/{name}" for name in (*SERVICES, "standalone")))


def _sources() -> Iterator[Path]:
    for distribution in DISTRIBUTIONS:
        yield from (path for path in (ROOT / distribution).glob("strongroom_*/**/*.py"))


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_a_distribution_of_its_own(name: str) -> None:
    folder = ROOT / "services" / name
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]

    assert project["name"] == f"strongroom-{name}"
    assert project["version"]
    assert (folder / "CHANGELOG.md").read_text().startswith("# ")
    for file in ("__init__.py", "__main__.py", "settings.py", "service.py", "py.typed"):
        assert (folder / f"strongroom_{name}" / file).exists(), file


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_locks_pin_hash_and_carry_no_address(distribution: str) -> None:
    lock = (ROOT / distribution / "requirements.lock").read_text()

    assert "://" not in lock
    assert "--index-url" not in lock
    pins = re.findall(r"^([a-z0-9][a-z0-9._-]*)==", lock, re.MULTILINE | re.IGNORECASE)
    assert pins
    assert len(re.findall(r"--hash=sha256:", lock)) >= len(pins)
    assert not [pin for pin in pins if pin.startswith("strongroom")]


def test_the_packages_of_one_tree_are_pinned_to_one_version_each() -> None:
    found: dict[str, set[str]] = {}
    for distribution in DISTRIBUTIONS:
        for name, version in re.findall(
            r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", (ROOT / distribution / "requirements.lock").read_text(), re.MULTILINE
        ):
            found.setdefault(name.lower(), set()).add(version)
    assert {name: versions for name, versions in found.items() if len(versions) > 1} == {}


FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_IMPORTS = {"pickle", "marshal", "shelve", "dill", "yaml"}


def test_nothing_from_outside_can_become_code() -> None:
    """Threats class 25: no unsafe deserialization, no evaluated text, no shell."""
    found = []
    for path in _sources():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = (
                    [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
                )
                found += [f"{path}: imports {name}" for name in names if name.split(".")[0] in FORBIDDEN_IMPORTS]
            if isinstance(node, ast.Call):
                if isinstance(node.func, ast.Name) and node.func.id in FORBIDDEN_CALLS:
                    found.append(f"{path}:{node.lineno}: calls {node.func.id}")
                for keyword in node.keywords:
                    if keyword.arg == "shell" and not (
                        isinstance(keyword.value, ast.Constant) and keyword.value.value is False
                    ):
                        found.append(f"{path}:{node.lineno}: shell=")
    assert found == []


def test_production_code_arms_no_fault() -> None:
    armed = [
        str(path)
        for path in _sources()
        if "/testing/" not in str(path) and re.search(r"\bfaults\.(arm|disarm)\(", path.read_text())
    ]
    assert armed == []


def test_every_module_says_why_it_exists() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in _sources()
        if path.read_text().strip() and ast.get_docstring(ast.parse(path.read_text())) is None
    ]
    assert silent == []


def test_no_secret_is_compared_outside_crypto_and_the_secret_itself() -> None:
    found = [
        str(path.relative_to(ROOT))
        for path in _sources()
        if "compare_digest" in path.read_text() and not re.search(r"/(crypto|kernel)/", str(path))
    ]
    assert found == []
