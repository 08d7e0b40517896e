"""Short-time Fourier transforms: spectra of overlapping frames of a signal, and the signal back from them."""
from __future__ import annotations

from typing import Any

from retrograd.core.api import expose
from retrograd.core.dispatch import call
from retrograd.core.opdef import find_packet
from retrograd.ops import late
from retrograd.ops.shared.dtype_checks import type_name
from retrograd.ops.shared.families import anywhere
from retrograd.ops.signal.fft import c2c, c2r, r2c
from retrograd.ops.views.slicing import slice_, unfold_backward


def call_pad(x: Any, pad: Any, mode: str) -> Any:
    packet = find_packet("pad")
    assert packet is not None
    return packet(x, pad, mode)


def described(window: Any) -> str:
    return "None" if window is None else f"{type_name(window.array.dtype)}{{{list(window.shape)}}}"


def flag(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


def padded_window(window: Any, like: Any, win_length: int, n_fft: int) -> Any:
    """The window, or ones, with zeros on both sides up to the length of a frame; None where all of it is 1."""
    if win_length < n_fft:
        left = (n_fft - win_length) // 2
        whole = late.zeros(n_fft, dtype=like.dtype if window is None else window.dtype, device=like.device)
        part = whole.narrow(0, left, win_length)
        if window is None:
            part.fill_(1)
        else:
            part.copy_(window)
        return whole
    return window


@expose
def stft(input: Any, n_fft: int, hop_length: Any = None, win_length: Any = None, window: Any = None, center: bool = True,
         pad_mode: str = "reflect", normalized: bool = False, onesided: Any = None, return_complex: Any = None,
         align_to_window: Any = None) -> Any:
    """The spectra of frames of `n_fft` samples, one every `hop_length` samples."""
    if center:
        extra, rank = n_fft // 2, input.ndim
        input = call_pad(input.view([1] * (3 - rank) + list(input.shape)), [extra, extra], pad_mode)
        input = input.view(input.shape[-rank:])
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if not input.is_complex() and not (window is not None and window.is_complex()) and return_complex is None:
        raise RuntimeError("stft requires the return_complex parameter be given for real inputs, and will further require that "
                           "return_complex=True in a future PyTorch release.")
    check_stft(input, n_fft, hop, length, window, normalized, onesided, return_complex, align_to_window)
    single = input.ndim == 1
    signal = input.unsqueeze(0) if single else input
    return spectra(signal, n_fft, hop, length, window, normalized, onesided, return_complex, single)


def check_stft(input: Any, n_fft: int, hop: int, length: int, window: Any, normalized: bool, onesided: Any,
               return_complex: Any, align_to_window: Any) -> None:
    head = (f"stft({type_name(input.array.dtype)}{list(input.shape)}, n_fft={n_fft}, hop_length={hop}, win_length={length}, "
            f"window={described(window)}, normalized={flag(normalized)}, onesided={flag(onesided)}, "
            f"return_complex={flag(return_complex)}, align_to_window={flag(align_to_window)}) ")
    if input.dtype.category < 2:
        raise RuntimeError(f"{head}: expected a tensor of floating point or complex values")
    if input.ndim not in (1, 2):
        raise RuntimeError(f"{head}: expected a 1D or 2D tensor")
    if not 0 < n_fft <= input.shape[-1]:
        raise RuntimeError(f"{head}: expected 0 < n_fft < {input.shape[-1]}, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(f"{head}: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise RuntimeError(f"{head}: expected 0 < win_length <= n_fft, but got win_length={length}")
    if window is not None and (window.ndim != 1 or window.shape[0] != length):
        raise RuntimeError(f"{head}: expected a 1D window tensor of size equal to win_length={length}, but got window with "
                           f"size {list(window.shape)}")


def spectra(signal: Any, n_fft: int, hop: int, length: int, window: Any, normalized: bool, onesided: Any,
            return_complex: Any, single: bool) -> Any:
    is_complex = signal.is_complex() or (window is not None and window.is_complex())
    window = padded_window(window, signal, length, n_fft)
    frames = 1 + (signal.shape[1] - n_fft) // hop
    first, second = signal.stride()
    x = signal.as_strided((signal.shape[0], frames, n_fft), (first, hop * second, second), signal.storage_offset())
    if window is not None:
        x = x * window
    if onesided is None:
        onesided = not is_complex
    if is_complex:
        if onesided:
            raise RuntimeError("Cannot have onesided output if window or input is complex")
        made = call(c2c, [x, (2,), int(normalized), True])
    else:
        made = call(r2c, [x, (2,), int(normalized), onesided])
    made = made.transpose_(1, 2)
    made = made.squeeze_(0) if single else made
    return made if return_complex or is_complex and return_complex is None else late.view_as_real(made)


@expose(schema="istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, "
               "bool center=True, bool normalized=False, bool? onesided=None, int? length=None, "
               "bool return_complex=False) -> Tensor")
def istft(input: Any, n_fft: int, hop_length: Any = None, win_length: Any = None, window: Any = None, center: bool = True,
          normalized: bool = False, onesided: Any = None, length: Any = None, return_complex: bool = False) -> Any:
    """The signal whose spectra these are, by least squares where frames overlap."""
    hop = n_fft // 4 if hop_length is None else hop_length
    size = n_fft if win_length is None else win_length
    if not input.is_complex():
        raise RuntimeError("istft requires a complex-valued input tensor matching the output from stft with "
                           "return_complex=True.")
    head = (f"istft(CPU{input.dtype.legacy}Type{list(input.shape)}, n_fft={n_fft}, hop_length={hop}, win_length={size}, "
            f"window={described(window)}, center={flag(center)}, normalized={flag(normalized)}, onesided={flag(onesided)}, "
            f"length={length}, return_complex={flag(return_complex)}) ")
    parts = late.view_as_real(input.resolve_conj())
    frames, bins = parts.shape[-2], parts.size(-3)
    if onesided is None:
        onesided = bins != n_fft
    check_istft(head, input, n_fft, hop, size, window, bins, onesided)
    single = parts.ndim == 3
    parts = parts.unsqueeze(0) if single else parts
    spectrum = late.view_as_complex(parts.transpose(1, 2))
    window = padded_window(window, late.real(input.detach()), size, n_fft)
    if window is None:
        window = late.ones(n_fft, dtype=late.real(input.detach()).dtype, device=input.device)
    mode = 1 if normalized else 2
    if return_complex:
        if onesided:
            raise RuntimeError("cannot have onesided output if window or input is complex")
        x = call(c2c, [spectrum, (2,), mode, False])
    else:
        spectrum = call(slice_, [spectrum, 2, 0, n_fft // 2 + 1, 1]) if not onesided else spectrum
        x = call(c2r, [spectrum, (2,), mode, n_fft])
    return overlapped(head, x, window, frames, n_fft, hop, center, length, single)


def check_istft(head: str, input: Any, n_fft: int, hop: int, size: int, window: Any, bins: int, onesided: bool) -> None:
    if input.numel() == 0:
        raise RuntimeError(f"{head}: input tensor cannot be empty.")
    if input.ndim not in (2, 3):
        raise RuntimeError(f"{head}: expected a tensor with 3 or 4 dimensions, but got {input.ndim + 1}")
    expected, text = (n_fft // 2 + 1, "n_fft / 2 + 1 when onesided=True") if onesided else (n_fft, "n_fft when onesided=False")
    if bins != expected:
        raise RuntimeError(f"{head}: expected the frequency dimension (3rd to the last) of the input tensor to match {text}, "
                           f"but got {bins}")
    if not 0 < hop <= size:
        raise RuntimeError(f"{head}: expected 0 < hop_length <= win_length")
    if not 0 < size <= n_fft:
        raise RuntimeError(f"{head}: expected 0 < win_length <= n_fft")
    if window is not None and (window.ndim != 1 or window.shape[0] != size):
        raise RuntimeError(f"{head}: Invalid window shape. window has to be 1D and length of `win_length`")


def overlapped(head: str, frames: Any, window: Any, count: int, n_fft: int, hop: int, center: bool, length: Any,
               single: bool) -> Any:
    """Overlap-add the frames, and divide by the sum of the windows."""
    weighted = frames * window.view((1, 1, n_fft))
    total = n_fft + hop * (count - 1)
    made = call(unfold_backward, [weighted, (weighted.shape[0], total), 1, n_fft, hop])
    square = window.pow(2).expand((1, count, n_fft))
    envelope = call(unfold_backward, [square, (1, total), 1, n_fft, hop])
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - n_fft // 2 if center else total
    made, envelope = call(slice_, [made, 1, start, end, 1]), call(slice_, [envelope, 1, start, end, 1])
    if anywhere(envelope.abs() < 1e-11):
        raise RuntimeError(f"{head}window overlap add min: 1\n[ CPUBoolType{{}} ]")
    made = made / envelope
    made = made.squeeze(0) if single else made
    if length is not None and end > total:
        made = late.constant_pad_nd(made, (0, end - total))
    return made
