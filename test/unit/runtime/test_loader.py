"""Object code: what it needs is known before it runs."""

from __future__ import annotations

import pytest
from tiny_models import assemble

from nn_opt.runtime.loader import LoadedCode, Unloadable, find_section, symbols

NEEDS = """
declare float @{name}(float)
define float @f(float %x) {{
  %y = call float @{name}(float %x)
  ret float %y
}}
"""


def test_an_unknown_function_is_named_instead_of_called_at_address_zero():
    with pytest.raises(
        Unloadable, match="the compiled code needs what is not here: no_such_function"
    ):
        LoadedCode([assemble(NEEDS.format(name="no_such_function"))])


@pytest.mark.parametrize("name", ["expf", "erff", "tanhf", "fmodf", "cbrtf"])
def test_the_c_library_is_at_hand(name):
    assert LoadedCode([assemble(NEEDS.format(name=name))]).address("f")


def test_a_function_of_one_object_may_be_called_from_another():
    other = "define float @mine(float %x) { ret float %x }"
    assert LoadedCode([assemble(NEEDS.format(name="mine")), assemble(other)]).address("f")


def test_a_missing_entry_is_an_error():
    with pytest.raises(Unloadable, match="the compiled code has no function 'nn_main'"):
        LoadedCode([assemble("define void @f() { ret void }")]).address("nn_main")


def test_symbols_of_an_object():
    table = dict(symbols(assemble(NEEDS.format(name="expf"))))
    assert table == {"f": True, "expf": False}


def test_damaged_objects_are_refused():
    good = assemble(NEEDS.format(name="expf"))
    for bad in (b"", b"\x7fELF", good[: len(good) // 2], good[:-1], bytes(len(good))):
        with pytest.raises(Unloadable, match="not a 64-bit ELF object"):
            list(symbols(bad))


def test_what_is_wrong_with_an_object_is_said():
    good = assemble(NEEDS.format(name="expf"))
    with pytest.raises(Unloadable, match="ELF object: the file does not begin as one"):
        list(symbols(bytes(len(good))))
    table = int.from_bytes(good[40:48], "little")  # where the section headers are
    sizes = [table + 64 * k + 32 for k in range(1, int.from_bytes(good[60:62], "little"))]
    beyond = bytearray(good)
    for place in sizes:
        beyond[place : place + 8] = len(good).to_bytes(8, "little")
    with pytest.raises(Unloadable, match="ELF object: a section reaches beyond its end"):
        list(symbols(beyond))
    with pytest.raises(Unloadable, match=r"the object has no section '\.nowhere'"):
        find_section(good, ".nowhere")
