"""Values as TensorBoard's `Summary` messages: scalars, histograms, text, curves, hyperparameters, meshes."""
from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
from google.protobuf import struct_pb2
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import api_pb2
from tensorboard.plugins.hparams import metadata as hparams_metadata
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData, SessionEndInfo, SessionStartInfo
from tensorboard.plugins.mesh import metadata as mesh_metadata
from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData
from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData
from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

import retrograd as torch
from retrograd.utils.tensorboard._convert_np import make_np
from retrograd.utils.tensorboard.media import (
    audio,
    convert_to_HWC,
    draw_boxes,
    image,
    image_boxes,
    make_image,
    make_video,
    video,
)

__all__ = ["audio", "custom_scalars", "draw_boxes", "histogram", "histogram_raw", "hparams", "image", "image_boxes",
           "make_histogram", "make_image", "make_video", "mesh", "pr_curve", "pr_curve_raw", "scalar", "tensor_proto", "text",
           "video", "compute_curve", "convert_to_HWC"]


def plugin(name: str, content: bytes = b"", **more: Any) -> Any:
    """Metadata that says which of TensorBoard's plugins shows a value."""
    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=name, content=content), **more)


def shape_of(sizes: Any) -> Any:
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in sizes])


def scalar(name: str, tensor: Any, collections: Any = None, new_style: bool = False, double_precision: bool = False) -> Any:
    """A number; in the new style as a tensor, which may have double precision.

    >>> scalar("loss", 0.5).value[0].simple_value
    0.5
    """
    value = make_np(tensor).squeeze()
    if value.ndim != 0:
        raise AssertionError(f"Tensor should contain one element (0 dimensions). Was given size: {value.size} and "
                             f"{value.ndim} dimensions.")
    number = float(value)
    if not new_style:
        return Summary(value=[Summary.Value(tag=name, simple_value=number)])
    proto = TensorProto(double_val=[number], dtype="DT_DOUBLE") if double_precision else TensorProto(
        float_val=[number], dtype="DT_FLOAT")
    return Summary(value=[Summary.Value(tag=name, tensor=proto, metadata=plugin("scalars"))])


def tensor_proto(tag: str, tensor: Any) -> Any:
    """A tensor with all its values.

    >>> tensor_proto("t", torch.ones(2)).value[0].tensor.float_val
    [1.0, 1.0]
    """
    if tensor.numel() * tensor.itemsize >= 1 << 31:
        raise ValueError("tensor is bigger than protocol buffer's hard limit of 2GB in size")
    if tensor.dtype not in TENSOR_FIELDS:
        raise ValueError(f"{tag} has unsupported tensor dtype {tensor.dtype}")
    dtype, field = TENSOR_FIELDS[tensor.dtype]
    flat = tensor.detach().cpu().reshape(-1)
    if field == "half_val":
        values: Any = [struct.unpack("I", struct.pack("f", x))[0] for x in flat.tolist()]
    elif field.endswith("complex_val"):
        values = torch.view_as_real(flat).reshape(-1).tolist()
    else:
        values = flat.tolist()
    proto = TensorProto(dtype=dtype, tensor_shape=shape_of(tensor.shape), **{field: values})
    return Summary(value=[Summary.Value(tag=tag, tensor=proto, metadata=plugin("tensor"))])


TENSOR_FIELDS = {
    torch.float16: ("DT_HALF", "half_val"), torch.bfloat16: ("DT_BFLOAT16", "half_val"),
    torch.float32: ("DT_FLOAT", "float_val"), torch.float64: ("DT_DOUBLE", "double_val"),
    torch.int8: ("DT_INT8", "int_val"), torch.uint8: ("DT_UINT8", "uint32_val"), torch.int16: ("DT_INT16", "int_val"),
    torch.int32: ("DT_INT32", "int_val"), torch.int64: ("DT_INT64", "int64_val"), torch.bool: ("DT_BOOL", "bool_val"),
    torch.complex64: ("DT_COMPLEX64", "scomplex_val"), torch.complex128: ("DT_COMPLEX128", "dcomplex_val"),
}


def histogram_raw(name: str, min: float, max: float, num: float, sum: float, sum_squares: float, bucket_limits: Any,
                  bucket_counts: Any) -> Any:
    """A histogram that is counted already."""
    histo = HistogramProto(min=min, max=max, num=num, sum=sum, sum_squares=sum_squares, bucket_limit=bucket_limits,
                           bucket=bucket_counts)
    return Summary(value=[Summary.Value(tag=name, histo=histo)])


def histogram(name: str, values: Any, bins: Any, max_bins: int | None = None) -> Any:
    """How many values lie in each bin.

    >>> list(histogram("w", np.array([0.5, 1.5, 1.6]), [0, 1, 2]).value[0].histo.bucket)
    [0.0, 1.0, 2.0]
    """
    return Summary(value=[Summary.Value(tag=name, histo=make_histogram(make_np(values).astype(float), bins, max_bins))])


def make_histogram(values: np.ndarray, bins: Any, max_bins: int | None = None) -> Any:
    """The message of a histogram: bins from the one before the first that is not empty to the last such."""
    if values.size == 0:
        raise ValueError("The input has no element.")
    values = values.reshape(-1)
    counts, limits = np.histogram(values, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        step = len(counts) // max_bins
        counts = np.add.reduceat(counts, np.arange(0, len(counts), step))
        limits = np.append(limits[:-1:step], limits[-1])
    filled = np.flatnonzero(counts)
    if not len(filled):
        raise ValueError("The histogram is empty, please file a bug report.")
    first, last = int(filled[0]), int(filled[-1])
    shown = counts[first - 1:last + 1] if first else np.append(0, counts[:last + 1])
    return HistogramProto(min=values.min(), max=values.max(), num=len(values), sum=values.sum(),
                          sum_squares=values.dot(values), bucket_limit=limits[first:last + 2].tolist(), bucket=shown.tolist())


def text(tag: str, text: str) -> Any:
    """A text, shown as Markdown."""
    proto = TensorProto(dtype="DT_STRING", string_val=[text.encode()], tensor_shape=shape_of([1]))
    metadata = plugin("text", TextPluginData(version=0).SerializeToString())
    return Summary(value=[Summary.Value(tag=f"{tag}/text_summary", metadata=metadata, tensor=proto)])


def pr_curve_raw(tag: str, tp: Any, fp: Any, tn: Any, fn: Any, precision: Any, recall: Any, num_thresholds: int = 127,
                 weights: Any = None) -> Any:
    """A precision-recall curve that is computed already."""
    num_thresholds = min(num_thresholds, 127)
    return curve(tag, np.stack((tp, fp, tn, fn, precision, recall)), num_thresholds)


def pr_curve(tag: str, labels: Any, predictions: Any, num_thresholds: int = 127, weights: Any = None) -> Any:
    """A precision-recall curve of predicted probabilities."""
    num_thresholds = min(num_thresholds, 127)
    return curve(tag, compute_curve(labels, predictions, num_thresholds, weights), num_thresholds)


def curve(tag: str, data: np.ndarray, num_thresholds: int) -> Any:
    content = PrCurvePluginData(version=0, num_thresholds=num_thresholds).SerializeToString()
    proto = TensorProto(dtype="DT_FLOAT", float_val=data.reshape(-1).tolist(), tensor_shape=shape_of(data.shape))
    return Summary(value=[Summary.Value(tag=tag, metadata=plugin("pr_curves", content), tensor=proto)])


def compute_curve(labels: Any, predictions: Any, num_thresholds: int | None = None, weights: Any = None) -> np.ndarray:
    """Rows: true and false positives, true and false negatives, precision and recall at each threshold.

    >>> compute_curve(np.array([1, 0]), np.array([0.9, 0.1]), 2)[0]
    array([1., 0.])
    """
    weight = 1.0 if weights is None else weights
    count = num_thresholds or 127
    buckets = np.int32(np.floor(predictions * (count - 1)))
    positive = labels.astype(float)

    def above(weighted: Any) -> np.ndarray:
        """The weight of the examples at or above each threshold."""
        found = np.histogram(buckets, bins=count, range=(0, count - 1), weights=weighted)[0]
        return np.cumsum(found[::-1])[::-1]
    tp, fp = above(positive * weight), above((1.0 - positive) * weight)
    tn, fn = fp[0] - fp, tp[0] - tp
    return np.stack((tp, fp, tn, fn, tp / np.maximum(1e-7, tp + fp), tp / np.maximum(1e-7, tp + fn)))


def custom_scalars(layout: dict[str, dict[str, Any]]) -> Any:
    """How charts of several scalars are arranged, in categories."""
    categories = []
    for title, charts in layout.items():
        made = []
        for name, (kind, tags) in charts.items():
            if kind == "Margin":
                if len(tags) != 3:
                    raise AssertionError("A margin chart has three tags: the value, its lower and its upper bound")
                series = layout_pb2.MarginChartContent.Series(value=tags[0], lower=tags[1], upper=tags[2])
                made.append(layout_pb2.Chart(title=name, margin=layout_pb2.MarginChartContent(series=[series])))
            else:
                made.append(layout_pb2.Chart(title=name, multiline=layout_pb2.MultilineChartContent(tag=tags)))
        categories.append(layout_pb2.Category(title=title, chart=made))
    content = layout_pb2.Layout(category=categories).SerializeToString()
    proto = TensorProto(dtype="DT_STRING", string_val=[content], tensor_shape=TensorShapeProto())
    return Summary(value=[Summary.Value(tag="custom_scalars__config__", tensor=proto, metadata=plugin("custom_scalars"))])


def hparams(hparam_dict: Any = None, metric_dict: Any = None, hparam_domain_discrete: Any = None) -> tuple[Any, Any, Any]:
    """The messages of an experiment, of the start of a run with these hyperparameters, and of its end."""
    if not isinstance(hparam_dict, dict):
        raise TypeError("parameter: hparam_dict should be a dictionary, nothing logged.")
    if not isinstance(metric_dict, dict):
        raise TypeError("parameter: metric_dict should be a dictionary, nothing logged.")
    domains = hparam_domain_discrete or {}
    if not isinstance(domains, dict):
        raise TypeError("parameter: hparam_domain_discrete should be a dictionary, nothing logged.")
    for key, values in domains.items():
        if key not in hparam_dict or not isinstance(values, list) or not all(
                [isinstance(value, type(hparam_dict[key])) for value in values]):
            raise TypeError(f"parameter: hparam_domain_discrete[{key}] should be a list of same type as hparam_dict[{key}].")
    start, infos = SessionStartInfo(), []
    for key, value in hparam_dict.items():
        if value is None:
            continue
        field, kind, number = described(value)
        setattr(start.hparams[key], field, number)
        domain = None
        if key in domains and not isinstance(value, torch.Tensor):
            domain = struct_pb2.ListValue(values=[struct_pb2.Value(**{field: item}) for item in domains[key]])
        infos.append(api_pb2.HParamInfo(name=key, type=api_pb2.DataType.Value(kind), domain_discrete=domain))
    metrics = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=key)) for key in metric_dict]
    experiment = api_pb2.Experiment(hparam_infos=infos, metric_infos=metrics)
    end = SessionEndInfo(status=api_pb2.Status.Value("STATUS_SUCCESS"))
    return (hparams_summary(hparams_metadata.EXPERIMENT_TAG, experiment=experiment),
            hparams_summary(hparams_metadata.SESSION_START_INFO_TAG, session_start_info=start),
            hparams_summary(hparams_metadata.SESSION_END_INFO_TAG, session_end_info=end))


def described(value: Any) -> tuple[str, str, Any]:
    """The field, the type and the value that stand for a hyperparameter."""
    if isinstance(value, int | float):              # a bool, too, as PyTorch writes it
        return "number_value", "DATA_TYPE_FLOAT64", value
    if isinstance(value, str):
        return "string_value", "DATA_TYPE_STRING", value
    if isinstance(value, torch.Tensor):
        return "number_value", "DATA_TYPE_FLOAT64", make_np(value)[0]
    raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")


def hparams_summary(tag: str, **content: Any) -> Any:
    data = HParamsPluginData(version=hparams_metadata.PLUGIN_DATA_VERSION, **content)
    return Summary(value=[Summary.Value(tag=tag, metadata=plugin("hparams", data.SerializeToString()))])


def mesh(tag: str, vertices: Any, colors: Any, faces: Any, config_dict: Any, display_name: str | None = None,
         description: str | None = None) -> Any:
    """A cloud of points, or with faces a surface."""
    config = json.dumps(config_dict or {}, sort_keys=True)
    parts = [(vertices, MeshPluginData.VERTEX), (faces, MeshPluginData.FACE), (colors, MeshPluginData.COLOR)]
    given = [(make_np(tensor), kind) for tensor, kind in parts if tensor is not None]
    components = mesh_metadata.get_components_bitmask([kind for _, kind in given])
    values = []
    for array, kind in given:
        metadata = mesh_metadata.create_summary_metadata(tag, display_name, kind, components, array.shape, description,
                                                         json_config=config)
        proto = TensorProto(dtype="DT_FLOAT", float_val=array.reshape(-1).tolist(), tensor_shape=shape_of(array.shape))
        values.append(Summary.Value(tag=mesh_metadata.get_instance_name(tag, kind), tensor=proto, metadata=metadata))
    return Summary(value=values)
