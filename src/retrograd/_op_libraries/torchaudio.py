"""Ops of torchaudio's library: the loops of its filters, which write their results into an argument."""
from __future__ import annotations

from typing import Any

from retrograd._op_libraries import declare


def lfilter_core_loop(input_signal_windows: Any, a_coeff_flipped: Any, padded_output_waveform: Any) -> Any:
    """A recursive filter: each output is an input less the weighted outputs before it. Channels have filters of their own."""
    inputs, weights = input_signal_windows.detach().numpy(), a_coeff_flipped.detach().numpy()
    outputs = padded_output_waveform.detach().numpy()
    order = weights.shape[1]
    for step in range(inputs.shape[2]):
        window = outputs[:, :, step:step + order]
        outputs[:, :, step + order - 1] = inputs[:, :, step] - (window * weights).sum(-1)
    return padded_output_waveform


def overdrive_core_loop(waveform: Any, temp: Any, last_in: Any, last_out: Any, output_waveform: Any) -> Any:
    """Distortion followed by a filter that takes out its constant part."""
    wave, bent, before, after, out = [t.detach().numpy() for t in (waveform, temp, last_in, last_out, output_waveform)]
    for step in range(wave.shape[-1]):
        after[...] = bent[:, step] - before + 0.995 * after
        before[...] = bent[:, step]
        out[:, step] = wave[:, step] * 0.5 + after * 0.75
    return last_in, last_out, output_waveform


library = declare("torchaudio", {
    "_lfilter_core_loop(Tensor input_signal_windows, Tensor a_coeff_flipped, Tensor(a!) padded_output_waveform) -> Tensor(a!)":
        lfilter_core_loop,
    "_overdrive_core_loop(Tensor waveform, Tensor temp, Tensor(a!) last_in, Tensor(b!) last_out, Tensor(c!) output_waveform) "
    "-> (Tensor(a!), Tensor(b!), Tensor(c!))": overdrive_core_loop,
    "forced_align(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank) -> "
    "(Tensor, Tensor)": None,
    "rnnt_loss_forward(Tensor logits, Tensor targets, Tensor logit_lengths, Tensor target_lengths, int blank, float clamp, "
    "bool fused_log_softmax) -> (Tensor, Tensor)": None,
})
