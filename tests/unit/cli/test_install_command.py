"""`shoal install --print`."""

from __future__ import annotations

import pytest
import yaml

from shoal.resources.crd import kubeflow_crd, shoal_crd
from shoal.resources.model_server_crd import model_server_crd
from shoal.resources.tensorboard_crd import tensorboard_crd
from shoal.resources.workbench_crd import workbench_crd


def printed(result):
    assert (result.code, result.err) == (0, "")
    return list(yaml.safe_load_all(result.out))


def container(objects):
    (found,) = (each for each in objects if each["kind"] == "Deployment")
    return found["spec"]["template"]["spec"]["containers"][0]


def test_everything_is_printed_in_the_order_in_which_it_is_needed(shoal):
    objects = printed(shoal("install", "--print"))
    kinds = [each["kind"] for each in objects]
    assert objects[:5] == [shoal_crd(), kubeflow_crd(), model_server_crd(), tensorboard_crd(), workbench_crd()]
    assert kinds[5:7] == ["Namespace", "ServiceAccount"]
    assert kinds.index("Deployment") > max(index for index, kind in enumerate(kinds) if "Role" in kind)
    assert {each["metadata"]["namespace"] for each in objects if "namespace" in each["metadata"]} == {"shoal-system"}


def test_parts_are_printed_alone(shoal):
    crds = printed(shoal("install", "--print", "--only", "crds"))
    operator = printed(shoal("install", "--print", "--only", "operator", "--no-create-namespace"))
    assert {each["kind"] for each in crds} == {"CustomResourceDefinition"}
    assert {"CustomResourceDefinition", "Namespace"}.isdisjoint(each["kind"] for each in operator)


def test_values_of_the_command_line_cover_those_of_the_file(shoal, tmp_path):
    file = tmp_path / "values.yaml"
    file.write_text("replicas: 1\nimage: {repository: theirs, tag: '7'}\noperator: {workers: 2}\n")
    words = ["-f", file, "--set", "operator.workers=9", "--set", "image.pullPolicy=Always", "-n", "ours"]
    objects = printed(shoal("install", "--print", *words))
    found = container(objects)
    assert found["image"] == "theirs:7"
    assert found["imagePullPolicy"] == "Always"
    assert "--workers=9" in found["args"]
    assert "ours" in {each["metadata"]["name"] for each in objects if each["kind"] == "Namespace"}
    assert container(printed(shoal("install", "--print", "-f", file, "--image", "mine:8")))["image"] == "mine:8"


def test_lists_mappings_and_dots_in_keys(shoal):
    words = ["--set", "tolerations=[{key: gpu, operator: Exists}]", "--set", r"nodeSelector.kubernetes\.io/arch=amd64"]
    objects = printed(shoal("install", "--print", *words))
    (deployment,) = (each for each in objects if each["kind"] == "Deployment")
    assert deployment["spec"]["template"]["spec"]["tolerations"] == [{"key": "gpu", "operator": "Exists"}]
    assert deployment["spec"]["template"]["spec"]["nodeSelector"] == {"kubernetes.io/arch": "amd64"}


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "nothing is installed by itself yet"),
        (["--print", "--set", "replicas"], "--set replicas: not KEY=VALUE"),
        (["--print", "--set", "replicas=-1"], "replicas: Input should be greater than or equal to 0"),
        (["--print", "--set", "replica=1"], "replica: Extra inputs are not permitted"),
        (["--print", "--set", "replicas=[1"], "--set replicas=[1: not valid YAML"),
        (["--print", "--set", "replicas=1", "--set", "replicas.a=1"], "replicas is no mapping"),
        (["--print", "--image", "a b"], "--image: 'a b' is no image"),
        (["--print", "--namespace", "Not_A_Name"], "no name of a namespace"),
        (["--print", "--values", "missing.yaml"], "missing.yaml: No such file"),
    ],
)
def test_what_cannot_be_installed_is_refused(words, problem, shoal):
    result = shoal("install", *words)
    assert (result.code, result.out) == (2, "")
    assert problem in result.err
