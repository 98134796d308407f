"""The generated part of the C client: prototypes, messages' numbers, functions that only send, and tables of names."""

from __future__ import annotations

import re

from shoal.cuda.api.answers import ALIASES, OWN_VARIANTS, REMOTE, Mode, answers
from shoal.cuda.api.functions import LEGACY, Function, Parameter, functions, results
from shoal.cuda.api.messages import PROTOCOL, is_output, messages
from shoal.cuda.environment import NUMBERS, SERVERS, TOKEN

NOTE = "/* Written by python -m shoal.cuda.api from src/shoal/cuda/api; change it there. */\n"

PLAIN = {
    "size_t": "size_t",
    "int": "int",
    "unsigned int": "unsigned",
    "unsigned": "unsigned",
    "unsigned short": "unsigned short",
    "unsigned char": "unsigned char",
    "unsigned long long": "unsigned long long",
    "cuuint32_t": "uint32_t",
    "cuuint64_t": "uint64_t",
    "float": "float",
    "double": "double",
    "char": "char",
    "void": "void",
    "CUdeviceptr": "uint64_t",
    "CUdeviceptr_v2": "uint64_t",
    "CUdevice": "int",
}
HANDLES = "CUcontext CUmodule CUfunction CUlibrary CUkernel CUstream CUevent CUlinkState CUarray CUgraph CUmemoryPool"
FUNCTIONS = "CUhostFn CUstreamCallback"
STRUCTURES = "CUDA_MEMCPY2D CUuuid CUdevprop CUlaunchConfig CUexecAffinityParam CUctxCreateParams"
LOCATION = re.compile(r"^(const )?(\w[\w ]*?)(\**)$")


def c_files() -> dict[str, str]:
    """The text of each file in `native/generated`, by name."""
    return {
        "environment.h": _environment(),
        "functions.h": _prototypes(),
        "messages.h": _messages(),
        "refused.c": _refused(),
        "remote.c": _remote(),
        "tables.h": _tables(),
    }


def _environment() -> str:
    names = {"SERVERS": SERVERS, "NUMBERS": NUMBERS, "TOKEN": TOKEN}
    return NOTE + "".join(f'#define {name} "{variable}"\n' for name, variable in names.items())


def _messages() -> str:
    lines = [f"    M_{message.name.upper()} = {number},\n" for number, message in messages().items()]
    return f"{NOTE}#define PROTOCOL {PROTOCOL}u\n\nenum {{\n{''.join(lines)}}};\n"


def c_type(type: str) -> str:
    """The type of a parameter as the calling convention has it: handles and functions are pointers, enumerations
    are numbers."""
    found = LOCATION.match(type)
    assert found, type
    const, base, stars = found.group(1) or "", found.group(2), found.group(3)
    if base in PLAIN:
        return f"{const}{PLAIN[base]} {stars}".strip()
    if base in (*HANDLES.split(), *FUNCTIONS.split()):
        return f"void *{stars}"
    if base in STRUCTURES.split():
        return f"{const}void {stars}"
    return f"{const}int {stars}".strip()


def _declare(function: Function) -> str:
    given = [f"{c_type(each.type)} {each.name}".replace("* ", "*") for each in function.parameters]
    return f"CUresult {function.symbol}({', '.join(given) or 'void'})"


def _answered() -> list[Function]:
    """Those that are, in their own form: not the variants for per-thread streams."""
    told = answers()
    return [each for symbol, each in functions().items() if told[symbol].mode and each.stream == LEGACY]


def _variants() -> list[Function]:
    told = answers()
    return [each for symbol, each in functions().items() if told[symbol].mode and each.stream != LEGACY]


def _prototypes() -> str:
    known = "".join(f"{_declare(each)};\n" for each in (*_answered(), *_variants()))
    refused = "".join(f"CUresult {symbol}(void);\n" for symbol, each in answers().items() if not each.mode)
    return f'{NOTE}#include "../shoal.h"\n\n{known}\n{refused}'


def _refused() -> str:
    lines = (
        f'EXPORT CUresult {symbol}(void) {{\n    return shoal_refuse("{symbol}");\n}}\n'
        for symbol, each in answers().items()
        if not each.mode
    )
    return f'{NOTE}#include "functions.h"\n\n' + "\n".join(lines)


def _remote() -> str:
    parts = [_sender(functions()[symbol]) for symbol in sorted(REMOTE)]
    parts += [f"EXPORT {_declare(functions()[symbol])} {{\n    {_call(symbol)}}}\n" for symbol in sorted(ALIASES)]
    parts += [_variant(each) for each in _variants() if each.symbol not in OWN_VARIANTS]
    return f'{NOTE}#include "functions.h"\n#include "messages.h"\n\n' + "\n".join(parts)


def _call(symbol: str) -> str:
    target, _, given = ALIASES[symbol].partition("(")
    unused = [each.name for each in functions()[symbol].parameters if not re.search(rf"\b{each.name}\b", given)]
    ignored = "".join(f"(void){name};\n    " for name in unused)
    return f"{ignored}return {target}({given};\n"


def _variant(function: Function) -> str:
    """The same, with this thread's own stream in place of stream 0."""
    given = [
        f"{each.name} ? {each.name} : (void *)2" if each.type == "CUstream" else each.name
        for each in function.parameters
    ]
    return f"EXPORT {_declare(function)} {{\n    return {function.base}({', '.join(given)});\n}}\n"


def _put(parameter: Parameter) -> str:
    name = parameter.name
    match parameter.type:
        case "CUstream":
            return f"    put_u64(&call, shoal_stream({name}));\n"
        case "CUevent":
            return f"    put_u64(&call, (uintptr_t){name});\n"
        case "CUfunction":
            return f"    put_u64(&call, {name}_id);\n"
        case "CUdeviceptr" | "size_t":
            return f"    put_u64(&call, {name});\n"
    return f"    put_u32(&call, (uint32_t){name});\n"


def _get(parameter: Parameter) -> str:
    name, type = parameter.name, parameter.type.removesuffix("*")
    if type == "float":
        return f"        union {{ uint32_t bits; float value; }} {name}_is = {{get_u32(&reader)}};\n" + (
            f"        if ({name})\n            *{name} = {name}_is.value;\n"
        )
    size = "u32" if type in ("int", "unsigned int") else "u64"
    cast = f"({c_type(type)})".replace(" *", " *") + ("(uintptr_t)" if type in HANDLES.split() else "")
    found = f"        uint64_t {name}_is = get_{size}(&reader);\n"
    return found + f"        if ({name})\n            *{name} = {cast}{name}_is;\n"


def _sender(function: Function) -> str:
    inputs = [each for each in function.parameters if not is_output(each)]
    outputs = [each for each in function.parameters if is_output(each)]
    handles = [each.name for each in inputs if each.type == "CUfunction"]
    remote = REMOTE[function.symbol]
    streams = [each for each in inputs if each.type == "CUstream"]
    body = [f"EXPORT {_declare(function)} {{\n    struct call call;\n"]
    body += [f"    uint64_t {name}_id = 0;\n" for name in handles]
    body += [f"    uint64_t {each.name}_id;\n" for each in streams]
    body += [f"    CUresult status = shoal_current_call(&call, M_{remote.message.upper()});\n"]
    body += [f"    if (!status)\n        status = shoal_function_id({name}, &{name}_id);\n" for name in handles]
    body += ["    if (status)\n        return status;\n"]
    # A thread's own stream is made by a call; so streams are looked up before the message is begun.
    body += [f"    {each.name}_id = shoal_stream({each.name});\n" for each in streams]
    body += [_put(each).replace(f"shoal_stream({each.name})", f"{each.name}_id") for each in inputs]
    if remote.mode is Mode.POSTED:
        return "".join([*body, "    return shoal_post(&call, NULL, 0);\n}\n"])
    if not outputs:
        return "".join([*body, "    return shoal_ask_plainly(&call);\n}\n"])
    body += ["    struct reply reply = {0};\n    status = shoal_ask(&call, NULL, 0, &reply);\n    if (!status) {\n"]
    body += ["        struct reader reader = {reply.data, reply.data + reply.bytes, 0};\n"]
    body += [_get(each) for each in outputs]
    return "".join([*body, "    }\n    shoal_free_reply(&reply);\n    return status;\n}\n"])


SYMBOL = """\
/* In order of the name by which cuGetProcAddress is asked. */
static const struct symbol {
    const char *name, *symbol;
    void *function;
    int version, per_thread;
} shoal_symbols[] = {
"""
RESULT = """\
static const struct result {
    int number;
    const char *name, *text;
} shoal_results[] = {
"""


def _tables() -> str:
    symbols = "".join(map(_row, sorted(functions().values(), key=lambda each: (each.name, each.symbol))))
    told = "".join(f'    {{{number}, "{name}", "{_text(name)}"}},\n' for number, name in results().items())
    return f"{NOTE}{SYMBOL}{symbols}}};\n\n{RESULT}{told}}};\n"


def _row(each: Function) -> str:
    per_thread = int(each.stream != LEGACY)
    return f'    {{"{each.name}", "{each.symbol}", (void *){each.symbol}, {each.version}, {per_thread}}},\n'


def _text(name: str) -> str:
    return "no error" if name == "CUDA_SUCCESS" else name.removeprefix("CUDA_ERROR_").lower().replace("_", " ")
