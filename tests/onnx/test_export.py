"""Exported models give eager's results when the onnx package evaluates them."""
from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import retrograd as torch
from retrograd import nn
from retrograd.onnx import OnnxExporterError, TrainingMode
from retrograd.onnx.errors import UnsupportedOperatorError

rand = torch.rand


class Calls(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def exported(model: nn.Module, args: tuple[Any, ...], **options: Any) -> Any:
    file = io.BytesIO()
    torch.onnx.export(model, args, file, dynamo=False, input_names=[f"in{i}" for i in range(len(args))], **options)
    return onnx.load_from_string(file.getvalue())


def assert_same(proto: Any, model: nn.Module, args: tuple[Any, ...]) -> None:
    results = ReferenceEvaluator(proto).run(None, {f"in{i}": value.numpy() for i, value in enumerate(args)})
    with torch.no_grad():
        expected = torch.utils._pytree.tree_leaves(model(*args))
    assert len(results) == len(expected)
    for result, value in zip(results, expected, strict=True):
        torch.testing.assert_close(torch.from_numpy(result.copy()), value, atol=2e-5, rtol=1e-4)


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], dict[int, str]]] = {
    "mlp": (lambda: nn.Sequential(nn.Linear(4, 5), nn.GELU(), nn.Dropout(), nn.Linear(5, 2), nn.Softmax(-1)), (2, 4), {0: "b"}),
    "cnn": (lambda: nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2),
                                  nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)), (2, 3, 8, 8),
            {0: "b"}),
    "transformer": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 5, 8), {0: "b", 1: "t"}),
    "lstm": (lambda: nn.LSTM(3, 4, 2, bidirectional=True), (5, 2, 3), {0: "t"}),
    "group norm": (lambda: nn.Sequential(nn.Conv2d(4, 4, 3, stride=2), nn.GroupNorm(2, 4), nn.SiLU(),
                                         nn.ConvTranspose2d(4, 2, 2, 2)), (2, 4, 8, 8), {0: "b"}),
}


@pytest.mark.parametrize("opset", [11, 13, 17, 20])
@pytest.mark.parametrize("name", MODELS)
def test_models_run_at_other_sizes_than_the_example(name: str, opset: int) -> None:
    if opset < 14 and name in ("cnn", "lstm"):
        opset = 14                      # the reference evaluator has LSTM and BatchNormalization of inference from here on
    build, shape, axes = MODELS[name]
    model = build().eval()
    proto = exported(model, (rand(shape),), opset_version=opset, dynamic_axes={"in0": axes})
    assert proto.opset_import[0].version == opset
    assert_same(proto, model, (rand(shape),))
    assert_same(proto, model, (rand([size + 2 if dim in axes else size for dim, size in enumerate(shape)]),))


def write_through_views(a: Any) -> Any:
    b = a.clone()
    flat, row, turned = b.view(3, 20), b[:, 1], b.transpose(1, 2)
    b.mul_(2)
    flat[:, 0].add_(1)
    turned[:, 1, 2].sub_(3)
    return b, flat, row, turned


def assign_slices(a: Any) -> Any:
    b = a.clone()
    b[1:, 2:4, ::2] = 7.0
    b[0] = a[1]
    b[torch.tensor([2])] = 0.5
    return b


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "writes through views": write_through_views,
    "assigned slices": assign_slices,
    "indices": lambda a: (a[:, torch.tensor([0, 2])], a[:, torch.tensor([0, 2]), torch.tensor([-1, 3])], a[..., -1]),
    "reductions": lambda a: (a.mean(1), a.var(-1), a.std(), a.norm(dim=1), a.logsumexp(1), a.max(1), a.amax((0, 1)),
                             a.argmax(-1)),
    "comparisons": lambda a: ((a > 0) & (a <= 0.5) | (a != a), (a > 0.5).any(1), torch.where(a > 0.5, a, 2)),
    "division": lambda a: (a // 0.3, a % 0.3, torch.div(a, 0.3, rounding_mode="trunc"), (a * 9).long() // 4),
    "shapes": lambda a: (a.flip(1), a.roll(1, 1), a.repeat(2, 1, 1), a[:, None].expand(-1, 6, -1, -1), a.unfold(1, 2, 1)),
    "joins": lambda a: (torch.cat([a, a], 1), torch.stack([a, a], -1), *a.chunk(2, 1), *a.unbind(1)),
    "padding": lambda a: (nn.functional.pad(a, (1, 2)), nn.functional.pad(a, (1, 2), mode="reflect")),
    "attention": lambda a: nn.functional.scaled_dot_product_attention(a[None], a[None], a[None], is_causal=True),
    "scatter": lambda a: torch.zeros(3, 4, 5).scatter(1, torch.ones(3, 1, 5, dtype=torch.long), a),
    "norms": lambda a: (nn.functional.layer_norm(a, (4, 5)), nn.functional.rms_norm(a, (5,)), nn.functional.normalize(a)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_give_the_values_of_eager(name: str) -> None:
    model = Calls(FUNCTIONS[name])
    args = (rand(3, 4, 5),)
    assert_same(exported(model, args), model, args)


def test_program_can_be_called_saved_and_given_other_weights(tmp_path: Path) -> None:
    model = nn.Linear(2, 3)
    x = rand(4, 2)
    program = torch.onnx.export(model, (x,), tmp_path / "model.onnx", dynamo=True)
    assert [value.name for value in onnx.load(tmp_path / "model.onnx").graph.initializer] == ["weight", "bias"]
    torch.testing.assert_close(program.call_reference(x)[0], model(x).detach())
    other = nn.Linear(2, 3)
    program.apply_weights(other.state_dict())
    torch.testing.assert_close(program.call_reference(x)[0], other(x).detach())


def test_names_of_inputs_outputs_and_axes_are_kept() -> None:
    proto = exported(nn.ReLU(), (rand(2, 3),), output_names=["y"], dynamic_axes={"in0": {0: "batch"}, "y": {0: "batch"}})
    for value in (proto.graph.input[0], proto.graph.output[0]):
        assert value.type.tensor_type.shape.dim[0].dim_param == "batch"
    assert (proto.graph.input[0].name, proto.graph.output[0].name) == ("in0", "y")


def test_module_is_in_its_mode_again_after_the_export() -> None:
    model = nn.Sequential(nn.BatchNorm1d(3), nn.ReLU())
    before = model[0].running_mean.clone()
    exported(model, (rand(4, 3),))
    assert model.training and model[0].training
    assert torch.equal(model[0].running_mean, before)
    training = exported(model, (rand(4, 3),), training=TrainingMode.TRAINING)
    assert "BatchNormalization" not in [node.op_type for node in training.graph.node]


def test_model_knows_that_it_is_exported() -> None:
    seen: list[bool] = []

    def forward(x: Any) -> Any:
        seen.append(torch.onnx.is_in_onnx_export() and torch.compiler.is_exporting())
        return x + 1
    exported(Calls(forward), (rand(2),))
    assert seen and all(seen)
    assert not torch.onnx.is_in_onnx_export() and not torch.compiler.is_exporting()


def test_ops_without_a_conversion_and_old_opsets_are_refused() -> None:
    with pytest.raises(UnsupportedOperatorError, match="'aten.digamma.default' to ONNX opset version 20 is not supported"):
        exported(Calls(torch.digamma), (rand(2),))
    with pytest.raises(OnnxExporterError, match="Unsupported ONNX opset version: 9"):
        exported(nn.ReLU(), (rand(2),), opset_version=9)
