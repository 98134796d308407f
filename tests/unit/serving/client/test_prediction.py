"""A prediction in batches, by a server that changes its mind between them; real ones do so too seldom to wait for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from shoal.serving.client.connection import Asked, Metadata, ModelVersion, Signature, tensor_spec
from shoal.serving.client.errors import ClientError, Refused
from shoal.serving.client.inputs import Given
from shoal.serving.client.prediction import predict
from shoal.serving.client.sources import Setting
from shoal.serving.status import Code
from tests.unit.serving.client.signatures import signature

FIVE = Given(settings=[Setting("x", "[1, 2, 3, 4, 5]")])


@dataclass
class ChangingServer:
    """Answers x + its version, and forgets a version once it has answered `patience` requests."""

    patience: int
    taken: Signature = field(default_factory=lambda: signature(x=("FLOAT", [-1])))
    version: int = 1
    asked: list[tuple[int | None, list[float]]] = field(default_factory=list)

    def metadata(self, asked: Asked) -> Metadata:
        return Metadata.of(self.version, [self.taken])

    def predict(
        self, asked: Asked, signature: Signature, inputs: Mapping[str, np.ndarray], outputs: Sequence[str]
    ) -> dict[str, np.ndarray]:
        if len([version for version, _ in self.asked if version == self.version]) == self.patience:
            self.version += 1
        if asked.version != self.version:
            raise Refused(Code.NOT_FOUND, f"version {asked.version} has gone")
        self.asked.append((asked.version, inputs["x"].tolist()))
        return {"y": inputs["x"] + np.float32(self.version)}

    def versions(self, asked: Asked) -> list[ModelVersion]:
        return []

    def models(self) -> dict[str, list[ModelVersion]] | None:
        return None

    def close(self) -> None:
        pass


def test_batches_come_in_order_and_are_put_together():
    server, progress = ChangingServer(10), []
    answer = predict(server, Asked("m"), FIVE, batch_size=2, progress=lambda *done: progress.append(done))
    assert server.asked == [(1, [1, 2]), (1, [3, 4]), (1, [5])]
    assert progress == [(2, 5), (4, 5), (5, 5)]
    assert answer.outputs["y"].tolist() == [2, 3, 4, 5, 6]


def test_without_a_batch_size_there_is_one_request():
    server = ChangingServer(10)
    predict(server, Asked("m"), FIVE)
    predict(server, Asked("m"), FIVE, batch_size=5)
    assert server.asked == [(1, [1, 2, 3, 4, 5])] * 2


def test_an_answer_never_mixes_versions():
    server = ChangingServer(2)  # of three batches, the third comes too late
    with pytest.raises(Refused, match="version 3 has gone"):
        predict(server, Asked("m"), FIVE, batch_size=2)
    server = ChangingServer(4)
    predict(server, Asked("m"), FIVE, batch_size=2)
    answer = predict(server, Asked("m"), FIVE, batch_size=2)
    assert (answer.version, answer.outputs["y"].tolist()) == (2, [3, 4, 5, 6, 7])


def test_a_version_that_was_named_is_not_replaced():
    server = ChangingServer(1)
    with pytest.raises(Refused, match="version 1 has gone"):
        predict(server, Asked("m", 1), FIVE, batch_size=2)
    assert server.asked == [(1, [1, 2])]


def test_inputs_and_outputs_without_a_row_for_each_row():
    uneven = Given(settings=[*FIVE.settings, Setting("w", "[1, 2]")])
    server = ChangingServer(10, signature(x=("FLOAT", [-1]), w=("FLOAT", [-1])))
    with pytest.raises(ClientError, match="inputs differ in their number of rows: x 5, w 2"):
        predict(server, Asked("m"), uneven, batch_size=2)

    fixed = ChangingServer(10, signature(x=("FLOAT", [-1]), w=("FLOAT", [2])))
    assert predict(fixed, Asked("m"), uneven, batch_size=2).outputs["y"].tolist() == [2, 3, 4, 5, 6]

    class Summing(ChangingServer):
        def predict(self, *words):
            return {"y": super().predict(*words)["y"].sum()}

    with pytest.raises(ClientError, match=r"output y has shape \[\] for 2 rows"):
        predict(Summing(10), Asked("m"), FIVE, batch_size=2)


def test_the_signature_and_the_outputs_are_those_that_there_are():
    with pytest.raises(ClientError, match="no signature other") as fault:
        predict(ChangingServer(1), Asked("m"), FIVE, "other")
    assert fault.value.hint == "there are: serving_default"
    with pytest.raises(ClientError, match="no output z"):
        predict(ChangingServer(1), Asked("m"), FIVE, outputs=["z"])


def test_types_by_number_and_by_name():
    assert tensor_spec(14, None).type == tensor_spec("DT_BFLOAT16", None).type == "bfloat16"
    assert tensor_spec(1, [-1, 2]) == tensor_spec("DT_FLOAT", [-1, 2])
    assert (tensor_spec(99, None).type, tensor_spec("DT_NEW", None).dtype) == ("99", None)
