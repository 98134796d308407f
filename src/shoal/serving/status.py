"""What a request can come to: the codes of gRPC, the HTTP status of each, and the error that carries one."""

from __future__ import annotations

from enum import IntEnum


class Code(IntEnum):
    """Status codes, numbered as in gRPC and in `tensorflow.error.Code`."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16

    @property
    def http(self) -> int:
        """The HTTP status that the REST API answers with; 500 for a code that has none of its own."""
        return _HTTP.get(self, 500)


_HTTP = {
    Code.OK: 200,
    Code.CANCELLED: 499,
    Code.INVALID_ARGUMENT: 400,
    Code.DEADLINE_EXCEEDED: 504,
    Code.NOT_FOUND: 404,
    Code.ALREADY_EXISTS: 409,
    Code.PERMISSION_DENIED: 403,
    Code.RESOURCE_EXHAUSTED: 429,
    Code.FAILED_PRECONDITION: 400,
    Code.ABORTED: 409,
    Code.OUT_OF_RANGE: 400,
    Code.UNIMPLEMENTED: 501,
    Code.UNAVAILABLE: 503,
    Code.UNAUTHENTICATED: 401,
}


class ServingError(Exception):
    """A request, or a model, that cannot be served. The message goes to the client as it is."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    def __reduce__(self) -> tuple[type[ServingError], tuple[Code, str]]:
        return ServingError, (self.code, self.message)  # else it could not be sent to another process

    def __str__(self) -> str:
        return f"{self.code.name}: {self.message}"


def invalid(message: str) -> ServingError:
    """An INVALID_ARGUMENT, the commonest error of all."""
    return ServingError(Code.INVALID_ARGUMENT, message)
