"""`torch.nn.functional`: the layers as functions of their inputs and weights."""
from __future__ import annotations

import retrograd as torch
from retrograd.nn.functions import activation
from retrograd.nn.functions.activation import (
    celu,
    celu_,
    elu,
    elu_,
    gelu,
    glu,
    gumbel_softmax,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    hardtanh_,
    leaky_relu,
    leaky_relu_,
    log_softmax,
    logsigmoid,
    mish,
    prelu,
    relu,
    relu6,
    relu_,
    rrelu,
    rrelu_,
    selu,
    selu_,
    sigmoid,
    silu,
    softmax,
    softmin,
    softplus,
    softshrink,
    softsign,
    tanh,
    tanhshrink,
    threshold,
    threshold_,
)
from retrograd.nn.functions.attention import multi_head_attention_forward
from retrograd.nn.functions.base import aten
from retrograd.nn.functions.dropout import alpha_dropout, dropout, dropout1d, dropout2d, dropout3d, feature_alpha_dropout
from retrograd.nn.functions.embedding import embedding, embedding_bag
from retrograd.nn.functions.grouped import ScalingType, SwizzleType, grouped_mm, scaled_grouped_mm, scaled_mm
from retrograd.nn.functions.linear_cross_entropy import linear_cross_entropy
from retrograd.nn.functions.loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cosine_embedding_loss,
    cosine_similarity,
    cross_entropy,
    ctc_loss,
    gaussian_nll_loss,
    hinge_embedding_loss,
    huber_loss,
    kl_div,
    l1_loss,
    margin_ranking_loss,
    mse_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    nll_loss,
    normalize,
    pairwise_distance,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from retrograd.nn.functions.norm import batch_norm, group_norm, instance_norm, layer_norm, local_response_norm, rms_norm
from retrograd.nn.functions.pool import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
)
from retrograd.nn.functions.unfold import fold, unfold
from retrograd.nn.functions.unpool import (
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from retrograd.nn.functions.vision import (
    affine_grid,
    channel_shuffle,
    grid_sample,
    interpolate,
    pixel_shuffle,
    pixel_unshuffle,
    upsample,
    upsample_bilinear,
    upsample_nearest,
)
from retrograd.utils._names import publish

bilinear, pdist = torch.bilinear, torch.pdist
linear = aten("linear", doc="""x @ weight.T, plus bias if there is one.

    >>> import retrograd as torch
    >>> torch.nn.functional.linear(torch.tensor([1.0, 2.0]), torch.tensor([[3.0, 4.0]]), torch.tensor([0.5]))
    tensor([11.5000])
    """)
one_hot = aten("one_hot", doc="""Classes as vectors with a one in the place of the class.

    >>> import retrograd as torch
    >>> torch.nn.functional.one_hot(torch.tensor([0, 2]), num_classes=3)
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """)
pad = aten("pad", "torch.nn.functional", doc="""More before and after along the last dimensions, the last one first.

    >>> import retrograd as torch
    >>> torch.nn.functional.pad(torch.tensor([[1.0, 2.0, 3.0]]), (1, 2), mode="reflect")
    tensor([[2., 1., 2., 3., 2., 1.]])
    """)
scaled_dot_product_attention = aten("scaled_dot_product_attention", doc="""Means of values, weighted by how keys fit queries.

    >>> import retrograd as torch
    >>> query, key = torch.zeros(1, 2), torch.ones(2, 2)
    >>> torch.nn.functional.scaled_dot_product_attention(query, key, torch.tensor([[1.0], [3.0]]))
    tensor([[2.]])
    """)
native_channel_shuffle = torch.native_channel_shuffle
conv1d, conv2d, conv3d = torch.conv1d, torch.conv2d, torch.conv3d
conv_tbc = torch.conv_tbc
conv_transpose1d, conv_transpose2d, conv_transpose3d = torch.conv_transpose1d, torch.conv_transpose2d, torch.conv_transpose3d

_threshold = activation._threshold        # the name in pickles of `threshold`
__all__ = [
    "ScalingType", "SwizzleType", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices", "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices", "affine_grid", "alpha_dropout", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "batch_norm", "bilinear", "binary_cross_entropy", "binary_cross_entropy_with_logits", "celu", "celu_",
    "channel_shuffle", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
    "cosine_embedding_loss", "cosine_similarity", "cross_entropy", "ctc_loss", "dropout", "dropout1d", "dropout2d",
    "dropout3d", "elu", "elu_", "embedding", "embedding_bag", "feature_alpha_dropout", "fold", "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices", "fractional_max_pool3d", "fractional_max_pool3d_with_indices",
    "gaussian_nll_loss", "gelu", "glu", "grid_sample", "group_norm", "grouped_mm", "gumbel_softmax", "hardshrink",
    "hardsigmoid", "hardswish", "hardtanh", "hardtanh_", "hinge_embedding_loss", "huber_loss", "instance_norm", "interpolate",
    "kl_div",
    "l1_loss", "layer_norm", "leaky_relu", "leaky_relu_", "linear", "linear_cross_entropy", "local_response_norm",
    "log_softmax", "logsigmoid", "lp_pool1d", "lp_pool2d", "lp_pool3d", "margin_ranking_loss", "max_pool1d",
    "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices", "max_pool3d", "max_pool3d_with_indices",
    "max_unpool1d", "max_unpool2d", "max_unpool3d", "mish", "mse_loss", "multi_head_attention_forward", "multi_margin_loss",
    "multilabel_margin_loss", "multilabel_soft_margin_loss", "native_channel_shuffle", "nll_loss", "normalize", "one_hot",
    "pad", "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle", "poisson_nll_loss", "prelu", "relu", "relu6",
    "relu_", "rms_norm", "rrelu", "rrelu_", "scaled_mm", "scaled_dot_product_attention",
    "scaled_grouped_mm", "selu", "selu_", "sigmoid", "silu",
    "smooth_l1_loss", "soft_margin_loss", "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh", "tanhshrink",
    "threshold", "threshold_", "triplet_margin_loss", "triplet_margin_with_distance_loss", "unfold", "upsample",
    "upsample_bilinear", "upsample_nearest",
]
publish(globals(), __all__)
