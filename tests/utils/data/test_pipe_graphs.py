"""Graphs of data pipes: what loaders set in them, shares of worker processes, pipes over files."""
from __future__ import annotations

import io
import os
import signal
import subprocess
import sys

import pytest

import retrograd as torch
from retrograd.utils.data import DataLoader, graph_settings
from retrograd.utils.data._utils import signal_handling
from retrograd.utils.data.datapipes.iter import FileLister, FileOpener, IterableWrapper
from retrograd.utils.data.datapipes.map import SequenceWrapper
from retrograd.utils.data.datapipes.utils.common import StreamWrapper
from retrograd.utils.data.graph import traverse_dps


def numbers(n=10):
    return IterableWrapper(range(n))


def batches(loader):
    return [batch.tolist() for batch in loader]


def names(pipe):
    return [type(found).__name__.removesuffix("IterDataPipe")
            for found in graph_settings.get_all_graph_pipes(traverse_dps(pipe))]


def test_graph_of_a_pipe_goes_through_containers_and_functions():
    first = numbers().shuffle()
    assert names(first.map(str).batch(2).zip(first)) == ["Zipper", "Batcher", "Mapper", "Shuffler", "IterableWrapper"]
    with pytest.warns(UserWarning, match="Local function"):
        assert names(numbers().map(lambda x: first)) == ["Mapper", "IterableWrapper"]
    with pytest.raises(RuntimeError, match="Expected `IterDataPipe` or `MapDataPipe`, but <class 'int'> is found"):
        traverse_dps(5)


def test_loader_shuffles_pipes_in_the_order_of_pytorch():
    torch.manual_seed(0)
    loader = DataLoader(numbers().shuffle(), 3, shuffle=True)
    assert batches(loader) == [[9, 0, 5], [7, 4, 1], [3, 8, 6], [2]]
    assert batches(loader) == [[6, 8, 1], [3, 4, 0], [2, 5, 7], [9]]
    assert batches(DataLoader(numbers(4).shuffle(), 3, shuffle=False)) == [[0, 1, 2], [3]]
    torch.manual_seed(0)
    twice = DataLoader(numbers().shuffle().batch(2).shuffle(), None, shuffle=True)
    assert [list(chunk) for chunk in twice] == [[1, 5], [3, 4], [7, 0], [6, 2], [9, 8]]


def test_loader_warns_where_nothing_shuffles():
    with pytest.warns(UserWarning, match="the datapipe does not contain a `Shuffler`. Adding one at the end"):
        DataLoader(numbers(), shuffle=True)
    torch.manual_seed(0)
    assert batches(DataLoader(SequenceWrapper(range(6)), 2, shuffle=True)) == [[0, 4], [3, 5], [2, 1]]


def test_workers_share_pipes_and_shuffle_them_alike():
    torch.manual_seed(0)
    loader = DataLoader(numbers().shuffle().sharding_filter(), 3, shuffle=True, num_workers=2, persistent_workers=True)
    assert batches(loader) == [[9, 5, 4], [0, 7, 1], [3, 6], [8, 2]]
    assert batches(loader) == [[0, 8, 9], [3, 2, 6], [5, 7], [1, 4]]


def test_sharing_twice_is_refused():
    with pytest.raises(RuntimeError, match="Sharding twice on a single pipeline is likely unintended"):
        graph_settings.apply_sharding(numbers().sharding_filter().map(int).sharding_filter(), 2, 1)


def test_files_are_listed_opened_and_read(tmp_path):
    (tmp_path / "inner").mkdir()
    for name in ("1.txt", "2.csv", "inner/3.txt"):
        (tmp_path / name).write_text("in " + name)
    root = str(tmp_path)

    def found(**options):
        return [os.path.relpath(path, root) for path in FileLister(root, **options)]
    assert found() == ["1.txt", "2.csv"] and found(masks="*.csv") == ["2.csv"]
    assert found(recursive=True, masks=["1*", "3*"]) == ["1.txt", os.path.join("inner", "3.txt")]
    assert [text for _, text in FileLister(root).open_files(mode="t").read_from_stream()] == ["in 1.txt", "in 2.csv"]
    assert [part for _, part in FileOpener(FileLister(root, "1*"), "b").read_from_stream(chunk=4)] == [b"in 1", b".txt"]
    with pytest.raises(ValueError, match="Invalid mode q"):
        FileOpener(numbers(), mode="q")
    with pytest.raises(TypeError, match="Expected string type for pathname, but got <class 'int'>"):
        list(FileOpener(numbers()))
    with pytest.raises(TypeError, match="doesn't have valid length"):
        len(FileLister(root))
    with pytest.warns(UserWarning, match="No such file"), pytest.raises(FileNotFoundError):
        list(FileLister(root + "/none"))


def test_streams_close_with_the_last_that_lies_in_them():
    archive = StreamWrapper(io.BytesIO(b"all"), name="archive")
    inner = StreamWrapper(io.BytesIO(b"one"), archive)
    archive.autoclose()
    assert (inner.read(), archive.closed) == (b"one", False)
    StreamWrapper.close_streams({"a": [inner]})
    assert archive.closed and inner.closed and repr(archive).startswith("StreamWrapper<archive,")


def test_death_of_a_watched_process_is_an_error():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    signal_handling._set_worker_pids(1, (process.pid,))
    signal_handling._error_if_any_worker_fails()
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(RuntimeError, match="is killed by signal: " + str(signal.strsignal(signal.SIGKILL))):
        signal_handling._error_if_any_worker_fails()
    signal_handling._remove_worker_pids(1)
    with pytest.raises(ValueError, match="Cannot find worker information"):
        signal_handling._remove_worker_pids(1)
    process.communicate()
