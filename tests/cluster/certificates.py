"""Certificate authorities and certificates of a test cluster; tests sign their webhooks' certificates here, too.

Keys are elliptic (P-256): making an RSA key takes longer than starting etcd.
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = datetime.timedelta(days=30)


@dataclass(frozen=True)
class Certificate:
    """Two PEM files: a certificate and its private key."""

    cert: Path
    key: Path


class Authority:
    """A certificate authority whose files lie in `folder`, named after what they are for."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        own = _unsigned(self._name, self._name, self._key.public_key())
        own = own.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        own = own.add_extension(_usage(signs=True), critical=True)
        self.certificate = Certificate(folder / f"{name}.crt", folder / f"{name}.key")
        _write(self.certificate, own.sign(self._key, hashes.SHA256()), self._key)

    def issue(self, name: str, groups: Iterable[str] = (), hosts: Iterable[str] = (), file: str = "") -> Certificate:
        """A certificate for the user `name` in `groups`, or for a server reached as `hosts` (names or addresses)."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in groups]
        subject.append(x509.NameAttribute(NameOID.COMMON_NAME, name))
        builder = _unsigned(x509.Name(subject), self._name, key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_usage(signs=False), critical=True)
        purposes = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        if names := [_host(each) for each in hosts]:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        stem = file or name.replace(":", "-")
        made = Certificate(self.folder / f"{stem}.crt", self.folder / f"{stem}.key")
        _write(made, builder.sign(self._key, hashes.SHA256()), key)
        return made


def _unsigned(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        # Clocks of machines that share a cluster differ by seconds.
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + LIFETIME)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _write(place: Certificate, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
    place.cert.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    place.key.touch(0o600)
    place.key.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
