"""Writes the model in ONNX text syntax of one file as another: model.py TEXT MODEL."""

import sys
from pathlib import Path

import onnx
import onnx.parser

onnx.save(onnx.parser.parse_model(Path(sys.argv[1]).read_text()), sys.argv[2])
