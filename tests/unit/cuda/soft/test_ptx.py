"""PTX text: what is read, and what is refused with a message that names the line."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from shoal.cuda.driver import Status
from shoal.cuda.soft.compile.jit import Machine
from shoal.cuda.soft.ptx.lexer import tokens
from shoal.cuda.soft.ptx.parser import parse
from shoal.cuda.soft.ptx.tree import Instruction, Name, Not, Number, Pair, PtxError, Real
from tests.unit.cuda.soft.running import HEADER, Gpu, compiled

KERNELS = Path(__file__).parent / "kernels"


def instructions(body: str) -> list[Instruction]:
    found = parse(f"{HEADER}.entry k() {{ {body} }}").functions["k"].body
    assert found is not None
    return [item for item in found if isinstance(item, Instruction)]


def test_tokens_know_their_lines() -> None:
    found = tokens("add.u32 /* over\nlines */ %r1 // to the end\n , 0x1F;")
    assert [(token.text, token.line) for token in found[:-1]] == [
        ("add", 1),
        (".u32", 1),
        ("%r1", 2),
        (",", 3),
        ("0x1F", 3),
        (";", 3),
    ]


def test_an_instruction() -> None:
    (found,) = instructions("@!%p1 setp.lt.and.s32 %p1|%p2, %tid.x, -3, !%p3;")
    assert found.text == "setp.lt.and.s32"
    assert found.guard == Not(Name("%p1"))
    assert found.operands == (Pair(Name("%p1"), Name("%p2")), Name("%tid", "x"), Number(-3), Not(Name("%p3")))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("17", Number(17)),
        ("0x1fU", Number(31)),
        ("017", Number(15)),
        ("0b101", Number(5)),
        ("0f3F800000", Real(0x3F800000, 32)),
        ("-0f3F800000", Real(0xBF800000, 32)),
        ("0d4000000000000000", Real(0x4000000000000000, 64)),
        ("1.5", Real(0x3FF8000000000000, 64)),
        ("2e3", Real(0x409F400000000000, 64)),
    ],
)
def test_constants(text: str, value: object) -> None:
    assert instructions(f"mov.b32 %r1, {text};")[0].operands[1] == value


def test_a_constant_beyond_32_bits_is_infinite() -> None:
    assert Real(0x7FEFFFFFFFFFFFFF, 64).of(32) == 0x7F800000
    assert Real(0xFF800000, 32).of(64) == 0xFFF0000000000000
    assert Real(0x3F800000, 32).of(16) is None


def test_what_compilers_write_beside_the_code_is_passed_over() -> None:
    text = f"""{HEADER}
    .file 1 "a.cu", 5, 7
    .section .debug_str {{ .b8 1, 2; }}
    .visible .entry k(.param .u64 a) .maxntid 128, 2, 1 .minnctapersm 2 .pragma "nounroll";
    {{ .loc 1 5 3
      .pragma "nounroll";
      L: {{ .reg .b32 %x; mov.b32 %x, 1; }}
      ret; }}"""
    assert compiled(text).kernels["k"].max_threads == 256


def test_the_only_size_of_a_block() -> None:
    kernel = compiled(f"{HEADER}.entry k() .reqntid 16, 4 {{ ret; }}").kernels["k"]
    assert (kernel.block, kernel.max_threads) == ((16, 4, 1), 64)


def test_modules_are_linked() -> None:
    uses = f"{HEADER}.extern .global .u32 x; .extern .func (.reg .b32 r) f(.reg .b32 a);"
    uses += ".entry k() { .reg .b32 %r1; call (%r1), f, (5); st.global.u32 [x], %r1; }"
    has = (
        f"{HEADER}.visible .global .u32 x = 1; .visible .func (.reg .b32 r) f(.reg .b32 a) {{ add.u32 r, a, 2; ret; }}"
    )
    gpu = Gpu(compiled(uses, has))
    assert gpu.launch("k", 1, 1) is None
    assert gpu.variable("x").tolist() == [7, 0, 0, 0]
    with pytest.raises(PtxError, match=r"x is declared \.extern, and no image defines it"):
        compiled(uses)


def test_names_within_braces_are_their_own() -> None:
    body = """.reg .b32 %a; mov.b32 %a, 1; { .reg .b32 %a; mov.b32 %a, 50; bra L; L: }
    { .reg .b32 %a; mov.b32 %a, 60; bra L; L: } st.global.u32 [x], %a;"""
    gpu = Gpu(compiled(f"{HEADER}.global .u32 x; .entry k() {{ {body} }}"))
    assert gpu.launch("k", 1, 1) is None
    assert gpu.variable("x")[0] == 1


def test_a_jump_by_a_table() -> None:
    body = """.reg .b32 %r<4>; .reg .b64 %d<2>; mov.u32 %r0, %tid.x; mul.wide.u32 %d0, %r0, 4; mov.u64 %d1, x;
    add.u64 %d1, %d1, %d0; T: .branchtargets A, B, C; brx.idx %r0, T;
    A: mov.u32 %r1, 10; bra DONE; B: mov.u32 %r1, 20; bra DONE; C: mov.u32 %r1, 30;
    DONE: st.global.u32 [%d1], %r1;"""
    gpu = Gpu(compiled(f"{HEADER}.global .align 4 .b8 x[12]; .entry k() {{ {body} }}"))
    assert gpu.launch("k", 1, 3) is None
    assert gpu.variable("x")[::4].tolist() == [10, 20, 30]


def body(text: str) -> str:
    registers = ".reg .pred %p<2>; .reg .b16 %h<2>; .reg .b32 %r<3>; .reg .b64 %d<3>;"
    return f"{HEADER}.global .u32 x;\n.entry k() {{ {registers}\n{text}\n}}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "PTX line 1: expected '.version', and found 'the end'"),
        (".version 8.0 .target sm_80 .address_size 32", "line 1: addresses of 32 bits are not supported"),
        (f"{HEADER}.entry k() {{ ret;", "line 4: a function has no end"),
        (f"{HEADER}.entry k() {{ add.u32 ?; }}", "line 4: '?' is not PTX"),
        (f"{HEADER}.global .texref t;", "line 4: .texref: textures and surfaces are not supported"),
        (f"{HEADER}.global .b8 t[4] = {{0xFF(t)}};", "line 4: a byte of an address"),
        (f"{HEADER}.global .u16 t = {{t}};", "line 4: t: the address of t cannot stand here"),
        (f"{HEADER}.global .u8 t[2] = {{1, 2, 3}};", "line 4: t starts with more values than it holds"),
        (f"{HEADER}.global .f32 t = 2;", "line 4: t: 2 is no real number; write 2.0"),
        (f"{HEADER}.entry k() {{ }} .entry k() {{ }}", "line 4: k is defined twice"),
        (body("foo.u32 %r1, %r1;"), "line 6: foo.u32: the software GPU does not have this instruction"),
        (body("add.u32 %r1, %r1;"), "line 6: add.u32: it has 3 operands, not 2"),
        (body("add.u32 %r1, %r1, %r9;"), "line 6: add.u32: %r9 is not declared"),
        (body("add.u32 %r1, %r1, y;"), "line 6: y is not declared"),
        (body("add.u32 %r1, %r1, %d1;"), "line 6: add.u32: %d1 has 64 bits, where 32 are needed"),
        (body("add.u64 %r1, %d1, %d1;"), "line 6: add.u64: %r1 has 32 bits, and the result 64"),
        (body("add.b32 %r1, %r1, %r1;"), "line 6: add.b32: .b32 is not a type that it has"),
        (body("add.f32 %r1, %r1, 1;"), "line 6: add.f32: 1 is no real number; write 1.0"),
        (body("add.u32.foo %r1, %r1, 1;"), "line 6: add.u32.foo: .foo is not supported here"),
        (body("setp.lo.s32 %p1, %r1, 1;"), "line 6: setp.lo.s32: .lo is not for .s32"),
        (body("setp.lt.b32 %p1, %r1, 1;"), "line 6: setp.lt.b32: .lt is not for .b32"),
        (body("bra NOWHERE;"), "line 6: NOWHERE is not declared"),
        (body("bra;"), "line 6: bra: it goes to a label"),
        (body("st.const.u32 [x], 1;"), "line 6: st.const.u32: constant memory is not written"),
        (body("ld.global.v2.u32 %r1, [x];"), "line 6: ld.global.v2.u32: 2 registers take its result"),
        (body("ld.global.v8.u64 %d1, [x];"), "line 6: ld.global.v8.u64: more than 32 bytes at once"),
        (body("mov.u32 %r1, %nosuch;"), "line 6: mov.u32: %nosuch is not declared, and no special register"),
        (body("bar.sync 16;"), "line 6: bar.sync: barrier 16 is not one of the 16"),
        (body("call %d1, (%r1);"), "line 6: calls through a pointer are not supported"),
        (body("call missing;"), "line 6: missing is not declared"),
        (
            f"{HEADER}.func f() {{ call f; }}\n.entry k() {{ call f; }}",
            "line 4: f calls itself: recursion is not supported",
        ),
        (f"{HEADER}.extern .func f();\n.entry k() {{ call f; }}", "line 5: f is called, and no image defines it"),
        (f"{HEADER}.func f(.reg .b32 a) {{ }}\n.entry k() {{ call f; }}", "line 5: f takes 1 arguments, not 0"),
    ],
)
def test_faults_name_the_line(text: str, message: str) -> None:
    with pytest.raises(PtxError) as found:
        compiled(text)
    assert message in str(found.value)
    assert found.value.status == Status.INVALID_PTX


def test_a_version_that_is_too_new() -> None:
    with pytest.raises(PtxError) as found:
        compiled(".version 10.0 .target sm_80")
    assert found.value.status == Status.UNSUPPORTED_PTX_VERSION


@pytest.mark.parametrize("name", ["saxpy", "reduce", "program", "half"])
def test_broken_text_is_refused_or_still_compiles(name: str) -> None:
    """Tokens left out, doubled or exchanged: never another exception, and never LLVM text that LLVM does not take."""
    text = (KERNELS / f"{name}.ptx").read_text()
    lines = text.splitlines()
    chance = random.Random(name)
    start = next(index for index, line in enumerate(lines) if ".entry" in line or ".func" in line)
    for _ in range(60):
        broken = list(lines)
        for _ in range(chance.randint(1, 2)):
            at = chance.randrange(start, len(lines))
            words = broken[at].replace(",", " , ").replace(";", " ; ").split()
            if not words:
                continue
            match chance.randrange(3):
                case 0:
                    del words[chance.randrange(len(words))]
                case 1:
                    words.insert(chance.randrange(len(words)), chance.choice(words))
                case _:
                    other = chance.choice(lines).split() or [";"]
                    words[chance.randrange(len(words))] = chance.choice(other)
            broken[at] = " ".join(words)
        try:
            program = compiled("\n".join(broken))
        except PtxError:
            continue
        for kernel in [*program.kernels.values()][:1]:
            Machine(kernel.text)
