"""Quantities mean what Kubernetes' own documentation of them says."""

from __future__ import annotations

from decimal import Decimal

import pytest
from pydantic import TypeAdapter, ValidationError

from shoal.resources.quantity import Quantity, parse_quantity


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (0, "0"),
        ("0", "0"),
        (-3, "-3"),
        (7, "7"),
        ("+7", "7"),
        ("-1.5", "-1.5"),
        ("5.", "5"),
        (".5", "0.5"),
        ("0.10", "0.1"),
        ("3n", "0.000000003"),
        ("3u", "0.000003"),
        ("500m", "0.5"),
        ("-500m", "-0.5"),
        ("2k", "2000"),
        ("2M", "2000000"),
        ("2G", "2000000000"),
        ("2T", "2000000000000"),
        ("2P", "2000000000000000"),
        ("2E", "2000000000000000000"),
        ("2Ki", "2048"),
        ("2Mi", "2097152"),
        ("2Gi", "2147483648"),
        ("2Ti", "2199023255552"),
        ("2Pi", "2251799813685248"),
        ("2Ei", "2305843009213693952"),
        ("1.5Gi", "1610612736"),
        (".5Ki", "512"),
        ("1e3", "1000"),
        ("1E3", "1000"),
        ("12e+2", "1200"),
        ("12e-2", "0.12"),
        ("1E", "1000000000000000000"),
        ("0Gi", "0"),
    ],
)
def test_numbers(text, number):
    assert parse_quantity(text) == Decimal(number)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "-", ".", "m", "Gi", "lots", "1 Gi", " 1", "1 ", "1\n", "1,5", "1_000", "0x10", "1.2.3", "--1"),
        *("1K", "1ki", "1gi", "1GB", "4Gib", "1mi", "1e", "1e+", "1e999", "1Ge3", "½", "١", "NaN", "Infinity", "True"),
    ],
)
def test_nonsense(text):
    with pytest.raises(ValueError, match="is not a quantity such as 500m, 2 or 4Gi"):
        parse_quantity(text)


def test_what_looks_different_can_be_equal():
    assert parse_quantity("1") == parse_quantity("1000m") == parse_quantity(1) == parse_quantity("1e0")
    assert parse_quantity("1Gi") == parse_quantity("1024Mi") != parse_quantity("1G")


@pytest.mark.parametrize(("written", "kept"), [(2, 2), ("2", "2"), ("4Gi", "4Gi"), (0, 0)])
def test_a_field_keeps_it_as_written(written, kept):
    read = TypeAdapter(Quantity).validate_python(written)
    assert (read, type(read)) == (kept, type(kept))


@pytest.mark.parametrize("written", [1.5, True, None, "4GB", [1]])
def test_a_field_takes_nothing_else(written):
    with pytest.raises(ValidationError):
        TypeAdapter(Quantity).validate_python(written)
