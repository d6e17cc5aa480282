"""Every message that the product can end with, found in its sources; holes stand for values."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

HOLE = "\0"
# Not for users: invariants, and what another part of the product catches.
SILENT = {"AssertionError", "AttributeError", "EOFError", "HelperDied", "Malformed"}
# Calls that word a message, and its place among their arguments.
SAYING = {"complaint": 1, "diagnose": 1, "note_at": 1, "Diagnostic": 2} | {
    "ParseError": 1,
    "raise_error": 0,
}
FORMATTING = {"removeprefix", "removesuffix", "strip", "rstrip"}
MOST_ALTERNATIVES = 512
FEW = 6  # letters of a text that is mostly made of others

Function = ast.FunctionDef | ast.Module


@dataclass(frozen=True)
class Unit:
    """One source file and what it defines."""

    path: Path
    tree: ast.Module
    functions: dict[str, list[ast.FunctionDef]]
    inside: dict[ast.AST, Function]
    bound: dict[tuple[Function, str], list[ast.expr]] = field(default_factory=dict)
    calls: dict[str, list[ast.Call]] = field(default_factory=dict)
    given: dict[Function, list[ast.expr]] = field(default_factory=dict)
    imported: dict[str, str] = field(default_factory=dict)
    makers: set[str] = field(default_factory=set)  # functions that return an error
    raised: list[ast.Call] = field(default_factory=list)
    labelled: list[ast.JoinedStr] = field(default_factory=list)


def read_unit(path: Path) -> Unit:
    """Return the facts about one file that messages depend on."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    unit = Unit(path, tree, {}, {})
    _index(unit, tree, tree)
    return unit


def _index(unit: Unit, node: ast.AST, function: Function) -> None:
    for child in ast.iter_child_nodes(node):
        unit.inside[child] = function
        _note(unit, child, function)
        _index(unit, child, child if isinstance(child, ast.FunctionDef) else function)


def _note(unit: Unit, node: ast.AST, function: Function) -> None:
    for name, value in _bindings(node):
        unit.bound.setdefault((function, name), []).append(value)
    match node:
        case ast.FunctionDef():
            unit.functions.setdefault(node.name, []).append(node)
            if node.returns is not None and ast.unparse(node.returns).endswith("Error"):
                unit.makers.add(node.name)
        case ast.ImportFrom(module=str(module), names=names):
            unit.imported.update((alias.name, module) for alias in names)
        case ast.Call():
            unit.calls.setdefault(_name(node), []).append(node)
        case ast.Return(value=ast.expr() as value) | ast.Yield(value=ast.expr() as value):
            unit.given.setdefault(function, []).append(value)
        case ast.Raise(exc=ast.Call() as error):
            unit.raised.append(error)
        case ast.JoinedStr(values=values):
            if any(isinstance(v, ast.Constant) and "error: " in str(v.value) for v in values):
                unit.labelled.append(node)
        case _:
            pass


def _bindings(node: ast.AST) -> list[tuple[str, ast.expr]]:
    """Return the names that a node gives a value, or a list of values, and what it gives them."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            pairs = zip(names, values, strict=False)
            return [(name.id, value) for name, value in pairs if isinstance(name, ast.Name)]
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return [(name, value)]
        case ast.NamedExpr(target=target, value=value) | ast.AugAssign(target=target, value=value):
            return [(target.id, value)] if isinstance(target, ast.Name) else []
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            return [(name, value)]
        case ast.For(target=target, iter=values) | ast.comprehension(target=target, iter=values):
            return [(target.id, values)] if isinstance(target, ast.Name) else []
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[value]):
            return [(name, value)]
        case _:
            return []


class Reader:
    """Follows the texts of messages through names, parameters and helpers."""

    def __init__(self, units: Iterable[Unit]):
        self.units = list(units)
        self._known: dict[int, list[str]] = {}

    def messages(self) -> Iterator[str]:
        """Yield the texts of what is raised or worded, with each alternative."""
        for unit in self.units:
            for source in unit.raised + [c for name in SAYING for c in unit.calls.get(name, ())]:
                if _name(source) not in SILENT:
                    yield from self._call(unit, source)
            for literal in unit.labelled:
                yield from self.texts(unit, literal)

    def texts(self, unit: Unit, node: ast.expr) -> list[str]:
        """Return what an expression may spell."""
        match node:
            case ast.Constant(value=value):
                return [value if isinstance(value, str) else HOLE]
            case ast.JoinedStr(values=values):
                return self._joined(unit, values)
            case ast.BinOp(op=ast.Add(), left=left, right=right):
                return self._sum(unit, left, right)
            case ast.IfExp(body=left, orelse=right) | ast.BoolOp(values=[left, right]):
                texts = (*self.texts(unit, left), *self.texts(unit, right))
                return [text for text in texts if HOLE in text or any(map(str.isalpha, text))]
            case ast.Name(id=name):
                return self._named(unit, node, name)
            case ast.Call():
                return self._call(unit, node)
            case ast.NamedExpr(value=value):
                return self.texts(unit, value)
            case ast.List(elts=elements) | ast.Tuple(elts=elements) if elements:
                return [text for element in elements for text in self.texts(unit, element)]
            case ast.ListComp(elt=element) | ast.GeneratorExp(elt=element):
                return self.texts(unit, element)
            case _:
                return [HOLE]

    def _joined(self, unit: Unit, values: list[ast.expr]) -> list[str]:
        literal = "".join(v.value for v in values if isinstance(v, ast.Constant))
        follow = sum(map(str.isalpha, literal.replace("error: ", ""))) < FEW
        parts = [
            self.texts(unit, value.value if isinstance(value, ast.FormattedValue) else value)
            if follow or isinstance(value, ast.Constant)
            else [HOLE]
            for value in values
        ]
        whole = ["".join(choice) for choice in product(*parts)][:MOST_ALTERNATIVES]
        return whole if follow else [*whole, *self._phrases(unit, values)]

    def _phrases(self, unit: Unit, values: list[ast.expr]) -> list[str]:
        """Return the texts of some words that stand for a part of a message."""
        holes = [v.value for v in values if isinstance(v, ast.FormattedValue)]
        names = [hole for hole in holes if isinstance(hole, ast.Name) and hole.id != "hint"]
        texts = [text for name in names for text in self.texts(unit, name)]
        return [text for text in texts if text.strip(" .,:").count(" ") > 1]

    def _sum(self, unit: Unit, left: ast.expr, right: ast.expr) -> list[str]:
        """Return two texts as one, or those of two lists."""
        texts = self.texts(unit, left), self.texts(unit, right)
        if not any(isinstance(part, ast.Constant | ast.JoinedStr) for part in (left, right)):
            return [*texts[0], *texts[1]]
        return ["".join(choice) for choice in product(*texts)][:MOST_ALTERNATIVES]

    def _named(self, unit: Unit, node: ast.Name, name: str) -> list[str]:
        function = unit.inside[node]
        values = unit.bound.get((function, name))
        if values:
            found = [text for value in values for text in self._once(unit, value)]
            return found or [HOLE]
        if isinstance(function, ast.FunctionDef):
            return self._parameter(unit, function, name) or [HOLE]
        return [HOLE]

    def _once(self, unit: Unit, value: ast.expr) -> list[str]:
        if id(value) not in self._known:
            self._known[id(value)] = []  # what a cycle adds
            self._known[id(value)] = list(dict.fromkeys(self.texts(unit, value)))
        return self._known[id(value)]

    def _parameter(self, unit: Unit, function: ast.FunctionDef, name: str) -> list[str]:
        names = [argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)]
        if name not in names:
            return []
        index = names.index(name) - (names[0] in ("self", "cls"))
        units = [unit] if function.name.startswith("_") else self.units
        found: list[str] = []
        for user in units:
            for call in user.calls.get(function.name, ()):
                if user is not unit and not _may_call(user, call, unit, names[0]):
                    continue
                given = _argument(call, index, name)
                if given is not None:
                    found += self._once(user, given)
        return found

    def _call(self, unit: Unit, call: ast.Call) -> list[str]:
        name = _name(call)
        if name in SAYING:
            given = call.args[SAYING[name] : SAYING[name] + 1] or call.args[:1]
            return [text for part in given for text in self.texts(unit, part)]
        if name in FORMATTING and isinstance(call.func, ast.Attribute):
            return self.texts(unit, call.func.value)
        if name == "join" and call.args and isinstance(call.func, ast.Attribute):
            return [HOLE]
        if name[:1].isupper():
            return self.texts(unit, call.args[0]) if call.args else [HOLE]
        return self._results(unit, call, name) or [HOLE]

    def _results(self, unit: Unit, call: ast.Call, name: str) -> list[str]:
        """Return what a function of this file, or an imported one, returns."""
        for user in [unit, *self._makers(unit, call, name)]:
            functions = user.functions.get(name, ())
            values = [value for function in functions for value in user.given.get(function, ())]
            if values:
                return [text for value in values for text in self._once(user, value)]
        return []

    def _makers(self, unit: Unit, call: ast.Call, name: str) -> list[Unit]:
        """Return the other files where a function may be; a method is sought if it makes errors."""
        if isinstance(call.func, ast.Name):
            home = unit.imported.get(name, "?").rpartition(".")[2]
            return [user for user in self.units if home in (user.path.stem, user.path.parent.name)]
        return [user for user in self.units if name in user.makers]


def _may_call(user: Unit, call: ast.Call, home: Unit, first: str) -> bool:
    """Return whether a call in another file may be of a function: `re.compile` is not ours."""
    if isinstance(call.func, ast.Name):
        module = user.imported.get(call.func.id, "").rpartition(".")[2]
        return module in (home.path.stem, home.path.parent.name)
    assert isinstance(call.func, ast.Attribute), "calls are kept by name"
    owner = call.func.value
    module = owner.id if isinstance(owner, ast.Name) else ""
    return first in ("self", "cls") or module in (home.path.stem, home.path.parent.name)


def _name(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _argument(call: ast.Call, index: int, name: str) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[index] if 0 <= index < len(call.args) else None
