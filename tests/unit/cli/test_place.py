"""What --on may say."""

from __future__ import annotations

import pytest
import yaml

from shoal.cli.place import On, complete_on, parse_on


@pytest.fixture(autouse=True)
def kubeconfig(monkeypatch, tmp_path):
    entries = [("blue", "one", "me"), ("green", "two", "me"), ("green-dev", "two", "me"), ("red", "two", "root")]
    content = {
        "clusters": [{"name": name, "cluster": {"server": f"https://127.0.0.1:1/{name}"}} for name in ("one", "two")],
        "users": [{"name": name, "user": {}} for name in ("me", "root")],
        "contexts": [{"name": n, "context": {"cluster": cluster, "user": user}} for n, cluster, user in entries],
        "current-context": "green-dev",
    }
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(content))
    monkeypatch.setenv("KUBECONFIG", str(file))
    return file


def test_words_and_contexts():
    assert [parse_on(word) for word in ("local", "kubernetes", "any")] == [On.LOCAL, On.KUBERNETES, On.ANY]
    assert parse_on("blue, green,blue").contexts == ("blue", "green")
    assert [parse_on(text).several for text in ("local", "kubernetes", "any", "blue")] == [False, False, True, True]


@pytest.mark.parametrize("text", ["local,blue", "blue,,green", "", "any,blue"])
def test_what_does_not_go_together(shoal, text):
    result = shoal("ps", "--on", text)
    assert result.code == 2
    assert "only contexts of the kubeconfig may stand together" in " ".join(result.err.replace("│", " ").split())


def test_a_word_that_is_misspelt(shoal):
    result = shoal("ps", "--on", "kubernets")
    assert result.code == 2
    assert "is no other place\nhint: did you mean kubernetes?" in result.err
    assert "hint: did you mean blue?" in shoal("ps", "--on", "blu,green").err


def test_a_context_beside_several(shoal):
    result = shoal("ps", "--on", "blue,green", "--context", "red")
    assert (result.code, result.err) == (
        2,
        "error: --on blue,green names clusters already, and --context one more\nhint: --on kubernetes --context red\n",
    )


def test_any_is_each_cluster_once_for_each_user(shoal):
    result = shoal("ps", "--on", "any")
    assert result.code == 2
    assert sorted(line.split()[0] for line in result.err.splitlines()[:3]) == ["blue", "green-dev", "red"]
    assert result.err.endswith("error: none of the clusters answers\nhint: they are green-dev, blue, red\n")


def test_completion(kubeconfig):
    assert complete_on("") == ["local", "kubernetes", "any", "blue", "green", "green-dev", "red"]
    assert complete_on("blue,g") == ["blue,green", "blue,green-dev"]
    kubeconfig.write_text("{")
    assert complete_on("l") == ["local"]
