"""ModuleTracker knows which modules run, forward and backward."""
from __future__ import annotations

import retrograd as torch
from retrograd.utils.module_tracker import ModuleTracker


def test_modules_are_known_by_their_paths_in_both_directions() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Sequential(torch.nn.ReLU()))
    seen: list[tuple[list[str], bool]] = []
    with ModuleTracker() as tracker:
        def note(*args: object) -> None:
            seen.append((sorted(tracker.parents), tracker.is_bw))
        model[1][0].register_forward_hook(note)
        y = model(torch.ones(1, 2, requires_grad=True))
        y.register_hook(note)
        assert tracker.parents == {"Global"}
        y.sum().backward()
        assert tracker.parents == {"Global"} and not tracker.is_bw
    assert seen == [(["Global", "Sequential", "Sequential.1"], False),
                    (["Global", "Sequential", "Sequential.1", "Sequential.1.0"], True)]


def test_tracking_ends_with_the_context() -> None:
    model = torch.nn.ReLU()
    with ModuleTracker() as tracker:
        pass
    model.register_forward_hook(lambda *args: seen.append(set(tracker.parents)))
    seen: list[set[str]] = []
    model(torch.ones(1))
    assert seen == [{"Global"}]
