"""From what a user gives to the tensors that a signature takes, and what is said where they do not fit."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from shoal.serving.client.connection import Signature
from shoal.serving.client.errors import ClientError
from shoal.serving.client.image_input import ImageOptions
from shoal.serving.client.inputs import Given, read
from shoal.serving.client.sources import Form, parse_setting, read_source
from tests.unit.serving.client.signatures import signature

ONE = signature(x=("FLOAT", [-1]))
TWO = signature(a=("FLOAT", [-1, 3]), b=("INT64", [-1]))
WORDS = signature(words=("STRING", [-1]))


@pytest.fixture
def ask(tmp_path: Path):
    """The inputs of a signature, from files by name with their content, and from settings."""

    def ask(
        taken: Signature, files: dict[str, str | bytes] | None = None, *settings: str, **options: Any
    ) -> dict[str, Any]:
        sources = []
        for words, content in (files or {}).items():
            name, _, file = words.rpartition("=")
            path = tmp_path / file
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            sources.append(read_source(f"{name}={path}" if name else str(path)))
        given = Given(sources, [parse_setting(each) for each in settings], ImageOptions(**options))
        return read(given, taken)

    return ask


def refusal(ask: Any, *words: Any, **options: Any) -> str:
    with pytest.raises(ClientError) as fault:
        ask(*words, **options)
    return f"{fault.value}; {fault.value.hint}"


def same(found: dict[str, np.ndarray], **expected: np.ndarray) -> bool:
    assert list(found) == list(expected)
    return all(
        found[name].dtype == array.dtype and found[name].shape == array.shape and (found[name] == array).all()
        for name, array in expected.items()
    )


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npz(**arrays: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def png(height: int, width: int, color: Any = 0, mode: str = "RGB") -> bytes:
    file = io.BytesIO()
    Image.new(mode, (width, height), color).save(file, "PNG")
    return file.getvalue()


def noise() -> bytes:
    """An image whose file has several parts."""
    file = io.BytesIO()
    Image.fromarray(np.random.default_rng(1).integers(0, 256, (40, 60, 3), np.uint8)).save(file, "PNG")
    return file.getvalue()


def f32(*values: Any) -> np.ndarray:
    return np.array(values, np.float32)


def i64(*values: Any) -> np.ndarray:
    return np.array(values, np.int64)


ROWS = '[{"a": [1, 0, 0], "b": 1}, {"b": 2, "a": [0, 0, 1]}]'


@pytest.mark.parametrize(
    "text",
    [
        ROWS,
        f'{{"instances": {ROWS}}}',
        '{"inputs": {"a": [[1, 0, 0], [0, 0, 1]], "b": [1, 2]}, "signature_name": "serving_default"}',
    ],
)
def test_json_by_row_and_by_column(ask, text):
    assert same(ask(TWO, {"rows.json": text}), a=f32([1, 0, 0], [0, 0, 1]), b=i64(1, 2))


def test_json_of_one_input(ask):
    assert same(ask(ONE, {"rows": "[1, 2.5]"}), x=f32(1, 2.5))
    assert same(ask(ONE, {"rows": '{"inputs": [1, 2.5]}'}), x=f32(1, 2.5))
    assert same(ask(ONE, {"x=rows": "[1, 2.5]"}), x=f32(1, 2.5))
    assert ask(WORDS, {"rows": '["dog", {"b64": "Y293"}]'})["words"].tolist() == [b"dog", b"cow"]
    assert np.isnan(ask(ONE, {"rows": "[NaN]"})["x"]).all()


@pytest.mark.parametrize("kind", ["HALF", "UINT16", "INT8", "UINT64", "BOOL", "DOUBLE"])
def test_json_of_each_type(ask, kind):
    text = "[true, false]" if kind == "BOOL" else "[1, 0]"
    found = ask(signature(x=(kind, [-1])), {"rows": text})["x"]
    assert found.dtype == np.dtype({"HALF": "f2", "DOUBLE": "f8"}.get(kind, kind.lower()))
    assert found.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"a": [1, 0, "x"], "b": 1}]', 'rows.json: [0].a[2]: input a takes float32, found "x"'),
        ('{"instances": [{"a": [1, 0, 0], "b": 1.5}]}', "instances[0].b: input b takes int64 without a decimal point"),
        ('[{"a": [1, 0, 0], "b": 1}, {"a": [1, 0], "b": 1}]', "[1].a: input a takes 3 values here as before, found [1"),
        ('[{"a": [1, 0, [0]], "b": 1}]', "[0].a[2]: input a takes one float32 here, found [0]"),
        ('[{"a": [[1], 0], "b": 1}]', "[0].a[1]: input a takes a list of 1 here, found 0"),
        ('[{"a": [1, 0], "b": 1}]', "input a takes shape [?, 3], found [1, 2]"),
        ('[{"a": [1, 0, 0], "b": 9223372036854775808}]', "[0].b: input b takes int64, found 9223372036854775808"),
        ('[{"a": [1, 0, 0]}]', "no value for input b (int64 [?])"),
        ('[{"a": [1, 0, 0], "b": 1}, {"a": [1, 0, 0]}]', "rows.json: [1]: no value for input b"),
        ('[{"b": 1}, {"a": [1, 0, 0], "b": 1}]', "[1]: input a is not in the first row"),
        ('[{"a": [1, 0, 0], "c": 1}]', "rows.json: [0]: no input c; there are: a, b"),
        ('{"inputs": {"a": [[1, 0, 0]], "c": 1}}', "rows.json: inputs: no input c"),
        ('[{"a": [1, 0, 0], "b": 1}, 2]', "[1]: expected an object as in the first row"),
        ("[1, 2]", "rows.json: for which input? There are a, b; --input a="),
        ("[]", "there is no row"),
        ('{"a": [[1, 0, 0]], "b": [1]}', 'expected one of instances and inputs; write {"instances"'),
        ('{"instances": 1}', "instances: expected a list of rows"),
        ("[1,\n 2", "rows.json:2:3: no JSON: Expecting ',' delimiter"),
        (b"\xff", "rows.json: no JSON: not in UTF-8"),
        ("[" * 100_000, "rows.json: nested too deeply"),
    ],
)
def test_what_is_wrong_in_json(ask, text, said):
    assert said in refusal(ask, TWO, {"rows.json": text})


def test_json_of_types_without_a_form(ask):
    assert "input x takes complex64, found 1" in refusal(ask, signature(x=("COMPLEX64", [-1])), {"rows": "[1]"})
    assert "of type resource, which cannot be sent" in refusal(ask, signature(x=("RESOURCE", [])), {"rows": "[1]"})
    assert "takes uint16, found 65536" in refusal(ask, signature(x=("UINT16", [-1])), {"rows": "[1, 65536]"})
    assert 'takes string, found {"b64": "?"}' in refusal(ask, WORDS, {"rows": '["a", {"b64": "?"}]'})


def test_csv(ask):
    expected = {"a": f32([1, 0, 0], [0, 0, 1]), "b": i64(1, 2)}
    assert same(ask(TWO, {"rows.csv": "a,a,a,b\n1,0,0,1\n0,0,1,2\n"}), **expected)
    assert same(ask(TWO, {"rows.tsv": "\ufeffa.0\ta.1\ta.2\tb\n1\t0\t0\t1\n\n0\t0\t1\t2"}), **expected)
    assert same(ask(TWO, {"rows.csv": "a,a,a\n1,0,0\n0,0,1\n", "b=b.csv": "1\n2\n"}), **expected)


def test_csv_of_one_input(ask):
    assert same(ask(ONE, {"rows": "1\n-2.5e3\n"}), x=f32(1, -2500))
    assert same(ask(ONE, {"rows": "x\n1\n"}), x=f32(1))
    assert same(ask(signature(x=("FLOAT", [-1, 1])), {"rows": "x\n1\n"}), x=f32([1]))
    assert same(ask(signature(x=("FLOAT", None)), {"rows": "1,2"}), x=f32([1, 2]))
    assert same(ask(signature(x=("UINT8", [-1, 2, 2])), {"rows": "1,2,3,4"}), x=np.array([[[1, 2], [3, 4]]], np.uint8))
    assert same(ask(signature(x=("FLOAT", [-1, 2])), {"rows": "width,length\n1,2"}), x=f32([1, 2]))
    assert ask(WORDS, {"rows": 'words\n"dog, big"\n'})["words"].tolist() == [b"dog, big"]
    assert ask(WORDS, {"rows": "dog\n"})["words"].tolist() == [b"dog"]
    assert ask(signature(x=("BOOL", [-1])), {"rows": "x\ntrue\n0\n"})["x"].tolist() == [True, False]
    assert ask(signature(x=("COMPLEX64", [-1])), {"rows": "1+2j"})["x"].tolist() == [1 + 2j]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,a,a,b\n1,0,0,1\n0,0,1,2.5\n", 'rows.csv:3:4: input b takes int64, found "2.5"'),
        ("a,a,a,b\n1,,0,1\n", 'rows.csv:2:2: input a takes float32, found ""'),
        ("a,a,a,b\n1,0,0,9223372036854775808\n", "rows.csv:2:4: input b takes int64"),
        ("a,a,a,b\n1,0,0\n", "rows.csv:2: cells: 3, where the first row has 4"),
        ("a,a,a,c\n1,0,0,1\n", "rows.csv:1: no input c; the header names inputs: a, b"),
        ("a,a,b\n1,0,1\n", "input a takes shape [?, 3], found [1, 2]"),
        ("1,2\n", "for which input? There are a, b"),
        ("a,a,a,b\n", "there is no row below the header"),
        ("", "rows.csv: there is nothing in it"),
        ('a,b\n"1,2\n', "rows.csv:2: unexpected end of data"),
        (b"a,b\n\xff,1\n", "rows.csv:2: neither JSON, .npy or an image, nor CSV in UTF-8"),
    ],
)
def test_what_is_wrong_in_csv(ask, text, said):
    assert said in refusal(ask, TWO, {"rows.csv": text})


def test_a_number_in_the_first_row_makes_it_no_header(ask):
    assert 'rows:1:2: input x takes float32, found "two"' in refusal(
        ask, signature(x=("FLOAT", [-1, 2])), {"rows": "1,two\n3,4\n"}
    )


def test_numpy_files(ask):
    assert same(ask(ONE, {"x.npy": npy(np.array([1.5, 2], ">f8"))}), x=f32(1.5, 2))
    assert same(ask(ONE, {"x": npy(np.arange(2))}), x=f32(0, 1))
    both = npz(a=np.eye(3)[:2], b=np.array([1, 2], np.int8))
    assert same(ask(TWO, {"both.npz": both}), a=f32([1, 0, 0], [0, 1, 0]), b=i64(1, 2))
    assert same(ask(TWO, {"b=b": npy(i64(7)), "a.npy": npy(np.eye(3)[:1])}), b=i64(7), a=f32([1, 0, 0]))
    assert ask(WORDS, {"w": npy(np.array(["dög", "a"]))})["words"].tolist() == ["dög".encode(), b"a"]


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("b=b.npy", npy(f32(1)), "b.npy: input b takes int64, found float32; convert it with astype"),
        ("b=b.npy", npy(np.array([2**63], np.uint64)), "input b takes int64, found uint64"),
        ("b=b.npy", npy(np.array([True])), "input b takes int64, found bool"),
        ("b=b.npy", npy(np.array(["1"])), "input b takes int64, found <U1"),
        ("b=b.npy", npy(np.array([None])), "b.npy: holds Python objects"),
        ("b=b.npy", b"no array", "b.npy: holds Python objects, or is no .npy"),
        ("b=b.npy", npy(i64(1, 2, 3))[:-4], "b.npy: cannot be read as .npy"),
        ("b=b.npz", npz(b=i64(1)), "a .npz names its inputs itself"),
        ("b.npz", npz(c=i64(1)), "b.npz: no input c; there are: a, b"),
        ("b.npz", npz(b=i64(1))[:-30], "b.npz: cannot be read as .npz"),
        ("b=b.npy", npz(b=i64(1)), "b.npy: a .npz, where one tensor is wanted"),
        ("b.npz", npy(i64(1)), "b.npz: a .npy, where a .npz is wanted"),
    ],
)
def test_what_is_wrong_in_numpy_files(ask, file, content, said):
    assert said in refusal(ask, TWO, {file: content})


def test_images_as_pixels(ask):
    picture = signature(image=("FLOAT", [-1, 4, 6, 3]))
    red, grey = png(4, 6, (255, 0, 51)), png(8, 8, 255, "L")
    assert same(ask(picture, {"red.png": red}), image=np.full((1, 4, 6, 3), [255, 0, 51], np.float32))
    found = ask(picture, {"red.png": red, "grey": grey}, size=(4, 6), scale=1 / 255)["image"]
    assert np.allclose(found, np.stack([np.full((4, 6, 3), [1, 0, 0.2]), np.ones((4, 6, 3))]))
    assert ask(signature(image=("UINT8", [-1, -1, -1])), {"grey.png": grey})["image"].shape == (1, 8, 8)
    assert ask(signature(image=("UINT8", [-1, 8, 8, 1])), {"grey.png": grey})["image"].shape == (1, 8, 8, 1)
    assert ask(signature(image=("HALF", None)), {"red.png": red})["image"].shape == (1, 4, 6, 3)


def test_images_as_their_bytes(ask):
    files = {"a.png": png(1, 2), "b.png": png(2, 1)}
    assert ask(WORDS, dict(files))["words"].tolist() == list(files.values())
    assert ask(signature(image=("STRING", [])), {"a.png": files["a.png"]})["image"].tolist() == files["a.png"]


@pytest.mark.parametrize(
    ("spec", "files", "options", "said"),
    [
        (
            ("FLOAT", [-1, 4, 6, 3]),
            {"a.png": png(6, 4)},
            {},
            "a.png: 6x4 pixels (height x width), and input image takes 4x6; --image-size 4x6 resizes it",
        ),
        (
            ("FLOAT", [-1, -1, -1, 3]),
            {"a.png": png(2, 2), "b.png": png(2, 3)},
            {},
            "b.png: 2x3 pixels (height x width), and input image takes 2x2",
        ),
        (("FLOAT", [-1, 24]), {"a.png": png(4, 6)}, {}, "a.png: input image of shape [?, 24] takes no image"),
        (("FLOAT", [-1, 4, 6, 2]), {"a.png": png(4, 6)}, {}, "of shape [?, 4, 6, 2] takes no image"),
        (
            ("UINT8", [-1, 4, 6, 3]),
            {"a.png": png(4, 6)},
            {"scale": 0.5},
            "--scale, but input image takes whole numbers",
        ),
        (("INT8", [-1, 4, 6, 3]), {"a.png": png(4, 6)}, {}, "takes int8, which has no room for pixels"),
        (("STRING", [-1]), {"a.png": noise()[:-900]}, {}, "a.png: cannot be read as an image"),
        (("STRING", [-1]), {"a.png": b"text"}, {}, "a.png: cannot be read as an image: in no format that Pillow knows"),
    ],
)
def test_what_is_wrong_with_images(ask, spec, files, options, said):
    assert said in refusal(ask, signature(image=spec), files, **options)


def test_settings(ask):
    assert same(ask(TWO, None, "a=[1,0,0]", "b=7"), a=f32([1, 0, 0]), b=i64(7))
    assert same(ask(TWO, None, "a=[[1,0,0],[0,0,1]]", "b=[7, 8]"), a=f32([1, 0, 0], [0, 0, 1]), b=i64(7, 8))
    assert ask(WORDS, None, "words=12 = twelve")["words"].tolist() == [b"12 = twelve"]
    assert ask(WORDS, None, 'words=["a", "b"]')["words"].tolist() == [b"a", b"b"]
    assert same(ask(signature(x=("FLOAT", [])), None, "x=Infinity"), x=np.array(np.inf, np.float32))


def test_one_setting_stands_for_every_row_of_a_file(ask):
    assert same(ask(TWO, {"a.csv": "a,a,a\n1,0,0\n0,0,1\n"}, "b=7"), b=i64(7, 7), a=f32([1, 0, 0], [0, 0, 1]))
    scalar = signature(x=("FLOAT", [-1]), scale=("FLOAT", []))
    assert same(ask(scalar, {"x.csv": "1\n2\n"}, "scale=3"), scale=np.array(3, np.float32), x=f32(1, 2))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["a=[1,0,0]", "c=1"], "--set c: no input c; there are: a, b"),
        (["a=[1,0,0]", "b=x"], "--set b:1:1: no JSON"),
        (["a=[1,0,0]", "b=1.5"], "--set b: input b takes int64 without a decimal point, found 1.5"),
        (["a=[1,0]", "b=1"], "--set a: input a takes shape [?, 3], found [1, 2]"),
        (["a=[1,0,0]", "b=1", "b=2"], "input b is given twice: by --set b and by --set b"),
        (["a=[1,0,0]"], "no value for input b (int64 [?]); --input FILE, --input b=FILE, or --set b=VALUE"),
        (["b"], "--set b: expected INPUT=VALUE"),
        (["=1"], "--set =1: expected INPUT=VALUE"),
    ],
)
def test_what_is_wrong_with_settings(ask, settings, said):
    assert said in refusal(ask, TWO, None, *settings)


def test_an_input_comes_from_one_place(ask):
    assert "input x is given twice: by --set x and by" in refusal(ask, ONE, {"a.json": '{"inputs": {"x": [1]}}'}, "x=1")
    assert "every input is given already" in refusal(ask, ONE, {"a.json": "[1]"}, "x=1")
    assert "no input y" in refusal(ask, ONE, {"y=a.json": "[1]"})


def test_an_input_with_a_default_may_be_left_out(ask):
    assert same(ask(signature(["b"], a=("FLOAT", [-1]), b=("FLOAT", [])), None, "a=1"), a=f32(1))


def test_a_file_is_told_by_its_name_or_by_its_beginning(tmp_path):
    found = {}
    for name, content in {"a": npy(f32(1)), "b": npz(a=f32(1)), "c": png(1, 1), "d": b" [1]", "e": b"1,2"}.items():
        (tmp_path / name).write_bytes(content)
        found[name] = read_source(str(tmp_path / name)).form
    assert found == {"a": Form.NPY, "b": Form.NPZ, "c": Form.IMAGE, "d": Form.JSON, "e": Form.CSV}
    (tmp_path / "x=1.json").write_text("[1]")
    assert read_source(str(tmp_path / "x=1.json")).input == ""


def test_a_file_that_is_not_there():
    with pytest.raises(ClientError, match=r"--input nowhere\.json: No such file or directory"):
        read_source("nowhere.json")
