"""A certificate authority for tests: servers that are what they say, and clients that show who they are."""

import ssl
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

BEGINNING = datetime(2020, 1, 1, tzinfo=UTC)
END = datetime(2120, 1, 1, tzinfo=UTC)
"""Certificates here are in force by the machine's clock and by a test's, unless a test wants something else."""

SERVER = ExtendedKeyUsageOID.SERVER_AUTH
CLIENT = ExtendedKeyUsageOID.CLIENT_AUTH


class Issued:
    """A certificate and its key, as PEM."""

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self.certificate = certificate.public_bytes(Encoding.PEM).decode()
        self.key = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()

    def server_context(self) -> ssl.SSLContext:
        """What a TLS server needs to show this certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory(prefix="strongroom-tls-") as folder:
            both = Path(folder) / "both.pem"
            both.touch(mode=0o600)
            both.write_text(self.certificate + self.key)
            context.load_cert_chain(both)
        return context


class Authority:
    """Issues what a test asks for, sensible or not."""

    def __init__(self, name: str = "Strongroom Tests", above: "Authority | None" = None) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        signer = above or self
        builder = _builder(self._name, signer._name, self._key, BEGINNING, END)
        usage = dict.fromkeys(_USAGES, False) | {"key_cert_sign": True, "crl_sign": True}
        builder = (
            builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(x509.KeyUsage(**usage), critical=True)
            .add_extension(_key_id_of(signer._key), critical=False)
        )
        certificate = builder.sign(signer._key, hashes.SHA256())
        self.certificate = certificate.public_bytes(Encoding.PEM).decode()
        """Its own certificate, as PEM."""

    def issue(
        self,
        common_name: str | None,
        *,
        names: Sequence[str] = (),
        usages: Sequence[ObjectIdentifier] = (SERVER,),
        begins: datetime = BEGINNING,
        ends: datetime = END,
    ) -> Issued:
        """Issue a certificate. `names` are host names and addresses; without `usages` it says nothing of its use."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)] if common_name is not None else [])
        builder = _builder(subject, self._name, key, begins, ends)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_key_id_of(self._key), critical=False)
        if names:
            alternatives = x509.SubjectAlternativeName([_general_name(name) for name in names])
            builder = builder.add_extension(alternatives, critical=common_name is None)
        if usages:
            builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        return Issued(builder.sign(self._key, hashes.SHA256()), key)


_USAGES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, begins: datetime, ends: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends - timedelta(seconds=1))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _key_id_of(key: ec.EllipticCurvePrivateKey) -> x509.AuthorityKeyIdentifier:
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
