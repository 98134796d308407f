"""Certificates of our own, for the webhook and for the broker of GPUs, and when they are renewed. Pure: what is kept
comes in, what is to be kept goes out.

The API server trusts every authority in a bundle, and that bundle reaches it some time after it was written. So a new
authority stands in the bundle for a while before anything is signed by it, and an old one stays until it expires,
which is later than all that it has signed. At no moment is a certificate served that the API server does not know.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CLOCKS_APART = timedelta(minutes=5)
"""Certificates are valid from so long before they are made: clocks of machines differ."""


@dataclass(frozen=True, slots=True)
class Lives:
    """How long certificates live, and how long a new authority must have been known before it signs."""

    authority: timedelta = timedelta(days=365)
    serving: timedelta = timedelta(days=30)
    settling: timedelta = timedelta(minutes=10)


LIVES = Lives()


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: EllipticCurvePrivateKey

    @property
    def made(self) -> datetime:
        return self.certificate.not_valid_before_utc + CLOCKS_APART

    @property
    def end(self) -> datetime:
        return self.certificate.not_valid_after_utc

    def due(self, now: datetime) -> bool:
        """Whether two thirds of its life are over."""
        return now >= self.made + (self.end - self.made) * 2 / 3

    @property
    def certificate_pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        form = serialization.PrivateFormat.PKCS8
        return self.key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


@dataclass(frozen=True, slots=True)
class Chain:
    """What all operators share: the authorities that are trusted, newest first, and the certificate that they serve."""

    authorities: tuple[Pair, ...]
    serving: Pair

    @property
    def bundle(self) -> bytes:
        """What the API server is to trust, in PEM."""
        return b"".join(authority.certificate_pem for authority in self.authorities)

    def pack(self) -> dict[str, bytes]:
        """As a Secret keeps it; `unpack` reads it again."""
        return {
            "ca.crt": self.bundle,
            "ca.key": b"".join(authority.key_pem for authority in self.authorities),
            "tls.crt": self.serving.certificate_pem,
            "tls.key": self.serving.key_pem,
        }


def unpack(kept: Mapping[str, bytes]) -> Chain:
    """Raises ValueError where this is nothing that `Chain.pack` has written, or its parts do not belong together."""
    try:
        certificates = x509.load_pem_x509_certificates(kept["ca.crt"])
        keys = [_key(part) for part in _parts(kept["ca.key"])]
        authorities = tuple(Pair(*both) for both in zip(certificates, keys, strict=True))
        serving = Pair(x509.load_pem_x509_certificate(kept["tls.crt"]), _key(kept["tls.key"]))
        names = serving.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except (KeyError, TypeError, x509.ExtensionNotFound) as fault:
        raise ValueError(f"{type(fault).__name__}: {fault}") from fault
    for pair in (*authorities, serving):
        if pair.certificate.public_key() != pair.key.public_key():
            raise ValueError("a key that belongs to another certificate")
    if not names.value or not any(_signed(serving.certificate, each.certificate) for each in authorities):
        raise ValueError("a certificate that none of the authorities has signed")
    return Chain(authorities, serving)


def renew(kept: Chain | None, hosts: Iterable[str], now: datetime, lives: Lives) -> Chain:
    """What is to be kept from now on; `kept` itself while nothing is due. `hosts` are names and addresses."""
    authorities = [each for each in kept.authorities if each.end > now] if kept else []
    if not authorities or authorities[0].due(now):
        authorities.insert(0, _authority(now, lives))
    serving = kept.serving if kept else None
    if serving is None or not _serves(serving, authorities, hosts) or serving.due(now):
        serving = _serving(_signer(authorities, now, lives), hosts, now, lives)
    renewed = Chain(tuple(authorities), serving)
    return kept if kept == renewed else renewed


def trusts(bundle: bytes, certificate: x509.Certificate) -> bool:
    """Whether who trusts `bundle`, in PEM, trusts the certificate. What cannot be read trusts nothing."""
    try:
        authorities = x509.load_pem_x509_certificates(bundle)
    except ValueError:
        return False
    return any(_signed(certificate, each) for each in authorities)


def _signer(authorities: list[Pair], now: datetime, lives: Lives) -> Pair:
    """The newest authority that all who trust must have heard of."""
    return next((each for each in authorities if now >= each.made + lives.settling), authorities[-1])


def _serves(serving: Pair, authorities: list[Pair], hosts: Iterable[str]) -> bool:
    names = serving.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    named = all(_general_name(host) in names for host in hosts)
    return named and any(_signed(serving.certificate, each.certificate) for each in authorities)


def _signed(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _authority(now: datetime, lives: Lives) -> Pair:
    key = generate_private_key(SECP256R1())
    # A name of its own: OpenSSL and Go look issuers up by name, and two of one name would be one too many.
    name = _name(f"shoal authority {x509.random_serial_number():x}")
    builder = _builder(name, name, key, now, now + lives.authority)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(signs=True), critical=True)
    return Pair(builder.sign(key, hashes.SHA256()), key)


def _serving(signer: Pair, hosts: Iterable[str], now: datetime, lives: Lives) -> Pair:
    key = generate_private_key(SECP256R1())
    end = min(now + lives.serving, signer.end)
    builder = _builder(_name("shoal"), signer.certificate.subject, key, now, end)
    names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(signs=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    builder = builder.add_extension(names, critical=False)
    return Pair(builder.sign(signer.key, hashes.SHA256()), key)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: EllipticCurvePrivateKey, now: datetime, end: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCKS_APART)
        .not_valid_after(end)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:64])])


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _parts(pem: bytes) -> list[bytes]:
    """The keys of a file that holds several."""
    end = b"-----END PRIVATE KEY-----\n"
    return [part + end for part in pem.split(end)[:-1]]


def _key(pem: bytes) -> EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(pem, password=None)
    if not isinstance(key, EllipticCurvePrivateKey):
        raise ValueError("a key of another kind")
    return key
