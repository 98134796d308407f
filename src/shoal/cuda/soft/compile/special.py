"""The special registers."""

from __future__ import annotations

from llvmlite import ir

from shoal.cuda.soft.compile.emitter import I32, I64, POINTER, Emitter, Llvm
from shoal.cuda.soft.compile.layout import WARP, Block, Launch, Thread
from shoal.cuda.soft.ptx.flat import Special

NAMES = """
%tid %ntid %ctaid %nctaid %gridid %laneid %warpid %nwarpid %smid %nsmid %lanemask_eq %lanemask_lt %lanemask_le
%lanemask_gt %lanemask_ge %clock %clock_hi %clock64 %globaltimer %globaltimer_lo %globaltimer_hi
%dynamic_smem_size %total_smem_size
"""
"""With spaces between them."""


def special(e: Emitter, register: Special) -> Llvm:
    """An integer of 32 or 64 bits."""
    b = e.builder
    vectors = {
        "tid": (e.thread, Thread, "index"),
        "ntid": (e.launch, Launch, "block"),
        "ctaid": (e.block, Block, "index"),
        "nctaid": (e.launch, Launch, "grid"),
    }
    if register.name in vectors:
        if register.part not in ("x", "y", "z"):
            raise e.error(f"%{register.name}.{register.part} is not x, y or z")
        return e.field(*vectors[register.name], "xyz".index(register.part))
    linear = e.field(e.thread, Thread, "linear")
    lane = b.and_(linear, I32(WARP - 1))
    bit = b.shl(I32(1), lane)
    match register.name:
        case "laneid":
            return lane
        case "warpid":
            return b.lshr(linear, I32(5))
        case "nwarpid":
            return b.lshr(b.add(e.field(e.launch, Launch, "threads"), I32(WARP - 1)), I32(5))
        case "lanemask_eq":
            return bit
        case "lanemask_lt":
            return b.sub(bit, I32(1))
        case "lanemask_le":
            return b.or_(bit, b.sub(bit, I32(1)))
        case "lanemask_gt":
            return b.not_(b.or_(bit, b.sub(bit, I32(1))))
        case "lanemask_ge":
            return b.not_(b.sub(bit, I32(1)))
        case "smid":
            return e.field(e.block, Block, "worker")
        case "nsmid":
            return e.field(e.launch, Launch, "processors")
        case "gridid":
            return e.field(e.launch, Launch, "number")
        case "dynamic_smem_size":
            return b.trunc(e.field(e.launch, Launch, "dynamic_bytes"), I32)
        case "total_smem_size":
            return b.trunc(e.shared_bytes, I32)
        case "clock" | "clock64" | "clock_hi" | "globaltimer" | "globaltimer_lo" | "globaltimer_hi":
            now = _clock(e, register.name.startswith("clock"))
            if register.name.endswith("hi"):
                return b.trunc(b.lshr(now, I64(32)), I32)
            return b.trunc(now, I32) if register.name in ("clock", "globaltimer_lo") else now
    raise e.error(f"%{register.name} is not declared, and no special register that is supported")


def _clock(e: Emitter, cycles: bool) -> Llvm:
    """The processor's counter of cycles, or nanoseconds since 1970."""
    if cycles:
        known = e.module.globals.get("llvm.readcyclecounter")
        if known is None:
            known = ir.Function(e.module, ir.FunctionType(I64, []), "llvm.readcyclecounter")
        return e.builder.call(known, [])
    known = e.module.globals.get("clock_gettime")
    if known is None:
        known = ir.Function(e.module, ir.FunctionType(I32, [I32, POINTER]), "clock_gettime")
    with e.builder.goto_block(e.entry):
        spec = e.builder.bitcast(e.builder.alloca(ir.ArrayType(I64, 2)), POINTER)
    e.builder.call(known, [I32(0), spec])
    seconds = e.builder.load(spec, typ=I64)
    nanoseconds = e.builder.load(e.builder.gep(spec, [I64(8)], source_etype=ir.IntType(8)), typ=I64)
    return e.builder.add(e.builder.mul(seconds, I64(10**9)), nanoseconds)
