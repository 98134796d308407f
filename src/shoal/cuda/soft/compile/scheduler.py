"""The code that runs blocks: every thread in its turn until it stops, then what its warp or block waits for.

Built once in LLVM like the kernels themselves, since it is between any two stops of a thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from llvmlite import ir

from shoal.cuda.soft.compile.control import _Typed
from shoal.cuda.soft.compile.emitter import I1, I32, I64, POINTER, Llvm, Structures
from shoal.cuda.soft.compile.layout import BARRIERS, WARP, Block, Launch, Reason, Stop, Thread


def text() -> str:
    """LLVM's text of `i32 run(launch, block)`, which takes blocks of the launch until there are no more."""
    module = ir.Module("scheduler")
    shape = ir.FunctionType(I32, [POINTER, POINTER, I32, I32])
    resolve = ir.Function(module, shape, "resolve")
    release = ir.Function(module, ir.FunctionType(I32, [POINTER, POINTER]), "release")
    run = ir.Function(module, ir.FunctionType(I32, [POINTER, POINTER]), "run")
    _Resolve(resolve).build()
    _Release(release).build()
    _Run(run).build(resolve, release)
    return str(module)


class _Part(Structures):
    def __init__(self, function: Llvm) -> None:
        self.function = function
        self.launch, self.block = function.args[:2]
        self.entry = function.append_basic_block("entry")
        self.builder = ir.IRBuilder(self.entry)
        self.threads = self.field(self.block, Block, "threads")
        self.count = self.field(self.launch, Launch, "threads")
        self.stride = self.builder.zext(self.field(self.launch, Launch, "stride"), I64)

    def thread(self, number: Llvm) -> Llvm:
        b = self.builder
        return b.inttoptr(b.add(self.threads, b.mul(b.zext(number, I64), self.stride)), POINTER)

    def new(self) -> Llvm:
        return self.function.append_basic_block()

    def variable(self, value: Llvm) -> Llvm:
        with self.builder.goto_block(self.entry):
            home = self.builder.alloca(value.type)
        self.builder.store(value, home)
        return home

    def get(self, home: Llvm) -> Llvm:
        return self.builder.load(home, typ=home.allocated_type)

    @contextmanager
    def each(self, first: Llvm, end: Llvm) -> Iterator[Llvm]:
        """A loop over first <= number < end."""
        b = self.builder
        home = self.variable(first)
        head, body, after = self.new(), self.new(), self.new()
        b.branch(head)
        b.position_at_end(head)
        number = self.get(home)
        b.cbranch(b.icmp_unsigned("<", number, end), body, after)
        b.position_at_end(body)
        yield number
        b.store(b.add(number, I32(1)), home)
        b.branch(head)
        b.position_at_end(after)

    def cell(self, name: str, number: Llvm) -> Llvm:
        where, kind = self.place(self.block, Block, name)
        return self.builder.gep(where, [self.builder.zext(number, I64)], source_etype=kind)

    def cttz(self, value: Llvm) -> Llvm:
        module = self.function.module
        known = module.globals.get("llvm.cttz.i32")
        if known is None:
            known = ir.Function(module, ir.FunctionType(I32, [I32, I1]), "llvm.cttz.i32")
        return self.builder.call(known, [value, I1(1)])


class _Resolve(_Part):
    """The operations of one warp for which all lanes are there. Returns 1 if there was one."""

    def build(self) -> None:
        b = self.builder
        first, end = self.function.args[2:]
        waiting, live, resolved = (self.variable(I32(0)) for _ in range(3))
        with self.each(first, end) as number:
            bit = b.shl(I32(1), b.sub(number, first))
            state = self.field(self.thread(number), Thread, "state")
            with b.if_then(b.icmp_unsigned("!=", state, I32(int(Stop.EXIT)))):
                b.store(b.or_(self.get(live), bit), live)
            with b.if_then(b.icmp_unsigned("==", state, I32(int(Stop.WARP)))):
                b.store(b.or_(self.get(waiting), bit), waiting)
        head, body, after = self.new(), self.new(), self.new()
        b.branch(head)
        b.position_at_end(head)
        b.cbranch(b.icmp_unsigned("!=", self.get(waiting), I32(0)), body, after)
        b.position_at_end(body)
        leader = self.thread(b.add(first, self.cttz(self.get(waiting))))
        key, mask = (self.field(leader, Thread, name) for name in ("key", "mask"))
        same, ballot = self.variable(I32(0)), self.variable(I32(0))
        with self.lanes(self.get(waiting), first) as (bit, thread):
            alike = b.and_(
                b.icmp_unsigned("==", self.field(thread, Thread, "key"), key),
                b.icmp_unsigned("==", self.field(thread, Thread, "mask"), mask),
            )
            with b.if_then(alike):
                b.store(b.or_(self.get(same), bit), same)
        whoever = b.icmp_unsigned("==", mask, I32(0))
        wanted = b.select(whoever, self.get(same), b.and_(mask, self.get(live)))
        missing = b.and_(wanted, b.not_(self.get(same)))
        with b.if_then(b.icmp_unsigned("==", missing, I32(0))):
            with self.lanes(self.get(same), first) as (bit, thread):
                given = self.field(thread, Thread, "given")
                self.put(thread, Thread, "shown", given)
                with b.if_then(b.icmp_unsigned("!=", given, I64(0))):
                    b.store(b.or_(self.get(ballot), bit), ballot)
            with self.lanes(self.get(same), first) as (bit, thread):
                self.put(thread, Thread, "group", self.get(same))
                self.put(thread, Thread, "ballot", self.get(ballot))
                self.put(thread, Thread, "state", int(Stop.RUN))
            b.store(I32(1), resolved)
        b.store(b.and_(self.get(waiting), b.not_(self.get(same))), waiting)
        b.branch(head)
        b.position_at_end(after)
        b.ret(self.get(resolved))

    @contextmanager
    def lanes(self, mask: Llvm, first: Llvm) -> Iterator[tuple[Llvm, Llvm]]:
        b = self.builder
        left = self.variable(mask)
        head, body, after = self.new(), self.new(), self.new()
        b.branch(head)
        b.position_at_end(head)
        now = self.get(left)
        b.cbranch(b.icmp_unsigned("!=", now, I32(0)), body, after)
        b.position_at_end(body)
        lane = self.cttz(now)
        yield b.shl(I32(1), lane), self.thread(b.add(first, lane))
        b.store(b.and_(now, b.sub(now, I32(1))), left)
        b.branch(head)
        b.position_at_end(after)


class _Release(_Part):
    """The barriers at which all have arrived. Returns how many threads can run, or -1 if all have ended."""

    def build(self) -> None:
        b = self.builder
        zero, ended, runnable = I32(0), self.variable(I32(0)), self.variable(I32(0))
        with self.each(zero, I32(BARRIERS)) as number:
            for name in ("waiting", "expected", "yes"):
                b.store(zero, self.cell(name, number))
        with self.each(zero, self.count) as number:
            thread = self.thread(number)
            state = self.field(thread, Thread, "state")
            with b.if_then(b.icmp_unsigned("==", state, I32(int(Stop.EXIT)))):
                b.store(b.add(self.get(ended), I32(1)), ended)
            with b.if_then(b.icmp_unsigned("==", state, I32(int(Stop.RUN)))):
                b.store(b.add(self.get(runnable), I32(1)), runnable)
            with b.if_then(b.icmp_unsigned("==", state, I32(int(Stop.BARRIER)))):
                barrier = self.field(thread, Thread, "barrier")
                self.add(self.cell("waiting", barrier), I32(1))
                b.store(self.field(thread, Thread, "count"), self.cell("expected", barrier))
                given = b.zext(b.icmp_unsigned("!=", self.field(thread, Thread, "given"), I64(0)), I32)
                self.add(self.cell("yes", barrier), given)
        with b.if_then(b.icmp_unsigned("==", self.get(ended), self.count)):
            b.ret(I32(-1))
        with self.each(zero, self.count) as number:
            thread = self.thread(number)
            state = self.field(thread, Thread, "state")
            with b.if_then(b.icmp_unsigned("==", state, I32(int(Stop.BARRIER)))):
                barrier = self.field(thread, Thread, "barrier")
                waiting = b.load(self.cell("waiting", barrier), typ=I32)
                arrived = b.load(self.cell("arrived", barrier), typ=I32)
                expected = b.load(self.cell("expected", barrier), typ=I32)
                all_ = b.icmp_unsigned("==", expected, zero)
                there = b.add(b.add(waiting, arrived), b.select(all_, self.get(ended), zero))
                with b.if_then(b.icmp_unsigned(">=", there, b.select(all_, self.count, expected))):
                    self.put(thread, Thread, "group", waiting)
                    those = b.load(self.cell("yes", barrier), typ=I32)
                    self.put(thread, Thread, "ballot", those)
                    self.put(thread, Thread, "state", int(Stop.RUN))
                    b.store(b.add(self.get(runnable), I32(1)), runnable)
                    b.store(I32(1), self.cell("agreed", barrier))
        with self.each(zero, I32(BARRIERS)) as number:
            done = self.cell("agreed", number)
            with b.if_then(b.icmp_unsigned("==", b.load(done, typ=I32), I32(1))):
                b.store(zero, self.cell("arrived", number))
            b.store(zero, done)
        b.ret(self.get(runnable))

    def add(self, cell: Llvm, value: Llvm) -> None:
        self.builder.store(self.builder.add(self.builder.load(cell, typ=I32), value), cell)


class _Run(_Part):
    def build(self, resolve: Llvm, release: Llvm) -> None:
        b = self.builder
        self.set_up()
        code = _Typed(
            b.inttoptr(self.field(self.launch, Launch, "code"), POINTER),
            ir.FunctionType(I32, [POINTER, POINTER, POINTER]),
        )
        following, taken, sweep, done = self.new(), self.new(), self.new(), self.new()
        b.branch(following)
        b.position_at_end(following)
        stopped = self.stopped()
        where, _ = self.place(self.launch, Launch, "next")
        index = b.atomic_rmw("add", where, I64(1), "monotonic")
        over = b.icmp_unsigned(">=", index, self.field(self.launch, Launch, "blocks"))
        b.cbranch(b.or_(stopped, over), done, taken)
        b.position_at_end(taken)
        self.place_block(index)
        b.branch(sweep)
        b.position_at_end(sweep)
        faulty = self.variable(I32(-1))
        with self.each(I32(0), b.lshr(b.add(self.count, I32(WARP - 1)), I32(5))) as warp:
            first = b.shl(warp, I32(5))
            end = b.add(first, I32(WARP))
            end = b.select(b.icmp_unsigned("<", end, self.count), end, self.count)
            again, settled = self.new(), self.new()
            b.branch(again)
            b.position_at_end(again)
            # A loop with a barrier or a shuffle in it comes here, and looks for the end nowhere else.
            with b.if_then(self.stopped()):
                self.give_up(Reason.STOPPED)
            with self.each(first, end) as number:
                thread = self.thread(number)
                ready = b.icmp_unsigned("==", self.field(thread, Thread, "state"), I32(int(Stop.RUN)))
                with b.if_then(ready):
                    why = b.call(code, [thread, self.block, self.launch])
                    self.put(thread, Thread, "state", why)
                    with b.if_then(b.icmp_unsigned("==", why, I32(int(Stop.FAULT)))):
                        b.store(number, faulty)
                        self.report(thread)
                        b.ret(I32(1))
            moved = b.call(resolve, [self.launch, self.block, first, end])
            b.cbranch(b.icmp_unsigned("!=", moved, I32(0)), again, settled)
            b.position_at_end(settled)
        runnable = b.call(release, [self.launch, self.block])
        with b.if_then(b.icmp_unsigned("==", runnable, I32(0))):
            self.give_up(Reason.DEADLOCK)
        b.cbranch(b.icmp_signed("<", runnable, I32(0)), following, sweep)
        b.position_at_end(done)
        b.ret(I32(0))

    def set_up(self) -> None:
        b = self.builder
        size = [self.field(self.launch, Launch, "block", index) for index in range(3)]
        local, step = self.field(self.block, Block, "local"), self.field(self.launch, Launch, "local_bytes")
        with self.each(I32(0), self.count) as number:
            thread = self.thread(number)
            self.put(thread, Thread, "linear", number)
            row = b.udiv(number, size[0])
            self.put(thread, Thread, "index", b.urem(number, size[0]), 0)
            self.put(thread, Thread, "index", b.urem(row, size[1]), 1)
            self.put(thread, Thread, "index", b.udiv(row, size[1]), 2)
            self.put(thread, Thread, "local", b.add(local, b.mul(b.zext(number, I64), step)))

    def place_block(self, index: Llvm) -> None:
        b = self.builder
        grid = [b.zext(self.field(self.launch, Launch, "grid", at), I64) for at in range(3)]
        row = b.udiv(index, grid[0])
        for at, value in enumerate((b.urem(index, grid[0]), b.urem(row, grid[1]), b.udiv(row, grid[1]))):
            self.put(self.block, Block, "index", b.trunc(value, I32), at)
        with self.each(I32(0), self.count) as number:
            thread = self.thread(number)
            self.put(thread, Thread, "resume", 0)
            self.put(thread, Thread, "state", int(Stop.RUN))
        with self.each(I32(0), I32(BARRIERS)) as number:
            b.store(I32(0), self.cell("arrived", number))
            b.store(I32(0), self.cell("agreed", number))

    def stopped(self) -> Llvm:
        stop, kind = self.place(self.launch, Launch, "stop")
        return self.builder.icmp_unsigned("!=", self.builder.load_atomic(stop, "monotonic", 4, typ=kind), I32(0))

    def give_up(self, reason: Reason) -> None:
        """End the block, for a fault that is told of the first thread which has not ended."""
        b = self.builder
        with self.each(I32(0), self.count) as number:
            thread = self.thread(number)
            with b.if_then(b.icmp_unsigned("!=", self.field(thread, Thread, "state"), I32(int(Stop.EXIT)))):
                self.put(thread, Thread, "fault_address", I64(0))
                self.put(thread, Thread, "fault_code", I64(int(reason)))
                self.report(thread)
                b.ret(I32(1))
        b.ret(I32(1))

    def report(self, thread: Llvm) -> None:
        """Take the launch's fields for this fault if it is the first, and end the others."""
        b = self.builder
        where, _ = self.place(self.launch, Launch, "failed")
        pair = b.cmpxchg(where, I32(0), I32(1), "seq_cst", "seq_cst")
        with b.if_then(b.extract_value(pair, 1)):
            for name in ("fault_address", "fault_code"):
                self.put(self.launch, Launch, name, self.field(thread, Thread, name))
            for at in range(3):
                self.put(self.launch, Launch, "fault_thread", self.field(thread, Thread, "index", at), at)
                self.put(self.launch, Launch, "fault_block", self.field(self.block, Block, "index", at), at)
            stop, _ = self.place(self.launch, Launch, "stop")
            self.store_atomic(I32(1), stop, "seq_cst")
