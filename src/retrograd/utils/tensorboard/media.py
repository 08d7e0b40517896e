"""Pictures, videos and sounds as TensorBoard's `Summary` messages."""
from __future__ import annotations

import io
import wave
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from tensorboard.compat.proto.summary_pb2 import Summary

from retrograd.utils.tensorboard._convert_np import make_np
from retrograd.utils.tensorboard._utils import _prepare_video, convert_to_HWC


def bytes_of(picture: np.ndarray) -> np.ndarray:
    """Values from 0 to 1, or bytes already, as bytes."""
    scale = 1 if picture.dtype == np.uint8 else 255
    return (picture.astype(np.float32) * scale).clip(0, 255).astype(np.uint8)


def image(tag: str, tensor: Any, rescale: float = 1, dataformats: str = "NCHW") -> Any:
    """A picture as PNG; a batch of pictures as a grid."""
    pixels = bytes_of(convert_to_HWC(make_np(tensor), dataformats))
    return Summary(value=[Summary.Value(tag=tag, image=make_image(pixels, rescale=rescale))])


def image_boxes(tag: str, tensor_image: Any, tensor_boxes: Any, rescale: float = 1, dataformats: str = "CHW",
                labels: Any = None) -> Any:
    """A picture with boxes (left, top, right, bottom) drawn on it."""
    pixels = bytes_of(convert_to_HWC(make_np(tensor_image), dataformats))
    return Summary(value=[Summary.Value(tag=tag, image=make_image(pixels, rescale, make_np(tensor_boxes), labels))])


def make_image(tensor: np.ndarray, rescale: float = 1, rois: Any = None, labels: Any = None) -> Any:
    """The message of a picture of bytes, whose color is its last axis."""
    height, width, channels = tensor.shape
    picture = Image.fromarray(tensor[..., 0] if channels == 1 else tensor)
    if rois is not None:
        picture = draw_boxes(picture, rois, labels)
    picture = picture.resize((int(width * rescale), int(height * rescale)), Image.Resampling.LANCZOS)
    output = io.BytesIO()
    picture.save(output, format="PNG")
    return Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=output.getvalue())


def draw_boxes(disp_image: Any, boxes: Any, labels: Any = None) -> Any:
    """A picture with red boxes, and labels at their bottom."""
    drawing = ImageDraw.Draw(disp_image)
    font = ImageFont.load_default()
    for i, (left, top, right, bottom) in enumerate(boxes):
        drawing.line([(left, top), (left, bottom), (right, bottom), (right, top), (left, top)], width=2, fill="Red")
        if labels is None:
            continue
        x, y, x_end, y_end = font.getbbox(labels[i])
        margin = np.ceil(0.05 * (y_end - y))
        drawing.rectangle([(left, bottom - (y_end - y) - 2 * margin), (left + x_end - x, bottom)], fill="Red")
        drawing.text((left + margin, bottom - (y_end - y) - margin), labels[i], fill="black", font=font)
    return disp_image


def video(tag: str, tensor: Any, fps: float = 4) -> Any:
    """Videos (batch, time, color, height, width) as one animated GIF."""
    return Summary(value=[Summary.Value(tag=tag, image=make_video(bytes_of(_prepare_video(make_np(tensor))), fps))])


def make_video(tensor: np.ndarray, fps: float) -> Any:
    """The message of frames of bytes, whose color is their last axis."""
    _, height, width, channels = tensor.shape
    frames = [Image.fromarray(frame[..., 0] if channels == 1 else frame) for frame in tensor]
    output = io.BytesIO()
    frames[0].save(output, format="GIF", save_all=True, append_images=frames[1:], duration=1000 / fps, loop=0)
    return Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=output.getvalue())


def audio(tag: str, tensor: Any, sample_rate: int = 44100) -> Any:
    """A sound with values from -1 to 1 and one channel, as WAV."""
    samples = make_np(tensor)
    if abs(samples).max() > 1:
        print("warning: audio amplitude out of range, auto clipped.")
        samples = samples.clip(-1, 1)
    samples = samples.squeeze()
    if samples.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    output = io.BytesIO()
    with wave.open(output, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes((samples * np.iinfo(np.int16).max).astype("<i2").tobytes())
    sound = Summary.Audio(sample_rate=sample_rate, num_channels=1, length_frames=len(samples),
                          encoded_audio_string=output.getvalue(), content_type="audio/wav")
    return Summary(value=[Summary.Value(tag=tag, audio=sound)])
