from xdsl.dialects.builtin import ArrayAttr, FusedLoc, ModuleOp, NameLoc, NoneAttr, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from nn_opt.instruments.remarks import Remarks, report
from nn_opt.ir.remarks import Remark, collect_remarks, remark


def test_remarks_are_dropped_unless_collected():
    op = ModuleOp([])
    remark(op, "some-pass", "lost")
    with collect_remarks() as outer:
        remark(op, "some-pass", "first")
        with collect_remarks() as inner:
            remark(op, "some-pass", "second")
        remark(op, "some-pass", "third")
    assert [r.text for r in outer] == ["first", "second", "third"]
    assert [r.text for r in inner] == ["second"]


def test_a_remark_names_the_first_node_its_op_stands_for():
    op = ModuleOp([])
    names = [NameLoc(StringAttr(name), NoneAttr()) for name in ("conv1", "bn1")]
    op.location = FusedLoc(ArrayAttr(names), NoneAttr())
    with collect_remarks() as remarks:
        remark(op, "some-pass", "done")
    assert str(remarks[0]) == "node 'conv1': remark: builtin.module: done [some-pass]"


def test_a_remark_knows_its_function():
    inner = ReturnOp()
    function = FuncOp("f", ((), ()), Region(Block([inner])))
    module = ModuleOp([function])
    with collect_remarks() as remarks:
        for op in (module, function, inner):
            remark(op, "some-pass", "seen")
    assert [r.function for r in remarks] == ["", "f", "f"]


def test_yaml_has_the_form_of_llvm():
    remarks = [
        Remark("node 'conv1'", "some-pass", "graph.conv", "it's done", "f"),
        Remark("a:b.mlir:3:7", "some-pass", "graph.conv", "two\nlines", "f"),
    ]
    assert report(remarks, "yaml").splitlines() == [
        "--- !Analysis",
        "Pass:            'some-pass'",
        "Name:            'graph.conv'",
        "Function:        'f'",
        "Args:",
        "  - String:          'it''s done'",
        "  - Location:        'node ''conv1'''",
        "...",
        "--- !Analysis",
        "Pass:            'some-pass'",
        "Name:            'graph.conv'",
        "DebugLoc:        { File: 'a:b.mlir', Line: 3, Column: 7 }",
        "Function:        'f'",
        "Args:",
        r'  - String:          "two\nlines"',
        "...",
    ]
    matching = Remarks("two")
    matching.remarks += remarks
    assert str(matching).count("remark:") == 1
