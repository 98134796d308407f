"""Several kubeconfig files count as one, as for kubectl."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from lightkube.core.exceptions import ConfigError

from shoal.kubernetes.operator.kubeconfig import configuration, named_files, read


def written(path: Path, **parts: Any) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text(yaml.safe_dump(parts))
    return str(path)


def cluster(name: str, server: str, **more: str) -> dict[str, Any]:
    return {"name": name, "cluster": {"server": server, **more}}


def context(name: str, cluster: str, user: str) -> dict[str, Any]:
    return {"name": name, "context": {"cluster": cluster, "user": user}}


def user(name: str, **more: str) -> dict[str, Any]:
    return {"name": name, "user": more}


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    first = written(
        tmp_path / "one" / "config",
        clusters=[cluster("a", "https://a", **{"certificate-authority": "ca.crt"})],
        contexts=[context("work", "a", "me")],
    )
    second = written(
        tmp_path / "two" / "config",
        clusters=[cluster("a", "https://other"), cluster("b", "https://b")],
        contexts=[context("work", "b", "you"), context("home", "b", "me")],
        users=[user("me", tokenFile="secrets/token", **{"client-key": str(tmp_path / "key")}), user("you", token="t")],
        **{"current-context": "home"},
    )
    third = written(tmp_path / "three", **{"current-context": "work"}, clusters=None)
    return [str(tmp_path / "absent"), first, second, third]


def test_the_first_of_two_entries_counts_and_parts_come_from_any_file(files: list[str], tmp_path: Path) -> None:
    work = configuration(files, "work")
    assert (work.cluster.server, work.context.user) == ("https://a", "me")
    assert work.cluster.certificate_auth == str(tmp_path / "one" / "ca.crt")
    assert work.user is not None
    assert work.user.token_file == str(tmp_path / "two" / "secrets" / "token")
    assert work.user.client_key == str(tmp_path / "key")


def test_the_first_current_context_counts(files: list[str]) -> None:
    assert configuration(files, None).context_name == "home"
    assert configuration([files[3], *files], None).context_name == "work"


def test_one_file_at_least_is_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent or .*missing not found"):
        read([str(tmp_path / "absent"), str(tmp_path / "missing")])


def test_the_environment_lists_files(monkeypatch: pytest.MonkeyPatch, files: list[str]) -> None:
    monkeypatch.setenv("KUBECONFIG", f":{files[1]}::{files[2]}")
    assert named_files() == files[1:3]
    monkeypatch.delenv("KUBECONFIG")
    assert named_files() == []
