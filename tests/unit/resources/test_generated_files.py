"""What is checked in is what its generator writes, in bytes: else the cluster and the loader would disagree."""

from __future__ import annotations

from tools import generate_crds, generate_pod_template_schema


def test_the_custom_resource_definitions_are_up_to_date():
    written = {file.name: file.read_text(encoding="utf-8") for file in generate_crds.FOLDER.iterdir()}
    assert written == generate_crds.generate(), "run tools/generate_crds.py"


def test_the_pod_template_schema_is_up_to_date():
    written = generate_pod_template_schema.OUTPUT.read_text(encoding="utf-8")
    assert written == generate_pod_template_schema.generate(), "run tools/generate_pod_template_schema.py"
