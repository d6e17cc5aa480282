"""Weights as attributes: equal by content, told apart without reading all of it."""

from __future__ import annotations

import numpy as np
import pytest

from nn_opt.ir.resources import Resource, ResourceAttr, resource_of


def test_equal_arrays_are_one_attribute():
    array = np.arange(100, dtype=np.float32).reshape(10, 10)
    first, second = resource_of(array), resource_of(array.copy())
    assert first == second
    assert hash(first) == hash(second)
    transposed = resource_of(np.asfortranarray(array))
    assert transposed == first
    assert hash(transposed) == hash(first)


def test_arrays_of_other_ends_are_told_apart_without_their_keys():
    array = np.arange(100, dtype=np.float32)
    other = array.copy()
    other[-1] = 7
    first, second = Resource(array), Resource(other)
    assert first != second
    assert not first._key
    assert not second._key


@pytest.mark.parametrize("place", [1, 49, 98])
def test_arrays_that_differ_anywhere_are_not_equal(place: int):
    array = np.zeros(100, np.float32)
    other = array.copy()
    other[place] = 1
    assert resource_of(array) != resource_of(other)


def test_shape_and_type_count():
    array = np.zeros(100, np.float32)
    assert resource_of(array) != resource_of(array.reshape(10, 10))
    assert resource_of(array) != resource_of(array.view(np.int32))


def test_empty_arrays_and_absent_ones_have_keys():
    empty = ResourceAttr(Resource(np.zeros((0, 3), np.float32)))
    assert empty == ResourceAttr(Resource(np.zeros((0, 3), np.float32)))
    assert hash(Resource(None, ["a"])) == hash(Resource(None, ["a"]))


def test_an_absent_array_is_known_by_its_key():
    here = Resource(np.arange(100, dtype=np.float32))
    assert here == Resource(None, [here.key])
    assert here != Resource(None, ["another"])
