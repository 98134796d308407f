"""What the init container does with a repository that asks for a password, against Git's own server over HTTP."""

from __future__ import annotations

import base64
import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from shoal.kubernetes.code import FETCH

WHO = ("-c", "user.name=Test", "-c", "user.email=test@example.com")


class GitServer(ThreadingHTTPServer):
    """`git http-backend` for `root`, for those who know `allowed`; `other/…` leads to `elsewhere`."""

    def __init__(self, root: Path, allowed: str) -> None:
        super().__init__(("127.0.0.1", 0), Backend)
        self.root = root
        self.allowed = "Basic " + base64.b64encode(allowed.encode()).decode()
        self.elsewhere = ""
        self.passwords: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Backend(BaseHTTPRequestHandler):
    server: GitServer

    def do_GET(self) -> None:
        if "Authorization" in self.headers:
            self.server.passwords.append(self.headers["Authorization"])
        if self.path.startswith("/other/") and self.server.elsewhere:
            self.send_response(302)
            self.send_header("Location", self.server.elsewhere + self.path.removeprefix("/other"))
            self.end_headers()
        elif self.headers["Authorization"] != self.server.allowed:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="models"')
            self.end_headers()
        else:
            self.answer()

    do_POST = do_GET

    def answer(self) -> None:
        path, _, query = self.path.partition("?")
        asked = {
            "GIT_PROJECT_ROOT": str(self.server.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": self.headers.get("Content-Length", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        done = subprocess.run(
            ["git", "http-backend"], env={**os.environ, **asked}, input=body, capture_output=True, check=True
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        self.send_response(200)
        for line in head.decode().splitlines():
            name, _, value = line.partition(": ")
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    repository = tmp_path / "root" / "models.git"
    repository.mkdir(parents=True)
    (repository / "train.py").write_text("print('trains')")
    for words in (["init", "--quiet", "--initial-branch=main"], ["add", "."], ["commit", "--quiet", "-m", "first"]):
        subprocess.run(["git", *WHO, "-C", str(repository), *words], check=True)
    with GitServer(tmp_path / "root", "robot:to'k\"e $n") as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    folder = tmp_path / "secret"
    folder.mkdir()
    (folder / "username").write_text("robot")
    (folder / "password").write_text("to'k\"e $n")
    return folder


def fetch(url: str, tmp_path: Path, secret: Path | str) -> subprocess.CompletedProcess[str]:
    code = tmp_path / "code"
    code.mkdir()
    words = [url, "main", str(code), str(code), str(secret)]
    alone = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    return subprocess.run(["sh", "-c", FETCH, "sh", *words], env=alone, capture_output=True, text=True, check=False)


def test_the_password_opens_it_and_stays_outside(server, secret, tmp_path):
    done = fetch(f"{server.url}/models.git", tmp_path, secret)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "code/train.py").read_text() == "print('trains')"
    assert server.passwords
    kept = [path for path in (tmp_path / "code").rglob("*") if path.is_file() and b"to'k" in path.read_bytes()]
    assert not kept


def test_a_username_is_not_needed(server, secret, tmp_path):
    (secret / "username").unlink()
    server.allowed = "Basic " + base64.b64encode(b"git:to'k\"e $n").decode()
    assert fetch(f"{server.url}/models.git", tmp_path, secret).returncode == 0


@pytest.mark.parametrize("password", ["wrong", None])
def test_a_wrong_password(server, secret, tmp_path, password):
    if password:
        (secret / "password").write_text(password)
    done = fetch(f"{server.url}/models.git", tmp_path, secret if password else "")
    assert done.returncode != 0
    told = "Authentication failed" if password else "could not read Username"
    assert told in done.stderr


def test_a_secret_of_another_type(server, secret, tmp_path):
    (secret / "password").rename(secret / "token")
    done = fetch(f"{server.url}/models.git", tmp_path, secret)
    assert done.returncode == 1
    assert "the Secret has no key password; it is of type kubernetes.io/basic-auth" in done.stderr


def test_another_host_is_not_told(server, secret, tmp_path):
    server.allowed = "nothing opens it"
    with GitServer(server.root, "robot:to'k\"e $n") as first:
        first.elsewhere = server.url
        thread = threading.Thread(target=first.serve_forever, args=(0.01,))
        thread.start()
        done = fetch(f"{first.url}/other/models.git", tmp_path, secret)
        first.shutdown()
        thread.join()
    assert done.returncode != 0
    assert not server.passwords
