from xdsl.dialects.builtin import ArrayAttr, FusedLoc, ModuleOp, NameLoc, NoneAttr, StringAttr

from nn_opt.ir.remarks import collect_remarks, remark


def test_remarks_are_dropped_unless_collected():
    op = ModuleOp([])
    remark(op, "some-pass", "lost")
    with collect_remarks() as outer:
        remark(op, "some-pass", "first")
        with collect_remarks() as inner:
            remark(op, "some-pass", "second")
        remark(op, "some-pass", "third")
    assert [r.text for r in outer] == ["first", "third"]
    assert [r.text for r in inner] == ["second"]


def test_a_remark_names_the_first_node_its_op_stands_for():
    op = ModuleOp([])
    names = [NameLoc(StringAttr(name), NoneAttr()) for name in ("conv1", "bn1")]
    op.location = FusedLoc(ArrayAttr(names), NoneAttr())
    with collect_remarks() as remarks:
        remark(op, "some-pass", "done")
    assert str(remarks[0]) == "node 'conv1': remark: builtin.module: done [some-pass]"
