"""The files that TensorBoard's projector reads: points, their labels, their pictures and where all of it lies."""
from __future__ import annotations

import os
from typing import Any

import numpy as np
from PIL import Image
from tensorboard.plugins.projector.projector_config_pb2 import EmbeddingInfo

from retrograd.utils.tensorboard._convert_np import make_np
from retrograd.utils.tensorboard._utils import make_grid


def make_tsv(metadata: Any, save_path: str, metadata_header: Any = None) -> None:
    """Write the labels of points, one line each; with a header a label is a list of columns."""
    rows = [[str(x)] for x in metadata]
    if metadata_header:
        if len(metadata_header) != len(metadata[0]):
            raise AssertionError("len of header must be equal to the number of columns in metadata")
        rows = [[str(item) for item in row] for row in [metadata_header, *metadata]]
    with open(os.path.join(save_path, "metadata.tsv"), "wb") as file:
        file.write("".join(["\t".join(row) + "\n" for row in rows]).encode())


def make_sprite(label_img: Any, save_path: str) -> None:
    """Write the pictures of points as one square picture."""
    side = int(np.ceil(label_img.size(0) ** 0.5))
    pictures = make_np(label_img)
    missing = np.ones((side**2 - len(pictures), *pictures.shape[1:]), pictures.dtype) * (
        255 if pictures.dtype == np.uint8 else 0)
    grid = make_grid(np.concatenate([pictures, missing]), ncols=side).transpose(1, 2, 0)
    grid = grid if grid.dtype == np.uint8 else (grid * 255).astype(np.uint8)
    Image.fromarray(grid).save(os.path.join(save_path, "sprite.png"))


def make_mat(matlist: Any, save_path: str) -> None:
    """Write the coordinates of points, one line each."""
    with open(os.path.join(save_path, "tensors.tsv"), "wb") as file:
        file.write("".join(["\t".join([str(i) for i in row]) + "\n" for row in matlist.tolist()]).encode())


def get_embedding_info(metadata: Any, label_img: Any, subdir: str, global_step: Any, tag: str) -> Any:
    """What the projector's settings say of one set of points."""
    info = EmbeddingInfo(tensor_name=f"{tag}:{str(global_step).zfill(5)}", tensor_path=os.path.join(subdir, "tensors.tsv"))
    if metadata is not None:
        info.metadata_path = os.path.join(subdir, "metadata.tsv")
    if label_img is not None:
        info.sprite.image_path = os.path.join(subdir, "sprite.png")
        info.sprite.single_image_dim.extend([label_img.size(3), label_img.size(2)])
    return info


def write_pbtxt(save_path: str, contents: str) -> None:
    """Write the projector's settings."""
    with open(os.path.join(save_path, "projector_config.pbtxt"), "wb") as file:
        file.write(contents.encode())
