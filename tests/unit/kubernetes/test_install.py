"""The installation's values and objects, as far as they need neither Helm nor a cluster."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from tools import generate_chart

from shoal import __version__
from shoal.kubernetes.install import Image, Values, namespace_object, operator_objects
from shoal.kubernetes.install.rights import OF_LEASE
from shoal.kubernetes.operator.run import LEASE

CHART = Path(__file__).parents[3] / "charts/shoal"
DIGEST = "sha256:" + "0123456789abcdef" * 4


def test_the_generated_files_of_the_chart_are_up_to_date():
    written = {path: (CHART / path).read_text(encoding="utf-8") for path in generate_chart.generate()}
    assert written == generate_chart.generate(), "run python -m tools.generate_chart"


def test_the_chart_says_the_default_values():
    written = yaml.safe_load((CHART / "values.yaml").read_text())
    assert {**written, "global": {}} == Values().model_dump(mode="json", by_alias=True)


def test_the_chart_has_the_version_of_shoal():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == __version__


def test_the_schema_takes_the_default_values():
    schema = json.loads((CHART / "values.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(yaml.safe_load((CHART / "values.yaml").read_text()), schema)


def test_device_plugins_need_a_namespace_that_lets_them_be():
    level = "pod-security.kubernetes.io/enforce"
    assert namespace_object("x", Values())["metadata"]["labels"] == {level: "restricted"}
    with_plugins = Values.model_validate({"devicePlugin": {"enabled": True}})
    assert namespace_object("x", with_plugins)["metadata"]["labels"] == {level: "privileged"}


@pytest.mark.parametrize(
    ("reference", "repository", "tag", "digest"),
    [
        ("shoal", "shoal", "", ""),
        ("shoal:2", "shoal", "2", ""),
        ("registry.example/team/shoal:2.0-rc1", "registry.example/team/shoal", "2.0-rc1", ""),
        ("registry.example:5000/shoal", "registry.example:5000/shoal", "", ""),
        ("registry.example:5000/shoal:2", "registry.example:5000/shoal", "2", ""),
        (f"shoal@{DIGEST}", "shoal", "", DIGEST),
        (f"registry.example:5000/shoal:2@{DIGEST}", "registry.example:5000/shoal", "2", DIGEST),
    ],
)
def test_an_image_is_taken_apart(reference, repository, tag, digest):
    image = Image(tag="old").named(reference)
    assert (image.repository, image.tag, image.digest) == (repository, tag, digest)
    assert image.reference("1.0") == (f"{repository}@{digest}" if digest else f"{repository}:{tag or '1.0'}")


@pytest.mark.parametrize("reference", ["", "a b", ":2", "shoal@sha256", "shoal@"])
def test_what_is_no_image_is_refused(reference):
    with pytest.raises(ValueError, match="is no image"):
        Image().named(reference)


def test_labels_of_the_user_do_not_cover_what_the_selector_selects_by():
    values = Values(pod_labels={"app.kubernetes.io/name": "mine", "team": "a"})
    (deployment,) = (each for each in operator_objects(values, "ns") if each["kind"] == "Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert labels["team"] == "a"
    assert labels.items() >= deployment["spec"]["selector"]["matchLabels"].items()


def test_the_lease_that_rights_are_given_to_is_the_one_that_the_operator_takes():
    assert [each.names for each in OF_LEASE] == [(), (LEASE,)]
