"""Random graphs over ONNX's operators and element types, against onnxruntime and the reference.

`recipes/` has for each operator how a node is made of values that are there; `graph.py` grows a
graph by them, `oracle.py` says what each value is and how far rounding may carry it, `subject.py`
runs nn-opt. `python -m fuzz graphs` draws examples by Hypothesis, which also makes them small.
"""
