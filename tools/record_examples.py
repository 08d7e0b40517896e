"""Records the numbers of the examples in examples/recorded.json; run by PyTorch it says what retrograd must reach.

    python tools/record_examples.py                      with PyTorch installed: write the file (minutes)
    retrograd run tools/record_examples.py --show NAME   print the numbers of one example in its short form;
                                                         with --compiled, those of its functions and modules compiled too
"""
import argparse
import contextlib
import inspect
import io
import json
import sys
from importlib import import_module
from pathlib import Path

import torch

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
FILE = EXAMPLES / "recorded.json"
# The arguments of each example's `main` that make it short enough for a test.
SHORT = {
    "char_transformer": {"steps": 6},
    "digits_cnn": {"epochs": 2, "drawn": 160},
    "gp_regression": {"steps": 6, "points": 24},
    "lstm": {"steps": 11},
    "maml": {"steps": 11, "tasks": 2},
    "neural_ode": {"steps": 21},
    "per_sample_gradients": {"steps": 6, "batch": 16, "count": 64},
    "pinn": {"steps": 31, "points": 32, "compare": False},
    "policy_gradient": {"episodes": 3, "carts": 4},
    "vae": {"epochs": 2, "count": 128},
}


def numbers(name):
    """What the short form of an example returns."""
    if str(EXAMPLES) not in sys.path:
        sys.path.insert(0, str(EXAMPLES))
    with contextlib.redirect_stdout(io.StringIO()):
        return import_module(name).main(**SHORT[name])


def compile_parts(name):
    """Compile every function that an example's `main` calls, and every module's `forward`."""
    example = sys.modules[name]
    for key, value in list(vars(example).items()):
        if getattr(value, "__module__", None) != name or inspect.isgeneratorfunction(value):
            continue
        if inspect.isfunction(value) and key != "main":
            setattr(example, key, torch.compile(value))
        elif inspect.isclass(value) and issubclass(value, torch.nn.Module):
            value.forward = torch.compile(value.forward)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", metavar="NAME", choices=SHORT)
    parser.add_argument("--compiled", action="store_true", help="with --show: then again with everything compiled")
    options = parser.parse_args()
    if options.show:
        shown = numbers(options.show)
        if options.compiled:
            compile_parts(options.show)
            shown = [shown, numbers(options.show)]
        print(json.dumps(shown))
        return
    if hasattr(torch, "as_torch") or "retrograd" in torch.__version__:
        sys.exit("the numbers to compare with come from PyTorch, and this is retrograd in its place")
    recorded = {"version": str(torch.__version__), "short": {name: numbers(name) for name in SHORT}}
    demo = import_module("char_transformer")
    recorded["demo"] = demo.smooth(demo.main())
    rounded = json.loads(json.dumps(recorded), parse_float=lambda text: float(f"{float(text):.8g}"))
    FILE.write_text(json.dumps(rounded, indent=None).replace('], "', '],\n "').replace('{"', '{\n "') + "\n")
    print(f"written: {FILE}")


if __name__ == "__main__":
    main()
