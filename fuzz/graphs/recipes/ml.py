"""ai.onnx.ml: trees, linear models, support vectors, features."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import numpy_helper

from fuzz.graphs.graph import Graph, recipe, schema_types
from fuzz.graphs.oracle import ML

TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")  # PROBIT is of 0 to 1 alone
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
ONE_TYPE = ("LinearRegressor", "SVMRegressor")  # of onnxruntime
ANY_NUMBERS = ("Imputer", "Scaler", "FeatureVectorizer")


def named(op: str) -> str:
    """Return the name of an operator without its domain."""
    return op.rpartition(".")[2]


def features(g: Graph, op: str, parameter: str) -> str:
    """Return rows of features in a type that an operator takes; NaN has no place in an order."""
    types = [t for t in schema_types(named(op), parameter, ML) if t in g.types]
    types = ["float32"] if named(op) in ONE_TYPE else types
    shape = (g.pick([1, 2, 3, 7, 33, *([0] if g.empty else [])]), g.whole(1, 5))
    strange = g.strange and named(op) in ANY_NUMBERS
    kind = g.pick(["normal", "whole", "whole", *(["special"] if strange else [])])
    return g.operand(g.pick(types), shape, kind)


def numbers(g: Graph, count: int) -> list[float]:
    """Draw numbers, halves so that many are equal."""
    rng = np.random.default_rng(g.whole(0, 50))
    return [float(v) for v in rng.integers(-6, 7, count) / 2]


def labels(g: Graph, count: int) -> list[int]:
    """Draw labels of classes, all different."""
    rng = np.random.default_rng(g.whole(0, 20))
    return [int(v) for v in rng.permutation(3 * count)[:count] - count]


@recipe(f"{ML}.Scaler")
def scaler(g: Graph, op: str) -> None:
    x = features(g, op, "T")
    sizes = [g.pick([1, g.shape(x)[1]]) for _ in range(2)]
    given = {name: numbers(g, n) for name, n in zip(("offset", "scale"), sizes, strict=True)}
    g.add(named(op), [x], domain=ML, **given)


@recipe(f"{ML}.Normalizer")
def normalizer(g: Graph, op: str) -> None:
    x = features(g, op, "T")
    g.add(named(op), [x], "mixing", domain=ML, norm=g.pick([None, "MAX", "L1", "L2"]))


@recipe(f"{ML}.Binarizer")
def binarizer(g: Graph, op: str) -> None:
    types = schema_types(named(op), "T", ML)
    g.add(named(op), [g.value(types)], "exact", domain=ML, threshold=g.pick([None, 0.5, -1.0]))


@recipe(f"{ML}.Imputer")
def imputer(g: Graph, op: str) -> None:
    x = features(g, op, "T")
    count = g.pick([1, g.shape(x)[1]])
    given: dict[str, Any]
    if "float" in g.dtype(x):
        replaced = g.pick([None, 0.0, 1.0, float("nan")])
        given = {"imputed_value_floats": numbers(g, count), "replaced_value_float": replaced}
    else:
        replaced = g.pick([None, 0, 2, -1])
        given = {"imputed_value_int64s": labels(g, count), "replaced_value_int64": replaced}
    g.add(named(op), [x], "exact", domain=ML, **given)


@recipe(f"{ML}.ArrayFeatureExtractor")
def extractor(g: Graph, op: str) -> None:
    x = g.value(schema_types(named(op), "T", ML), least=1)
    size = g.shape(x)[-1]
    if size:
        places = [g.whole(0, size - 1) for _ in range(g.whole(1, 4))]
        g.add(named(op), [x, g.known(g.pick([places, [places]]))], "exact", domain=ML)


@recipe(f"{ML}.FeatureVectorizer")
def vectorizer(g: Graph, op: str) -> None:
    first = features(g, op, "T1")
    rows = g.shape(first)[0]
    rest = [g.operand(g.dtype(first), (rows, g.whole(1, 4))) for _ in range(g.whole(0, 2))]
    widths = [max(1, g.shape(x)[1] + g.pick([0, 0, 1, -1])) for x in (first, *rest)]
    g.add(named(op), [first, *rest], domain=ML, inputdimensions=widths)


@recipe(f"{ML}.OneHotEncoder")
def one_hot(g: Graph, op: str) -> None:
    types = [t for t in schema_types(named(op), "T", ML) if t in g.types]
    cats = sorted(set(labels(g, g.whole(1, 5))))
    shape = g.sizes(g.whole(1, 3), 100)
    x = g.operand(g.pick(types), shape, f"list:{','.join(map(str, cats))}")
    g.add(named(op), [x], "exact", domain=ML, cats_int64s=cats, zeros=g.pick([None, 0, 1]))


@recipe(f"{ML}.LabelEncoder")
def encoder(g: Graph, op: str) -> None:
    count = g.whole(1, 6)
    sides: dict[str, Any] = {}
    kinds = {"keys": g.pick(["int64", "float32"]), "values": g.pick(["int64", "float32"])}
    as_tensors = g.versions[ML] >= 4 and g.flag()
    if as_tensors:
        both = ["int64", "float32", "float64", "int32", "int16"]
        kinds = {side: g.pick(both) for side in kinds}
    for side, kind in kinds.items():
        drawn = np.asarray(labels(g, count) if side == "keys" else numbers(g, count), kind)
        if "float" in kind and side == "keys" and g.whole(0, 3) == 3:
            drawn[0] = np.nan
        if as_tensors:
            sides[f"{side}_tensor"] = numpy_helper.from_array(drawn)
        else:
            sides[f"{side}_{'int64s' if kind == 'int64' else 'floats'}"] = drawn.tolist()
    if as_tensors:
        default = np.asarray([g.whole(-3, 3)], kinds["values"])
        sides["default_tensor"] = numpy_helper.from_array(default)
    else:
        name = "default_int64" if kinds["values"] == "int64" else "default_float"
        sides[name] = g.pick([None, 5 if name == "default_int64" else 5.5])
    x = g.operand(kinds["keys"], g.sizes(g.whole(1, 2), 50), g.pick(["whole", "special"]))
    g.add(named(op), [x], "exact", domain=ML, **sides)


@recipe(f"{ML}.LinearRegressor")
def regressor(g: Graph, op: str) -> None:
    x = features(g, op, "T")
    targets = g.whole(1, 3)
    given: dict[str, Any] = {"targets": targets, "post_transform": g.pick([None, *TRANSFORMS])}
    given["coefficients"] = numbers(g, targets * g.shape(x)[1])
    given["intercepts"] = g.pick([None, numbers(g, targets)])
    g.add(named(op), [x], "mixing", domain=ML, **given)


@recipe(f"{ML}.LinearClassifier")
def classifier(g: Graph, op: str) -> None:
    x = features(g, op, "T1")
    count = g.whole(1, 4)
    given: dict[str, Any] = {"post_transform": g.pick([None, *TRANSFORMS])}
    given["coefficients"] = numbers(g, count * g.shape(x)[1])
    given["intercepts"] = numbers(g, count)
    given["multi_class"] = g.pick([None, 0, 1])
    given["classlabels_ints"] = labels(g, 2 if count == 1 else count)
    g.add(named(op), [x], "mixing", outputs=2, domain=ML, **given)


def kernel(g: Graph) -> dict[str, Any]:
    """Draw a kernel of support vectors."""
    given: dict[str, Any] = {"kernel_type": g.pick([None, "LINEAR", "POLY", "RBF", "SIGMOID"])}
    given["kernel_params"] = [g.pick([0.5, 0.25]), g.pick([0.0, 1.0]), g.pick([2.0, 3.0])]
    return given


@recipe(f"{ML}.SVMRegressor")
def vector_regressor(g: Graph, op: str) -> None:
    x = features(g, op, "T")
    width, count = g.shape(x)[1], g.whole(0, 4)
    given = kernel(g) | {"n_supports": count, "rho": numbers(g, 1)}
    given["coefficients"] = numbers(g, count or width)
    given["support_vectors"] = numbers(g, count * width) or None
    given["one_class"] = g.pick([None, 0, 1])
    given["post_transform"] = g.pick([None, *TRANSFORMS])
    g.add(named(op), [x], "mixing", domain=ML, **given)


@recipe(f"{ML}.SVMClassifier")
def vector_classifier(g: Graph, op: str) -> None:
    x = features(g, op, "T1")
    width, classes = g.shape(x)[1], g.whole(2, 4)
    given = kernel(g)
    pairs = classes * (classes - 1) // 2
    if g.whole(0, 3):
        each = [g.whole(1, 3) for _ in range(classes)]
        given["vectors_per_class"] = each
        given["coefficients"] = numbers(g, (classes - 1) * sum(each))
        given["support_vectors"] = numbers(g, width * sum(each))
        given["rho"] = numbers(g, pairs)
        if g.flag():
            given["prob_a"] = [-abs(v) - 0.5 for v in numbers(g, pairs)]
            given["prob_b"] = numbers(g, pairs)
    else:
        given["kernel_type"] = "LINEAR"
        given["coefficients"] = numbers(g, classes * width)
        given["rho"] = numbers(g, 1)
    given["classlabels_ints"] = labels(g, classes)
    given["post_transform"] = g.pick([None, *TRANSFORMS])
    g.add(named(op), [x], "mixing", outputs=2, domain=ML, **given)


class Trees:
    """Trees in lists: of each node its tree, number, mode, feature, limit and where it leads."""

    def __init__(self, g: Graph, width: int, modes: tuple[str, ...]) -> None:
        """Draw a few trees over so many features."""
        self.rows: list[tuple[int, int, str, int, float, int, int, int]] = []
        self.leaves: list[tuple[int, int]] = []
        for tree in range(g.whole(1, 3)):
            self._grow(g, tree, width, modes)

    def _grow(self, g: Graph, tree: int, width: int, modes: tuple[str, ...]) -> None:
        free, todo = 1, [(0, g.whole(0, 3))]
        while todo:
            node, depth = todo.pop(0)
            if not depth:
                self.rows.append((tree, node, "LEAF", 0, 0.0, 0, 0, 0))
                self.leaves.append((tree, node))
                continue
            feature, limit = g.whole(0, width - 1), g.whole(-6, 6) / 2
            mode, track = g.pick(modes), g.whole(0, 1)
            self.rows.append((tree, node, mode, feature, limit, free, free + 1, track))
            todo += [(free, depth - 1), (free + 1, g.whole(0, depth - 1))]
            free += 2

    def attributes(self, g: Graph) -> dict[str, Any]:
        """Return the attributes that hold the nodes."""
        trees, nodes, modes, columns, limits, yes, no, tracks = zip(*self.rows, strict=True)
        return {
            "nodes_treeids": trees,
            "nodes_nodeids": nodes,
            "nodes_modes": modes,
            "nodes_featureids": columns,
            "nodes_values": limits,
            "nodes_truenodeids": yes,
            "nodes_falsenodeids": no,
            "nodes_missing_value_tracks_true": g.pick([None, tracks]),
        }

    def weights(self, g: Graph, prefix: str, targets: int) -> dict[str, Any]:
        """Return what leaves give to each target; onnxruntime adds no base value to nothing."""
        rows = [(t, n, k) for t, n in self.leaves for k in range(targets)]
        trees, nodes, ids = zip(*rows, strict=True)
        values = numbers(g, len(rows))
        words = ("treeids", "nodeids", "ids", "weights")
        parts = zip(words, (trees, nodes, ids, values), strict=True)
        return {f"{prefix}_{word}": part for word, part in parts}


def forest(g: Graph, x: str, prefix: str, targets: int) -> dict[str, Any]:
    """Draw the attributes that both ensembles in lists have; version 5 has none of them."""
    one = g.flag()
    modes = (g.pick(MODES),) if one else MODES
    trees = Trees(g, g.shape(x)[1], modes)
    given = trees.attributes(g) | trees.weights(g, prefix, targets)
    given["base_values"] = g.pick([None, numbers(g, targets)])
    given["post_transform"] = g.pick([None, *TRANSFORMS])
    if g.versions[ML] >= 3 and g.dtype(x) == "float64":
        for name in ("nodes_values", f"{prefix}_weights", "base_values"):
            values = given.pop(name)
            if values is not None:
                tensor = numpy_helper.from_array(np.asarray(values, np.float64))
                given[f"{name}_as_tensor"] = tensor
    return given


@recipe(f"{ML}.TreeEnsembleRegressor")
def tree_regressor(g: Graph, op: str) -> None:
    if g.versions[ML] >= 5:
        return
    x = features(g, op, "T")
    targets = g.whole(1, 3)
    given = forest(g, x, "target", targets) | {"n_targets": targets}
    given["aggregate_function"] = g.pick([None, "SUM", "AVERAGE", "MIN", "MAX"])
    g.add(named(op), [x], "mixing", domain=ML, **given)


@recipe(f"{ML}.TreeEnsembleClassifier")
def tree_classifier(g: Graph, op: str) -> None:
    if g.versions[ML] >= 5:
        return
    x = features(g, op, "T1")
    classes = g.whole(1, 4)
    given = forest(g, x, "class", classes if classes > 2 else g.whole(1, 2))
    if classes == 2 and max(given["class_ids"]) == 0 and given.get("base_values"):
        given["base_values"] = given["base_values"][:1]
    given["classlabels_int64s"] = labels(g, classes)
    g.add(named(op), [x], "mixing", outputs=2, domain=ML, **given)


@recipe(f"{ML}.TreeEnsemble")
def tree_ensemble(g: Graph, op: str) -> None:
    """Branches and leaves in lists of their own; a branch may ask for members of a set."""
    dtype = g.pick([t for t in schema_types(named(op), "T", ML) if t in g.types])
    x = g.operand(dtype, (g.whole(1, 5), g.whole(1, 4)), g.pick(["whole", "normal"]))
    targets, count, leaves = g.whole(1, 3), g.whole(1, 4), g.whole(1, 4)
    modes = [g.whole(0, 6) for _ in range(count)]
    splits = [float(g.whole(-3, 3)) for _ in range(count)]
    members = [float("nan")] * 0
    for k, mode in enumerate(modes):
        if mode == 6:
            splits[k] = 0.0
            members += [*(float(v) for v in labels(g, 2)), float("nan")]
    ways: dict[str, Any] = {}
    for side in ("true", "false"):
        last = [k + 1 >= count or g.flag() for k in range(count)]
        if side == "true":
            last = [True] * count
        ways[f"nodes_{side}leafs"] = [int(v) for v in last]
        ids = [g.whole(0, leaves - 1) if v else k + 1 for k, v in enumerate(last)]
        ways[f"nodes_{side}nodeids"] = ids
    array = numpy_helper.from_array

    def tensor(values: list[Any], kind: str = dtype) -> Any:
        return array(np.asarray(values, kind))

    given = {
        "tree_roots": [0],
        "n_targets": targets,
        "nodes_featureids": [g.whole(0, g.shape(x)[1] - 1) for _ in range(count)],
        "nodes_modes": tensor(modes, "uint8"),
        "nodes_splits": tensor(splits),
        "membership_values": tensor(members) if members else None,
        "leaf_targetids": [g.whole(0, targets - 1) for _ in range(leaves)],
        "leaf_weights": tensor(numbers(g, leaves)),
        "aggregate_function": g.pick([None, 0, 1, 2, 3]),
        "post_transform": g.pick([None, 0, 3]),  # onnxruntime has 1 and 2 the other way round
        "nodes_missing_value_tracks_true": g.pick([None, [g.whole(0, 1) for _ in range(count)]]),
    }
    g.add(named(op), [x], "mixing", domain=ML, **given, **ways)
