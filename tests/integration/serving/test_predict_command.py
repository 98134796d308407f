"""`shoal predict` and `shoal models` against a real server, over both protocols and in every form."""

from __future__ import annotations

import io
import json
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import grpc
import httpx2
import numpy as np
import pytest
from google.protobuf.descriptor import Descriptor
from PIL import Image
from tensorflow.core.framework import tensor_pb2, tensor_shape_pb2
from tensorflow.core.protobuf import meta_graph_pb2
from tensorflow_serving.apis import get_model_metadata_pb2, get_model_status_pb2, predict_pb2
from typer.testing import CliRunner

from shoal.certificates import LIVES, renew
from shoal.cli.main import app, main
from shoal.serving.client import protocol
from tests.integration.harness import SHOAL, Shoal
from tests.integration.serving import models
from tests.integration.serving.server import ModelServer


class Result(NamedTuple):
    code: int
    out: str
    err: str


Command = Callable[..., Result]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command line in this process, which is quick. Whatever is no refusal fails the test with its traceback."""

    def run(*words: object, stdin: str = "") -> Result:
        monkeypatch.setattr(sys, "argv", ["shoal", *map(str, words)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as left:
            code = int(left.code or 0)
        return Result(code, *capsys.readouterr())

    return run


@pytest.fixture(params=["grpc", "rest"])
def at(request: pytest.FixtureRequest, server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """The server's address over each protocol, which is also where commands ask by themselves."""
    grpc_at, rest_at = f"127.0.0.1:{server.grpc_port}", f"http://127.0.0.1:{server.rest_port}"
    chosen = grpc_at if request.param == "grpc" else rest_at
    monkeypatch.setenv("SHOAL_AT", chosen)
    return chosen


@pytest.fixture
def outputs(at: str, command: Command) -> Callable[..., dict[str, Any]]:
    """The outputs of a prediction, through `--output json`."""

    def ask(*words: object, stdin: str = "") -> dict[str, Any]:
        result = command("predict", *words, "--output", "json", stdin=stdin)
        assert result.code == 0, result.err
        assert result.err == ""
        return json.loads(result.out)["outputs"]

    return ask


def test_each_form_of_input(outputs: Callable[..., Any], tmp_path: Path) -> None:
    rows = [{"a": [1, 0, 0], "b": 1}, {"a": [0, 0, 1], "b": 2}]
    expected = {"doubled": [2, 4], "product": [[1.0, 2.0], [5.0, 6.0]]}
    columns = {"a": [row["a"] for row in rows], "b": [1, 2]}
    a, b = np.array(columns["a"], np.float64), np.array([1, 2], np.int32)
    np.savez(tmp_path / "both.npz", a=a, b=b)
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    (tmp_path / "rows.csv").write_text("a.0,a.1,a.2,b\n1,0,0,1\n0,0,1,2\n")
    body = json.dumps({"inputs": columns, "signature_name": "serving_default"})
    assert outputs("many", "--input", "-", stdin=json.dumps({"instances": rows})) == expected
    assert outputs("many", "--input", "-", stdin=json.dumps(rows)) == expected
    assert outputs("many", "--input", "-", stdin=body) == expected
    assert outputs("many", "--input", tmp_path / "rows.csv") == expected
    assert outputs("many", "--input", tmp_path / "both.npz") == expected
    assert outputs("many", "-i", f"a={tmp_path / 'a.npy'}", "-i", tmp_path / "b.npy") == expected
    assert outputs("many", "-i", f"a={tmp_path / 'a.npy'}", "--set", "b=[1, 2]", "--batch-size", 1) == expected


def test_images_as_pixels_and_as_bytes(outputs: Callable[..., Any], tmp_path: Path) -> None:
    Image.new("RGB", (6, 4), (255, 0, 51)).save(tmp_path / "a.png")
    Image.new("RGB", (60, 40), (0, 255, 0)).save(tmp_path / "b.jpg", quality=100)
    files = ("-i", tmp_path / "a.png", "-i", tmp_path / "b.jpg")
    bright = outputs("pictures", *files, "--image-size", "4x6", "--scale", "1/255")["brightness"]
    assert np.allclose(bright, [[1, 0, 0.2], [0, 1, 0]], atol=0.01)
    assert outputs("pictures", *files, "--signature", "encoded") == {"size": [[4, 6, 3], [40, 60, 3]]}
    grey = outputs("pictures", "-i", tmp_path / "a.png", "--signature", "grey")
    assert grey["size"] == [1, 4, 6]


@pytest.mark.parametrize("name", [each for each in models.SIMPLE_TYPES if each != "half"])
def test_each_type_keeps_its_values(outputs: Callable[..., Any], name: str) -> None:
    kind = np.dtype(name)
    values = (
        [True, False] if kind.kind == "b" else [0, 1, int(np.iinfo(kind).max)] if kind.kind in "iu" else [0.1, 1e300]
    )
    assert outputs("many", "--signature", name, "--set", f"x={json.dumps(values)}") == {"y": values}


def test_what_json_over_rest_has_no_form_for_goes_over_grpc(server: ModelServer, command: Command) -> None:
    words = ("predict", "many", "--signature", "half", "--set", "x=[0.1, 2]", "-o", "json", "--at")
    answer = command(*words, f"127.0.0.1:{server.grpc_port}")
    assert np.float16(json.loads(answer.out)["outputs"]["y"]).tolist() == np.array([0.1, 2], np.float16).tolist()
    refused = command(*words, f"http://127.0.0.1:{server.rest_port}")
    assert refused.code == 2
    assert "to type: half (HTTP status 501)" in refused.err


def test_not_finite_numbers_and_strings(outputs: Callable[..., Any]) -> None:
    found = outputs("many", "--signature", "not_finite", "-i", "-", stdin='{"instances": [1, 0, NaN, Infinity]}')["y"]
    assert str(found) == "[0.0, -inf, nan, inf]"
    found = outputs("many", "--signature", "look_up", "-i", "-", stdin='["dog", {"b64": "//4="}]')
    assert (found["ids"], found["raw_bytes"]) == ([2, -1], ["dog", {"b64": "//4="}])


def test_a_version_a_label_a_signature_and_outputs(outputs: Callable[..., Any], command: Command) -> None:
    assert outputs("half_plus_two", "--version", 123, "--set", "x=2") == {"y": [3.0]}
    assert outputs("half_plus_two", "--label", "stable", "--set", "x=2") == {"y": [3.0]}
    assert outputs("many", "--signature", "look_up", "--set", "words=dog", "--output-filter", "ids") == {"ids": [2]}


def test_a_table_for_people(at: str, command: Command) -> None:
    result = command("predict", "many", "--set", "a=[[1, 0, 0], [0, 0, 1]]", "--set", "b=[1, 2]")
    lines = [line.rstrip() for line in result.out.splitlines()]
    assert lines == ["ROW  doubled  product", "0    2        1 2", "1    4        5 6"]
    assert result.err == "many version 7, serving_default\n"


def test_the_command_imports_no_tensorflow_and_writes_numpy_files(server: ModelServer, shoal: Shoal) -> None:
    for at in (f"127.0.0.1:{server.grpc_port}", f"http://127.0.0.1:{server.rest_port}"):
        words = ("predict", "half_plus_two", "--set", "x=[1, 2]", "--output", "npy", "--at", at)
        told = "import atexit, sys; atexit.register(lambda: print(sorted(sys.modules), file=sys.stderr)); "
        done = subprocess.run(
            [SHOAL[0], SHOAL[1], told + SHOAL[2], *words], env=shoal.environment, capture_output=True, check=True
        )
        assert np.load(io.BytesIO(done.stdout)).tolist() == [2.5, 3.0]
        assert b"'numpy'" in done.stderr
        assert b"tensorflow" not in done.stderr


def test_the_models_of_our_server(at: str, command: Command) -> None:
    listed = {each["name"]: each["versions"] for each in json.loads(command("models", "-o", "json").out)["models"]}
    assert {"half_plus_two", "many", "pictures"} <= listed.keys()
    stable = {"version": 123, "state": "AVAILABLE", "error_code": "OK", "error_message": "", "labels": ["stable"]}
    assert listed["half_plus_two"] == [stable]
    lines = [line.split() for line in command("models", "half_plus_two").out.splitlines()]
    assert lines == [["NAME", "VERSION", "STATE", "LABELS", "ERROR"], ["half_plus_two", "123", "AVAILABLE", "stable"]]


def test_the_signatures_of_a_model(at: str, command: Command) -> None:
    lines = [line.split() for line in command("models", "many", "--signatures").out.splitlines()]
    assert [line[1:] for line in lines if line[0] == "serving_default"] == [
        ["input", "a", "float32", "[?,", "3]"],
        ["input", "b", "int64", "[?]"],
        ["output", "doubled", "int64", "[?]"],
        ["output", "product", "float32", "[?,", "2]"],
    ]
    assert "__saved_model_init_op" not in command("models", "half_plus_two", "--signatures").out
    told = json.loads(command("models", "many", "--signatures", "--output", "json").out)
    assert (told["model"], told["version"]) == ("many", 7)
    assert told["signatures"]["serving_default"]["inputs"]["a"] == {"type": "float32", "shape": [None, 3]}
    assert told["signatures"]["half"]["inputs"]["x"] == {"type": "float16", "shape": None}


def test_a_version_that_failed_is_shown_with_its_error(made: Path, tmp_path: Path, command: Command) -> None:
    (tmp_path / "only" / "1").mkdir(parents=True)
    (tmp_path / "only" / "1" / "saved_model.pb").write_bytes(b"no model")
    server = ModelServer(tmp_path / "log", str(tmp_path / "only"), "--max_num_load_retries=0").until_listening()
    try:
        at = f"127.0.0.1:{server.grpc_port}"
        server.until_states("only", {1: "END"})
        for address in (at, f"http://127.0.0.1:{server.rest_port}"):
            shown = command("models", "--at", address)
            assert shown.out.splitlines()[1].split()[:3] == ["only", "1", "END"]
            refused = command("predict", "--set", "x=1", "--at", address)  # no model named: there is one
            assert refused.code == 2
            assert "error: the server refused: Servable not found for request: Latest(only)" in refused.err
            assert "hint: versions of only: 1 (END)" in refused.err
            assert command("models", "only", "--at", address).out == shown.out
        lines = command("models", "--at", at).out.splitlines()
        assert "DATA_LOSS" in lines[1] or "INTERNAL" in lines[1] or "NOT_FOUND" in lines[1]
    finally:
        server.close()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("half_plus_too", "--set", "x=1"), "no model half_plus_too\nhint: did you mean half_plus_two?"),
        (("half_plus_two", "--version", 9, "--set", "x=1"), "hint: versions of half_plus_two: 123 (AVAILABLE)"),
        (("half_plus_two", "--label", "x", "--set", "x=1"), "Unrecognized servable version label: x"),
        (("half_plus_two", "--label", "x", "--version", 9), "--version and --label: name one of them"),
        (("half_plus_two", "--signature", "classify", "--set", "x=1"), "no signature classify"),
        (("half_plus_two", "--set", "x=1", "--output-filter", "z"), "no output z\nhint: there are: y"),
        (("half_plus_two",), "no value for input x (float32 [?])"),
        (("half_plus_two", "--set", "x=[[1]]"), "--set x: input x takes shape [?], found [1, 1]"),
        (("half_plus_two", "--set", 'x="a"'), '--set x: input x takes float32, found "a"'),
        (("half_plus_two", "--input", "nowhere.csv"), "--input nowhere.csv: No such file or directory"),
        (("half_plus_two", "--set", "x=1", "--image-size", "big"), "--image-size big: expected HEIGHTxWIDTH"),
        (("half_plus_two", "--set", "x=1", "--scale", "1/0"), "--scale 1/0: expected a number or a fraction"),
        (("half_plus_two", "--set", "x=1", "--ca", "ca.pem"), "--ca, but"),
        (("--set", "x=1"), "which model?\nhint: there are half_plus_three, half_plus_two"),
        (("pictures", "--signature", "encoded", "--set", "image_bytes=x"), "(INVALID_ARGUMENT)|(HTTP status 400)"),
    ],
)
def test_what_cannot_be_predicted(at: str, command: Command, words: tuple[object, ...], said: str) -> None:
    refused = command("predict", *words)
    assert (refused.code, refused.out) == (2, "")
    assert any(each in refused.err for each in said.split("|"))


def test_a_file_names_the_signature(outputs: Callable[..., Any], command: Command) -> None:
    body = '{"signature_name": "look_up", "instances": ["dog"]}'
    assert outputs("many", "-i", "-", stdin=body)["ids"] == [2]
    refused = command("predict", "many", "-i", "-", "--signature", "half", stdin=body)
    assert "--signature half, but the file names look_up" in refused.err


def test_models_that_cannot_be_shown(at: str, command: Command) -> None:
    assert "did you mean half_plus_two?" in command("models", "half_plus_twoo").err
    assert "did you mean half_plus_two?" in command("models", "half_plus_twoo", "--signatures").err
    assert "versions of many: 7 (AVAILABLE)" in command("models", "many", "--version", 8).err
    assert "there are half_plus_three, half_plus_two" in command("models", "--signatures").err


def test_time_is_up(at: str, command: Command, tmp_path: Path) -> None:
    words = ("predict", "many", "--signature", "wait", "--set", f"file={tmp_path / 'go'}", "--timeout", "0.2")
    late = command(*words)
    (tmp_path / "go").touch()  # or else the server would wait on
    assert late.code == 124
    assert "no answer within 0.2 s\nhint: --timeout gives it longer" in late.err


def test_where_no_model_server_is(server: ModelServer, command: Command) -> None:
    grpc_at, rest_at = f"127.0.0.1:{server.grpc_port}", f"127.0.0.1:{server.rest_port}"
    for at, said in {
        rest_at: f"this is HTTP, and was asked over gRPC\nhint: ask over REST: --at http://{rest_at}",
        f"http://{grpc_at}": f"this is no HTTP\nhint: gRPC is asked as --at {grpc_at}",
        "127.0.0.1:1": "no answer: ",
        "http://127.0.0.1:1": "no answer: ",
        f"http://{rest_at}/team": "Not found: /team/v1/models/half_plus_two",
        f"https://{rest_at}": "no answer: ",
        f"grpcs://{grpc_at}": "no answer: ",
    }.items():
        for words in (("predict", "half_plus_two", "--set", "x=1"), ("models", "half_plus_two")):
            refused = command(*words, "--at", at)
            assert refused.code == 2, at
            assert said in refused.err, at


def test_a_shell_completes_names_of_models(at: str) -> None:
    for server, said in (("", ["half_plus_three", "half_plus_two"]), ("--at 127.0.0.1:1 ", [])):
        line = {"COMP_WORDS": f"shoal predict {server}half", "COMP_CWORD": str(2 + len(server.split()))}
        done = CliRunner().invoke(app, [], env={**line, "_SHOAL_COMPLETE": "complete_bash"}, prog_name="shoal")
        assert done.output.split() == said


# TensorFlow Serving knows its own requests and no others. So does what stands before the server here.


@pytest.fixture(params=["grpc", "grpcs", "http", "https"])
def original(request: pytest.FixtureRequest, server: ModelServer, tmp_path: Path) -> Iterator[list[str]]:
    """Options that name a server without what we have added to the protocol."""
    scheme: str = request.param
    certificates = renew(None, ["127.0.0.1"], datetime.now(UTC), LIVES)
    for name, content in certificates.pack().items():
        (tmp_path / name).write_bytes(content)
    trust = ["--ca", str(tmp_path / "ca.crt")] if scheme.endswith("s") else []
    if scheme.startswith("grpc"):
        bare: Any = grpc.server(ThreadPoolExecutor(2))
        bare.add_generic_rpc_handlers([_OnlyTheirs(server.channel)])
        pair = (certificates.serving.key_pem, certificates.serving.certificate_pem)
        address = "127.0.0.1:0"
        port = (
            bare.add_secure_port(address, grpc.ssl_server_credentials([pair]))
            if trust
            else bare.add_insecure_port(address)
        )
        bare.start()
        yield ["--at", f"{scheme}://127.0.0.1:{port}", *trust]
        bare.stop(None).wait()
    else:
        http = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_OnlyV1,), {"server_url": server.http.base_url}))
        if trust:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tmp_path / "tls.crt", tmp_path / "tls.key")
            http.socket = context.wrap_socket(http.socket, server_side=True)
        Thread(target=http.serve_forever, daemon=True).start()
        yield ["--at", f"{scheme}://127.0.0.1:{http.server_port}", *trust]
        http.shutdown()
        http.server_close()


class _OnlyTheirs(grpc.GenericRpcHandler):
    def __init__(self, behind: grpc.Channel) -> None:
        self._behind = behind

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        if not details.method.startswith("/tensorflow.serving."):
            return None
        call: Any = self._behind.unary_unary(details.method)

        def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
            try:
                return call(request, timeout=60)
            except grpc.RpcError as refused:
                context.abort(refused.code(), refused.details())
                raise

        return grpc.unary_unary_rpc_method_handler(answer)


class _OnlyV1(BaseHTTPRequestHandler):
    server_url: httpx2.URL

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        known = self.path.startswith("/v1/models")
        url = str(self.server_url) + self.path
        answer = httpx2.request(self.command, url, content=body) if known else httpx2.Response(404, text="Not Found")
        self.send_response(answer.status_code)
        self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    do_POST = do_GET

    def log_message(self, *words: object) -> None:
        pass


def test_a_server_that_knows_the_documented_protocol_alone(
    original: list[str], command: Command, tmp_path: Path
) -> None:
    answer = command("predict", "half_plus_two", "--set", "x=[1, 2]", "-o", "json", *original)
    assert json.loads(answer.out)["outputs"] == {"y": [2.5, 3.0]}
    lines = [line.split() for line in command("models", "half_plus_two", *original).out.splitlines()]
    assert lines[1:] == [["half_plus_two", "123", "AVAILABLE", "?"]]
    refused = command("models", *original)
    assert (refused.code, "hint: name one: shoal models MODEL" in refused.err) == (2, True)
    refused = command("predict", "nobody", "--set", "x=1", *original)
    assert (refused.code, "Servable not found for request: Latest(nobody)" in refused.err) == (2, True)
    assert "which model?" in command("predict", "--set", "x=1", *original).err
    if "--ca" in original:
        distrusted = command("models", "half_plus_two", *original[:2])
        assert (distrusted.code, "hint: --ca names the certificates to trust" in distrusted.err) == (2, True)
        (tmp_path / "none.pem").touch()
        for name, said in {"nowhere": "No such file", "none.pem": "no certificate"}.items():
            refused = command("models", "many", *original[:2], "--ca", tmp_path / name)
            assert (refused.code, f"--ca {tmp_path / name}: " in refused.err) == (2, True)
            assert said in refused.err


def test_our_messages_are_those_of_the_protocol() -> None:
    modules = (tensor_pb2, tensor_shape_pb2, meta_graph_pb2, predict_pb2, get_model_metadata_pb2, get_model_status_pb2)
    theirs: dict[str, Descriptor] = {}

    def collect(message: Descriptor) -> None:
        if message.name not in theirs:
            theirs[message.name] = message
            for each in message.fields:
                if each.message_type is not None:
                    collect(each.message_type)

    for module in modules:
        for message in module.DESCRIPTOR.message_types_by_name.values():
            collect(message)
    for name, ours in protocol.CLASSES.items():
        for each in ours.DESCRIPTOR.fields:
            other = theirs[name].fields_by_name[each.name]
            assert each.number == other.number, (name, each.name)
            assert each.is_repeated == other.is_repeated, (name, each.name)
            assert each.type == (each.TYPE_INT32 if other.enum_type else other.type), (name, each.name)
            if each.message_type is not None and not each.message_type.GetOptions().map_entry:
                assert each.message_type.name == other.message_type.name
