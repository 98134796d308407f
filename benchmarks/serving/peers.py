"""Other model servers with the same model: python peers.py NAME MODEL PORT, in the environment of each.

Each runs the model as its documentation says for a Python model, in one process, without batching.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np


def load(model: str) -> Any:
    import tensorflow as tf

    loaded = tf.saved_model.load(f"{model}/1")
    answer = loaded.signatures["serving_default"]

    def run(rows: Any) -> list[Any]:
        assert loaded  # its variables go with it
        return answer(x=tf.constant(np.asarray(rows, np.float32)))["y"].numpy().tolist()

    return run


def litserve(model: str, port: int) -> None:
    folder = Path(tempfile.mkdtemp())
    (folder / "api.py").write_text(  # it sends the class to other processes, so it must be found in a module
        "import litserve, sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from peers import load\n"
        "class Api(litserve.LitAPI):\n"
        f"    def setup(self, device): self.run = load({model!r})\n"
        "    def decode_request(self, request): return request['x']\n"
        "    def predict(self, x): return self.run(x)\n"
        "    def encode_response(self, output): return {'y': output}\n"
        "if __name__ == '__main__':\n"
        "    server = litserve.LitServer(Api(), accelerator='cpu', workers_per_device=1)\n"
        f"    server.run(host='127.0.0.1', port={port}, num_api_servers=1, generate_client_file=False)\n"
    )
    os.execv(sys.executable, [sys.executable, str(folder / "api.py")])


def bentoml(model: str, port: int) -> None:
    folder = Path(tempfile.mkdtemp())
    (folder / "service.py").write_text(
        "import bentoml, sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from peers import load\n"
        "@bentoml.service(workers=1)\n"
        "class Service:\n"
        f"    def __init__(self): self.run = load({model!r})\n"
        "    @bentoml.api\n"
        "    def predict(self, x: list) -> list: return self.run(x)\n"
    )
    command = [str(Path(sys.executable).with_name("bentoml")), "serve", "service:Service"]
    os.chdir(folder)
    os.execv(command[0], [*command, "--host", "127.0.0.1", "--port", str(port)])


def mlserver(model: str, port: int) -> None:
    folder = Path(tempfile.mkdtemp())
    settings = {"host": "127.0.0.1", "http_port": port, "grpc_port": port + 1, "metrics_port": port + 2, "debug": False}
    (folder / "settings.json").write_text(json.dumps({**settings, "parallel_workers": 0}))
    (folder / "model-settings.json").write_text(json.dumps({"name": "m", "implementation": "runtime.Runtime"}))
    (folder / "runtime.py").write_text(
        "import sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from peers import load\n"
        "from mlserver import MLModel\n"
        "from mlserver.codecs import NumpyCodec\n"
        "import numpy\n"
        "from mlserver.types import InferenceResponse\n"
        "class Runtime(MLModel):\n"
        "    async def load(self):\n"
        f"        self.run = load({model!r})\n"
        "        return True\n"
        "    async def predict(self, request):\n"
        "        y = numpy.asarray(self.run(NumpyCodec.decode_input(request.inputs[0])))\n"
        "        return InferenceResponse(model_name='m', outputs=[NumpyCodec.encode_output('y', y)])\n"
    )
    command = [str(Path(sys.executable).with_name("mlserver")), "start", str(folder)]
    os.chdir(folder)
    os.execv(command[0], command)


def kserve(model: str, port: int) -> None:
    from kserve import Model, ModelServer

    class Served(Model):
        def __init__(self) -> None:
            super().__init__("m")
            self.run = load(model)
            self.ready = True

        def predict(self, payload: Any, headers: Any = None, response_headers: Any = None) -> Any:
            return {"predictions": self.run(payload["instances"])}

    ModelServer(http_port=port, workers=1, enable_grpc=False, access_log_format=None).start([Served()])


PEERS = {
    "KServe": (kserve, "/v1/models/m:predict", "instances"),
    "MLServer": (mlserver, "/v2/models/m/infer", "v2"),
    "LitServe": (litserve, "/predict", "x"),
    "BentoML": (bentoml, "/predict", "x"),
}
"""By name what serves, the path to ask, and the form of the body."""

if __name__ == "__main__":
    PEERS[sys.argv[1]][0](sys.argv[2], int(sys.argv[3]))
