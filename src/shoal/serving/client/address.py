"""Where a model server is: `HOST:PORT` asks over gRPC, and `http://…` over REST."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from shoal.serving.client.errors import ClientError

HOST, GRPC_PORT, REST_PORT = "127.0.0.1", 8500, 8501
_FORMS = "HOST:PORT and grpcs://HOST:PORT are gRPC, http://HOST:PORT and https://HOST are REST"


@dataclass(frozen=True, slots=True)
class Address:
    """`target` is `host:port` for gRPC, and the URL before `/v1/models` for REST. `secure`: by TLS."""

    rest: bool
    target: str
    secure: bool = False

    def __str__(self) -> str:
        return self.target

    @property
    def no_answer(self) -> str:
        """What to do where nobody answers there."""
        if self.secure:
            plain = f"http://{self.target.partition('://')[2]}" if self.rest else self.target
            return f"--ca names the certificates to trust; without TLS, it is --at {plain}"
        hint = "start a server with `shoal serve PATH`, or name one with --at"
        return hint if self.rest else f"{hint}; REST is another port, as in --at http://HOST:{REST_PORT}"


def parse(at: str | None, rest: bool = False) -> Address:
    """Read `--at`; None is the server of this machine at its usual ports. `rest` asks over REST where no scheme says
    how. Raises ClientError."""
    scheme, separator, place = at.partition("://") if at and "://" in at else ("", "", at or HOST)
    match scheme.lower():
        case "" | "grpc" | "grpcs":
            if rest and separator:
                raise ClientError(f"--at {at}: that is gRPC, and --rest asks for REST", "leave one of them out")
            host = _host(at, place, REST_PORT if rest else GRPC_PORT)
            return Address(rest, f"http://{host}" if rest else host, scheme.lower() == "grpcs")
        case "http" | "https" as known:
            # The server announces its address with the path that clients add by themselves.
            place = re.sub(r"(/v1(/models)?)?/*$", "", place)
            if "/v1/" in place or "?" in place or "#" in place:
                raise ClientError(f"--at {at}: name the server alone", "what comes before /v1/models")
            _host(at, place.partition("/")[0], 0)
            return Address(True, f"{known}://{place}", known == "https")
        case _:
            raise ClientError(f"--at {at}: no such scheme as {scheme}", _FORMS)


def _host(at: str | None, place: str, port: int) -> str:
    """`host:port` of a place that may leave out its port."""
    try:
        parts = urlsplit(f"//{place}")
        if parts.netloc != place or not parts.hostname:
            raise ValueError
        return place if parts.port is not None else f"{place.rstrip(':')}:{port}"
    except ValueError:
        raise ClientError(f"--at {at}: that is no host and port", _FORMS) from None
