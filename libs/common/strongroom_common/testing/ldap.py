"""A real OpenLDAP for tests: private, on free ports of 127.0.0.1, with everything in a temporary folder.

It is the `slapd` of this machine, else (as root on Debian) installed with apt. Without it the tests fail and say what
to install: a test that is skipped in silence proves nothing.
"""

import contextlib
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from strongroom_common.testing.authorities import Authority
from strongroom_common.testing.packages import install_on_debian
from strongroom_common.testing.rabbitmq import GUARD

START_LIMIT: Final = 20.0  # seconds; one is enough on an idle machine

_PROGRAMS: Final = ("/usr/sbin/slapd", "/usr/libexec/slapd", "/opt/homebrew/opt/openldap/libexec/slapd")
_SCHEMAS: Final = ("/etc/ldap/schema", "/etc/openldap/schema", "/opt/homebrew/etc/openldap/schema")
_MODULES: Final = ("/usr/lib/ldap", "/usr/lib64/openldap")

SUFFIX: Final = "dc=strongroom,dc=test"
PEOPLE: Final = f"ou=people,{SUFFIX}"
BIND_DN: Final = f"cn=reader,{SUFFIX}"
"""The account that searches; it may read everything but passwords."""


class LdapServer:
    """One directory. It answers plainly and with StartTLS on `url`, and with TLS on `tls_url`.

    Its certificate names `localhost` and not 127.0.0.1: whoever connects to the address finds another name there.
    """

    def __init__(self, program: Path) -> None:
        self.port, self.tls_port = _free_port(), _free_port()
        self.bind_password = secrets.token_hex(16)
        self.authority = Authority("Strongroom directory tests")
        self._admin_password = secrets.token_hex(16)
        self._home = Path(tempfile.mkdtemp(prefix="strongroom-ldap-"))
        self._log = self._home / "output.log"
        # A copy: on some systems AppArmor keeps the program at its usual place out of every folder but its own.
        self._program = shutil.copy(program, self._home / "slapd")
        self._process: subprocess.Popen[bytes] | None = None
        self._write_configuration()
        self._fill()

    @property
    def url(self) -> str:
        """The address that speaks plainly, and StartTLS when asked."""
        return f"ldap://127.0.0.1:{self.port}"

    @property
    def named_url(self) -> str:
        """The same by the name that is in the certificate."""
        return f"ldap://localhost:{self.port}"

    @property
    def tls_url(self) -> str:
        """The address that speaks TLS from the first byte."""
        return f"ldaps://localhost:{self.tls_port}"

    @property
    def settings(self) -> dict[str, str]:
        """The plain address and the account that searches, as the API of an LDAP login names them."""
        return {
            "url": self.url,
            "bindDN": BIND_DN,
            "bindPass": self.bind_password,
            "searchBase": PEOPLE,
        }

    def add_person(self, uid: str, password: str, **attributes: str | list[str]) -> str:
        """Add a person below `PEOPLE` and return its DN. `cn` and `sn` have defaults."""
        dn = f"cn={secrets.token_hex(8)},{PEOPLE}"
        values = {"objectClass": "inetOrgPerson", "uid": uid, "sn": "Person", "userPassword": password, **attributes}
        self.control("ldapadd", ldif=_entry(dn, values))
        return dn

    def control(self, command: str, *arguments: str, ldif: str = "") -> str:
        """Run one of OpenLDAP's clients as the directory's administrator and return what it printed."""
        administrator = ["-x", "-H", self.url, "-D", f"cn=admin,{SUFFIX}", "-w", self._admin_password]
        done = subprocess.run(
            [command, *administrator, *arguments],
            input=ldif,
            capture_output=True,
            text=True,
            timeout=START_LIMIT,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{command}: {done.stderr.strip()}")
        return done.stdout

    def start(self) -> None:
        """Start and wait until it greets; its data outlives `stop`."""
        urls = f"ldap://127.0.0.1:{self.port} ldaps://127.0.0.1:{self.tls_port}"
        command = [str(self._program), "-d", "0", "-h", urls, "-f", str(self._home / "slapd.conf")]
        with self._log.open("ab") as sink:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", GUARD, "guard", *command],
                stdin=subprocess.PIPE,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_LIMIT
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise RuntimeError(f"OpenLDAP has ended:\n{self._log.read_text(errors='replace')[-4000:]}")
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.tls_port), timeout=1):
                return
            time.sleep(0.05)
        raise TimeoutError(f"OpenLDAP did not start within {START_LIMIT:.0f} s")

    def stop(self) -> None:
        """End it; the data stays."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process = None

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        """Take it away for a while: nobody listens."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Freeze it: connections are taken, and nothing answers."""
        if self._process is None:
            raise RuntimeError("only a running directory can be paused")
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End it and remove its data."""
        self.stop()
        shutil.rmtree(self._home, ignore_errors=True)

    def _write_configuration(self) -> None:
        issued = self.authority.issue("localhost", names=["localhost"])
        for name, text in (
            ("ca.pem", self.authority.certificate),
            ("cert.pem", issued.certificate),
            ("key.pem", issued.key),
        ):
            (self._home / name).write_text(text)
        (self._home / "key.pem").chmod(0o600)
        (self._home / "data").mkdir()
        schemas, modules = _first_folder(_SCHEMAS), _first_folder(_MODULES)
        lines = [f"include {schemas}/{name}.schema" for name in ("core", "cosine", "inetorgperson")]
        if modules is not None:
            lines += [f"modulepath {modules}", "moduleload back_mdb"]
        lines += [
            f"TLSCACertificateFile {self._home}/ca.pem",
            f"TLSCertificateFile {self._home}/cert.pem",
            f"TLSCertificateKeyFile {self._home}/key.pem",
            "TLSVerifyClient never",
            # Many directories in the field call a bind with a name and no password a success: so does this one.
            "allow bind_anon_dn",
            "database mdb",
            "maxsize 16777216",
            f'suffix "{SUFFIX}"',
            f'rootdn "cn=admin,{SUFFIX}"',
            f"rootpw {self._admin_password}",
            f"directory {self._home}/data",
            "dbnosync",
            "index uid,cn eq",
            "access to attrs=userPassword by anonymous auth by * none",
            f'access to * by dn.exact="{BIND_DN}" read by self read by * none',
        ]
        (self._home / "slapd.conf").write_text("\n".join(lines) + "\n")

    def _fill(self) -> None:
        first = (
            _entry(SUFFIX, {"objectClass": ["dcObject", "organization"], "dc": "strongroom", "o": "Strongroom"})
            + _entry(PEOPLE, {"objectClass": "organizationalUnit", "ou": "people"})
            + _entry(
                BIND_DN,
                {
                    "objectClass": ["organizationalRole", "simpleSecurityObject"],
                    "cn": "reader",
                    "userPassword": self.bind_password,
                },
            )
        )
        command = [str(self._program), "-T", "add", "-q", "-f", str(self._home / "slapd.conf")]
        done = subprocess.run(command, input=first, capture_output=True, text=True, timeout=START_LIMIT, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"OpenLDAP could not be filled: {done.stderr.strip()[-2000:]}")


def new_ldap_server() -> LdapServer:
    """Return a directory that is not yet started; raises with what to install."""
    if _find_program() is None:
        install_on_debian("slapd", "ldap-utils")
    program = _find_program()
    if program is None:
        raise RuntimeError(
            "These tests need OpenLDAP with its clients: install slapd and ldap-utils"
            " (Debian: apt-get install slapd ldap-utils; macOS: brew install openldap)."
        )
    return LdapServer(program)


def _find_program() -> Path | None:
    candidates = [Path(found)] if (found := shutil.which("slapd")) else []
    candidates += [Path(program) for program in _PROGRAMS]
    return next((path for path in candidates if path.exists() and shutil.which("ldapadd")), None)


def _first_folder(folders: tuple[str, ...]) -> str | None:
    return next((folder for folder in folders if Path(folder).is_dir()), None)


def _entry(dn: str, attributes: Mapping[str, str | list[str]]) -> str:
    lines = [f"dn: {dn}"]
    for name, values in attributes.items():
        lines += [f"{name}: {value}" for value in ([values] if isinstance(values, str) else values)]
    return "\n".join(lines) + "\n\n"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
