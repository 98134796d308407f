from tools import generate_ptx_table


def test_the_page_lists_the_instructions_that_there_are() -> None:
    page = generate_ptx_table.PAGE.read_text()
    assert generate_ptx_table.put(page) == page, "run: python tools/generate_ptx_table.py"
    assert "| `dp4a` `dp2a` |" in page


def test_every_family_is_on_the_page() -> None:
    assert {entry.family for entry in generate_ptx_table.TABLE.values()} == set(generate_ptx_table.FAMILIES)
