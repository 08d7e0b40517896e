"""What SummaryWriter logs can be read back from its event files, with the values that PyTorch writes."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.graph_pb2 import GraphDef

import retrograd as torch
from retrograd.utils.tensorboard import SummaryWriter


def events(folder: Path) -> list[Any]:
    """All events of the files that lie in a folder."""
    return [Event.FromString(text) for file in sorted(folder.glob("*tfevents*"))
            for text in RawEventFileLoader(str(file)).Load()]


def values(folder: Path) -> list[Any]:
    return [value for event in events(folder) for value in event.summary.value]


def test_scalars_are_read_back_with_their_steps(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        for step in range(3):
            writer.add_scalar("loss", torch.tensor(0.5 * step), step, walltime=7.0)
    found = [(event.step, event.wall_time, event.summary.value[0].simple_value) for event in events(tmp_path)[1:]]
    assert found == [(0, 7.0, 0.0), (1, 7.0, 0.5), (2, 7.0, 1.0)]


def test_scalars_of_one_chart_have_folders_of_their_own(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalars("run/x", {"a": 1.0, "b": torch.tensor(2.0)}, 4)
    assert [values(tmp_path / name)[0].simple_value for name in ("run_x_a", "run_x_b")] == [1.0, 2.0]


def test_double_precision_is_kept_in_the_new_style(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("x", 0.1, new_style=True, double_precision=True)
    assert list(values(tmp_path)[0].tensor.double_val) == [0.1]


def test_histogram_counts_from_the_bin_before_the_first_filled_one(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("w", torch.tensor([0.5, 2.5, 2.6]), bins=[-1, 0, 1, 2, 3, 4])
        writer.add_histogram("w", torch.tensor([0.5, 2.5, 2.6]), bins=[0, 1, 2, 3, 4], max_bins=2)
    first, second = [value.histo for value in values(tmp_path)]
    assert (list(first.bucket), list(first.bucket_limit)) == ([0, 1, 0, 2], [0, 1, 2, 3])
    assert (list(second.bucket), list(second.bucket_limit)) == ([0, 1, 2], [0, 2, 4])
    assert (first.num, first.min) == (3, 0.5)


def test_images_become_png_files_and_batches_a_grid(tmp_path: Path) -> None:
    from io import BytesIO

    from PIL import Image
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("one", torch.eye(4).expand(3, 4, 4))
        writer.add_images("many", torch.zeros(10, 1, 4, 5))
    one, many = [value.image for value in values(tmp_path)]
    pixels = np.asarray(Image.open(BytesIO(one.encoded_image_string)))
    assert (pixels == np.eye(4, dtype=np.uint8)[:, :, None] * 255).all()
    assert (many.height, many.width, many.colorspace) == (8, 40, 3)


def test_sounds_videos_text_and_tensors_are_written(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_audio("a", torch.linspace(-1, 1, 50), sample_rate=100)
        writer.add_video("v", torch.zeros(1, 3, 3, 4, 6))
        writer.add_text("t", "hello")
        writer.add_tensor("x", torch.ones(2, dtype=torch.int64))
    audio, video, text, tensor = values(tmp_path)
    assert (audio.audio.length_frames, audio.audio.encoded_audio_string[:4]) == (50, b"RIFF")
    assert (video.image.height, video.image.encoded_image_string[:3]) == (4, b"GIF")
    assert (text.tag, list(text.tensor.string_val)) == ("t/text_summary", [b"hello"])
    assert list(tensor.tensor.int64_val) == [1, 1]


def test_precision_and_recall_are_those_of_the_thresholds(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_pr_curve("pr", torch.tensor([1, 0, 1]), torch.tensor([0.9, 0.6, 0.2]), num_thresholds=3)
    rows = np.array(values(tmp_path)[0].tensor.float_val).reshape(6, 3)
    assert rows[:4].tolist() == [[2, 1, 0], [1, 1, 0], [0, 0, 1], [0, 1, 2]]
    assert rows[4:].tolist() == [[pytest.approx(2 / 3), 0.5, 0], [1, 0.5, 0]]


def test_hyperparameters_are_three_messages_and_their_metrics(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": 0.1, "name": "x"}, {"accuracy": 0.5}, run_name="run")
    assert [value.tag for value in values(tmp_path / "run")] == [
        "_hparams_/experiment", "_hparams_/session_start_info", "_hparams_/session_end_info", "accuracy"]


def test_embeddings_are_tables_that_the_projector_finds(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_embedding(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), metadata=["a", "b"], label_img=torch.zeros(2, 3, 4, 4))
    folder = tmp_path / "00000" / "default"
    assert (folder / "tensors.tsv").read_text() == "1.0\t2.0\n3.0\t4.0\n"
    assert (folder / "metadata.tsv").read_text() == "a\nb\n"
    assert "00000/default/sprite.png" in (tmp_path / "projector_config.pbtxt").read_text()


def test_graph_has_the_ops_in_the_scopes_of_their_modules(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Sequential(torch.nn.ReLU()))
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(model, torch.ones(1, 2))
    nodes = GraphDef.FromString(next(event.graph_def for event in events(tmp_path) if event.graph_def)).node
    by_name = {node.name: node for node in nodes}
    relu = by_name["Sequential/1/0/aten_relu"]
    assert relu.input[0].startswith("Sequential/0/")
    assert "Sequential/0/weight" in by_name and "input/input_0" in by_name
    assert model.training


def test_values_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        with pytest.raises(AssertionError, match="Tensor should contain one element"):
            writer.add_scalar("x", torch.ones(2))
        with pytest.raises(NotImplementedError, match="numpy array or torch tensor are expected"):
            writer.add_scalar("x", None)
        with pytest.raises(ValueError, match="The input has no element"):
            writer.add_histogram("x", torch.ones(0))


def test_steps_from_the_one_to_purge_on_are_marked(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path, purge_step=3):
        pass
    assert [event.step for event in events(tmp_path)] == [0, 3, 3]
    assert events(tmp_path)[2].session_log.status == 1


def test_closed_writer_opens_another_file(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path)
    writer.close()
    writer.add_scalar("x", 1.0)
    writer.close()
    assert [value.simple_value for value in values(tmp_path)] == [1.0]
