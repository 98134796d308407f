"""What can go wrong between a user, a file and a model server, as sentences."""

from __future__ import annotations

from collections.abc import Iterable

from shoal.serving.status import Code


class ClientError(Exception):
    """Something cannot be asked, or was not answered. `hint` says what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class Unanswered(ClientError):
    """The server did not answer within the time that it was given."""


class Refused(ClientError):
    """The server answered that it cannot, with a code of gRPC's."""

    def __init__(self, code: Code, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.code = code


def unknown(what: str, name: str, choices: Iterable[str]) -> ClientError:
    """An error that a name is none of those that there are."""
    from shoal.resources.suggestion import nearest

    known = sorted(choices)
    meant = nearest(name, known)
    listed = f"there are: {', '.join(known)}" if known else "there is none"
    return ClientError(f"no {what} {name}", f"did you mean {meant}?" if meant else listed)
