"""Data pipes: their steps, and that a pipe has one iterator at a time."""
from __future__ import annotations

import pickle

import pytest

import retrograd as torch
from retrograd.utils import data
from retrograd.utils.data.datapipes.iter import Concater, IterableWrapper, Sampler
from retrograd.utils.data.datapipes.map import SequenceWrapper


def double(x):
    return 2 * x


def is_odd(x):
    return x % 2 == 1


def remainder(x):
    return x % 2


def numbers(count=6):
    return IterableWrapper(range(count))


def test_steps_follow_each_other():
    assert list(numbers().filter(is_odd).map(double).batch(2)) == [[2, 6], [10]]
    assert list(numbers().batch(2).batch(2).unbatch(unbatch_level=-1)) == [0, 1, 2, 3, 4, 5]
    assert list(numbers(5).batch(2, drop_last=True)) == [[0, 1], [2, 3]]
    assert list(numbers().groupby(remainder, group_size=2)) == [[0, 2], [1, 3], [4], [5]]
    assert [t.tolist() for t in numbers(4).batch(2).collate()] == [[0, 1], [2, 3]]
    assert sorted(numbers().shuffle()) == [0, 1, 2, 3, 4, 5]
    assert list(numbers().shuffle().set_seed(3)) == list(numbers().shuffle().set_seed(3))
    assert list(Sampler(SequenceWrapper([7, 8]))) == [0, 1]


def test_columns_of_items_are_changed():
    pairs = IterableWrapper([(1, 2), (3, 4)])
    assert list(pairs.map(double, input_col=0)) == [(2, 2), (6, 4)]
    assert list(pairs.map(double, input_col=0, output_col=-1)) == [(1, 2, 2), (3, 4, 6)]
    assert list(pairs.filter(is_odd, input_col=0)) == [(1, 2), (3, 4)]
    with pytest.raises(ValueError, match="`output_col` must be None when `input_col` is None"):
        pairs.map(double, output_col=1)


def test_several_pipes_are_joined():
    assert list(numbers(2).concat(numbers(3))) == [0, 1, 0, 1, 2]
    assert list(numbers(2).zip(numbers(3))) == [(0, 0), (1, 1)]
    assert list(numbers(2).mux(numbers(3))) == [0, 0, 1, 1]
    with pytest.raises(ValueError, match="Expected at least one DataPipe, but got nothing"):
        Concater()


def test_the_items_of_a_pipe_are_shared():
    a, b = numbers(3).fork(2)
    assert list(a) == list(b) == list(a) == [0, 1, 2]
    even, odd = numbers(4).demux(2, remainder)
    assert list(even) == [0, 2] and list(odd) == [1, 3]
    a, b = numbers(5).fork(2, buffer_size=2)
    with pytest.raises(BufferError, match="ForkerIterDataPipe buffer overflow,buffer size 2 is insufficient"):
        list(a)


def test_lengths_are_known_where_those_of_the_sources_are():
    assert (len(numbers().map(double)), len(numbers().batch(4)), len(numbers(2).zip(numbers(3)))) == (6, 2, 2)
    with pytest.raises(TypeError, match="IterableWrapperIterDataPipe instance doesn't have valid length"):
        len(IterableWrapper(iter([1])))
    shard = numbers(5).sharding_filter()
    shard.apply_sharding(2, 1)
    assert list(shard) == [1, 3] and len(shard) == 2


def test_a_second_iterator_ends_the_first():
    pipe = numbers()
    first = iter(pipe)
    assert next(first) == 0
    second = iter(pipe)
    assert next(second) == 0
    with pytest.raises(RuntimeError, match="This iterator has been invalidated because another iterator has been created"):
        next(first)


def test_errors_name_the_step_that_they_come_from():
    with pytest.raises(IndexError, match=r"depth of the DataPipe\nThis exception is thrown by __iter__ of UnBatcher"):
        list(numbers().unbatch())
    with pytest.raises(AttributeError, match="'IterableWrapperIterDataPipe' object has no attribute 'odd"):
        numbers().odd()


def test_own_steps_become_methods(monkeypatch):
    monkeypatch.setattr(data.IterDataPipe, "functions", dict(data.IterDataPipe.functions))

    @data.functional_datapipe("negated")
    class Negated(data.IterDataPipe):
        def __init__(self, source):
            self.source = source

        def __iter__(self):
            for x in self.source:
                yield -x
    assert list(numbers(3).negated()) == [0, -1, -2]
    with pytest.raises(Exception, match="Unable to add DataPipe function name negated as it is already taken"):
        data.functional_datapipe("negated")(Negated)


def test_pipes_go_through_loaders_and_pickles():
    assert [t.tolist() for t in data.DataLoader(numbers(4).map(double), 2)] == [[0, 2], [4, 6]]
    assert list(pickle.loads(pickle.dumps(numbers(3).map(double)))) == [0, 2, 4]
    with pytest.warns(UserWarning, match="Local function is not supported by pickle"):
        numbers().map(lambda x: torch.tensor(x))


def test_pipes_are_looked_up_by_key():
    pipe = SequenceWrapper([1, 2, 3])
    assert (pipe.map(double)[1], list(pipe.batch(2)), list(pipe.concat(pipe))) == (4, [[1, 2], [3]], [1, 2, 3, 1, 2, 3])
    assert list(pipe.zip(SequenceWrapper([4]))) == [(1, 4)] and sorted(pipe.shuffle()) == [1, 2, 3]
    with pytest.raises(IndexError, match="Index 9 is out of range"):
        pipe.concat(pipe)[9]


def test_orders_of_a_seed_are_those_of_pytorch() -> None:
    assert list(IterableWrapper(range(6)).shuffle().set_seed(3)) == [1, 5, 2, 3, 4, 0]
    assert list(SequenceWrapper(list(range(6))).shuffle().set_seed(3)) == [0, 2, 3, 5, 4, 1]
    assert list(SequenceWrapper(list(range(3))).shuffle().set_shuffle(False)) == [0, 1, 2]
