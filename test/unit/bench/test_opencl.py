"""What `python -m bench.opencl` measures, on a product that takes no time."""

import tools

from bench import opencl


@tools.needs("opencl")
def test_both_kernels_are_right_and_have_a_rate(monkeypatch):
    monkeypatch.setattr(opencl, "SECONDS", 0.0)
    device, rates = opencl.measure(opencl.product(64, 64, 64))
    assert device
    assert rates.keys() == {"nn-opt", "by hand"}
    assert min(rates.values()) > 0
