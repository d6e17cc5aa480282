"""What `python -m bench.opencl` measures, on a product that takes no time."""

import json

import tools

from bench import opencl


@tools.needs("opencl")
def test_both_kernels_are_right_and_have_a_rate(monkeypatch):
    monkeypatch.setattr(opencl, "SECONDS", 0.0)
    device, rates = opencl.measure(opencl.product(64, 64, 64))
    assert device
    assert rates.keys() == {"nn-opt", "by hand"}
    assert min(rates.values()) > 0


@tools.needs("opencl")
def test_figures_are_printed_and_written(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(opencl, "measure", lambda case: ("a device", {"nn-opt": 12.344}))
    monkeypatch.setenv("POCL_MAX_PTHREAD_COUNT", "1")
    monkeypatch.setattr(opencl, "pin", lambda cores: None)
    opencl.main(["matmul 5", "--json", str(tmp_path / "f.json")])
    facts = json.loads((tmp_path / "f.json").read_text())
    assert facts == {"device": "a device", "gflops": {"matmul 512x512x512": {"nn-opt": 12.34}}}
    assert "12.3" in capsys.readouterr().out
