"""Random loop nests and index expressions: machine code against the same loops in Python."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from machine import run

SIZES = (5, 7)  # of the buffer that is read
NAMES = ("%i", "%j", "%k")
loops = st.lists(
    st.tuples(st.integers(1, 6), st.sampled_from(["", "unroll", "parallel"])),
    min_size=1,
    max_size=3,
)


@st.composite
def expressions(draw: st.DrawFn, depth: int) -> str:
    """The text of an index expression, which means the same in Python once it is spelled so."""
    parts: list[str] = []
    for name in NAMES[:depth]:
        factor = draw(st.integers(-3, 3))
        parts.append(f"{factor} * {name}")
    total = " + ".join(parts) + f" + {draw(st.integers(-4, 6))}"
    kind = draw(st.sampled_from(["", "", "floordiv", "mod"]))
    if not kind:
        return total
    return f"({total}) {kind} {draw(st.integers(2, 5))} + {draw(st.integers(-1, 2))}"


@st.composite
def programs(draw: st.DrawFn):
    nest = draw(loops)
    return nest, draw(expressions(len(nest))), draw(expressions(len(nest)))


def value(expression: str, point: tuple[int, ...]) -> int:
    for name, number in zip(NAMES, point, strict=False):
        expression = expression.replace(name, f"({number})")
    return eval(expression.replace("floordiv", "//").replace("mod", "%"))


def text_of(nest: list[tuple[int, str]], row: str, column: str, guard: str, lanes: int) -> str:
    shape = "x".join([*(str(trips) for trips, _ in nest), str(lanes)])
    out = f"memref<{shape}xf32>"
    place = ", ".join([*NAMES[: len(nest)], "0"])
    suffix = "" if lanes == 1 else f", vector<{lanes}xf32>"
    body = f"""%a = loop.load %x[{row}, {column}] or -1.0 : memref<5x7xf32>{suffix}
    loop.if ({guard} >= 0) {{
      %o = loop.load %count[0] : memref<1xi32, "register">
      %one = arith.constant 1 : i32
      %n = arith.addi %o, %one : i32
      loop.store %n, %count[0] : memref<1xi32, "register">
      loop.store %a, %y[{place}] : {out}{suffix}
    }}"""
    for (trips, how), name in reversed(list(zip(nest, NAMES, strict=False))):
        how = "" if how == "parallel" else how
        body = f"loop.for {name} = 0 to {trips} {how} {{\n{body}\n}}"
    return f"""
    func.func @k(%x: memref<5x7xf32>, %y: {out}, %total: memref<1xi32>) {{
      %count = loop.alloc "count" : memref<1xi32, "register">
      %zero = arith.constant 0 : i32
      loop.store %zero, %count[0] : memref<1xi32, "register">
      {body}
      %n = loop.load %count[0] : memref<1xi32, "register">
      loop.store %n, %total[0] : memref<1xi32>
      func.return
    }}"""


@settings(max_examples=60, deadline=None)
@given(programs(), st.sampled_from([1, 4, 8]))
def test_guarded_loads_and_branches(program, lanes: int):
    nest, row, column = program
    guard = row
    shape = [trips for trips, _ in nest]
    x = np.arange(35, dtype="f").reshape(SIZES)
    y, total = np.full((*shape, lanes), 7, "f"), np.zeros(1, np.int32)
    run(text_of(nest, row, column, guard, lanes), "k", x, y, total)
    wanted, count = np.full((*shape, lanes), 7, "f"), 0
    for point in product(*map(range, shape)):
        r, c = value(row, point), value(column, point)
        if r < 0:
            continue
        count += 1
        for lane in range(lanes):
            inside = r < SIZES[0] and 0 <= c + lane < SIZES[1]
            wanted[(*point, lane)] = x[r, c + lane] if inside else -1
    np.testing.assert_array_equal(y, wanted)
    assert total[0] == count


@settings(max_examples=60, deadline=None)
@given(programs())
def test_parallel_nests_of_any_shape(program):
    nest, row, column = program
    shape = [trips for trips, _ in nest]
    out = f"memref<{'x'.join(map(str, shape))}xf32>"
    body = f"""%a = loop.load %x[{row}, {column}] or 0.5 : memref<5x7xf32>
    %b = arith.addf %a, %c : f32
    loop.store %b, %y[{", ".join(NAMES[: len(nest)])}] : {out}"""
    for (trips, how), name in reversed(list(zip(nest, NAMES, strict=False))):
        body = f"loop.for {name} = 0 to {trips} {how} {{\n{body}\n}}"
    text = f"""
    func.func @k(%x: memref<5x7xf32>, %y: {out}) {{
      %c = loop.load %x[4, 6] : memref<5x7xf32>
      {body}
      func.return
    }}"""
    x, y = np.arange(35, dtype="f").reshape(SIZES), np.zeros(shape, "f")
    run(text, "k", x, y)
    for point in product(*map(range, shape)):
        r, c = value(row, point), value(column, point)
        inside = 0 <= r < SIZES[0] and 0 <= c < SIZES[1]
        assert y[point] == (x[r, c] if inside else 0.5) + 34
