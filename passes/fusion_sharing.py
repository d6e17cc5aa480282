"""What a value with several reading kernels does: computed again in each, or kept in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Operation

from nn_opt.ir.remarks import remark
from nn_opt.passes.fusion_costs import elements, instructions, is_static_tensor, tensor_bytes
from nn_opt.passes.fusion_groups import Group, Grouping, anchors_agree, can_feed


@dataclass
class Sharing:
    """Decides for each group that several groups read, the last one first: so it is known how
    many kernels compute the readers."""

    grouping: Grouping
    pass_name: str
    holders: dict[Operation, list[Group]] = field(default_factory=dict[Operation, list[Group]])
    """The kernels that an op is part of."""

    def decide(self, groups: list[Group]) -> list[Group]:
        """Return the groups that become kernels, those recomputed by their readers left out."""
        self.holders = {op: [group] for group in groups for op in group.ops}
        return [group for group in reversed(groups) if not self.recomputed(group)][::-1]

    def recomputed(self, group: Group) -> bool:
        """Give each reader its own copy of `group` if that pays; say so or why not."""
        last = group.ops[-1]
        if len(last.results) != 1:
            return False
        readers = self.grouping.readers(group.output)
        consumers = list(dict.fromkeys(k for op in readers for k in self.holders.get(op, [])))
        others = sum(op not in self.holders for op in readers)
        kernels = len(consumers) + others
        if kernels < 2:
            return False
        why_not = self.obstacle(group, consumers, others)
        if why_not:
            remark(last, self.pass_name, f"kept in memory for {kernels} readers: {why_not}")
            return False
        saved, work = recompute_balance(group, len(consumers))
        verb = "computed again in each of" if saved > work else "kept in memory for"
        text = f"{verb} {kernels} readers: {saved} bytes of traffic against {work} operations"
        remark(last, self.pass_name, text)
        if saved <= work:
            return False
        self.copy_into(group, consumers)
        return True

    def obstacle(self, group: Group, consumers: list[Group], others: int) -> str:
        """Return why the readers cannot compute `group` themselves; empty if they can."""
        if group.anchor is not None:
            return f"{group.anchor.name} is too dear to repeat"
        if not group.pointwise or not is_static_tensor(group.output):
            return f"{group.ops[0].name} is not repeated"
        if others or not all(self.fits(group, consumer) for consumer in consumers):
            return "a reader needs the whole value"
        return ""

    def fits(self, group: Group, consumer: Group) -> bool:
        """Return whether `consumer` may compute `group` on the way."""
        members = set(consumer.ops)
        readers = [r for r in self.grouping.readers(group.output) if r in members]
        small = self.grouping.fits(group, consumer)
        return small and anchors_agree(group, consumer) and can_feed(group, readers)

    def copy_into(self, group: Group, consumers: list[Group]) -> None:
        """Make the ops of `group` members of each consumer instead."""
        position = self.grouping.position
        for consumer in consumers:
            consumer.ops = sorted({*group.ops, *consumer.ops}, key=position.__getitem__)
        for op in group.ops:
            others = (holder for holder in self.holders[op] if holder is not group)
            self.holders[op] = list(dict.fromkeys([*others, *consumers]))


def recompute_balance(group: Group, readers: int) -> tuple[int, int]:
    """Return the bytes not moved, and the operations done again, if all readers recompute.

    Kept: one kernel reads the inputs and writes the value, and each reader reads it.
    Recomputed: each reader reads the inputs. A core moves about one byte in the time of one
    vectorised operation on one element, so the two numbers compare directly.
    """
    read = sum(tensor_bytes(value) for value in group.inputs())
    value = tensor_bytes(group.output)
    saved = read + value + readers * value - readers * read
    work = sum(instructions(op) * elements(op.results[0]) for op in group.ops)
    return saved, (readers - 1) * work
