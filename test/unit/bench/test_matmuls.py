"""The sweep of matrix products: its models compute what their names say, and are timed."""

import numpy as np
import pytest
import tools

from bench.bandwidth import Bandwidth
from bench.matmuls import PRODUCTS, Case, Product, model_of, table_of
from bench.models import sample_inputs
from bench.peak import Peak

SMALL = (
    Product("constant", 3, 5, 17),
    Product("gemm", 2, 9, 4),
    Product("both", 4, 6, 3),
    Product("left^T", 7, 4, 5),
    Product("right^T", 2, 8, 9, (2, 3)),
)


def test_names_say_what_is_multiplied():
    assert all(name == product.name for name, product in PRODUCTS.items())
    assert Product("both", 128, 64, 32, (2, 6)).name == "both 2x6 of 128x64x32"
    assert {product.form for product in SMALL} == {p.form for p in PRODUCTS.values()}


def test_work_and_traffic():
    product = Product("both", 2, 3, 5, (4,))
    assert product.flops == 2 * 4 * 2 * 3 * 5
    assert product.bytes == 4 * 4 * (2 * 3 + 3 * 5 + 2 * 5)
    assert Product("constant", 2, 3, 5).bytes == 4 * (2 * 3 + 3 * 5 + 2 * 5)


@tools.needs("onnxruntime")
@pytest.mark.parametrize("product", SMALL, ids=lambda product: product.name)
def test_a_product_is_right_and_timed(product: Product):
    case = Case.of(product)
    row = case.measure(Peak(), Bandwidth(), 0)
    assert row.relative_error < 1e-5
    assert min(row.ours_ms, row.onnxruntime_ms, row.limit_us) > 0
    assert product.name in "".join(str(cell) for cell in table_of([row], 100).columns[0].cells)
    if product.form == "both":
        a, b = (np.asarray(value) for value in case.feeds.values())
        (result,) = case.peer(case.feeds)
        np.testing.assert_allclose(result, a @ b, rtol=1e-5, atol=1e-5)


def test_inputs_are_what_a_form_reads():
    assert list(sample_inputs(model_of(SMALL[0]))) == ["a"]
    assert sample_inputs(model_of(SMALL[3]))["a"].shape == (4, 7)
    assert sample_inputs(model_of(SMALL[4]))["b"].shape == (2, 3, 9, 8)
