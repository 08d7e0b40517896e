"""ONNXProgram: an ONNX model with the program that it was made from."""
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import retrograd as torch
from retrograd.utils import _pytree as pytree

LARGE = 1 << 31             # a file of one message holds less


class ONNXProgram:
    """What `export` returns: `model_proto` is the model, `save` writes it, and a call runs it.

    >>> program = torch.onnx.export(torch.nn.ReLU(), (torch.tensor([-1.0, 2.0]),))
    >>> [node.op_type for node in program.model_proto.graph.node]
    ['Relu']
    >>> program(torch.tensor([-3.0, 4.0]))
    (tensor([0., 4.]),)
    """

    def __init__(self, model: Any, exported_program: Any) -> None:
        self._model = model
        self.exported_program = exported_program
        self._session: Any = None

    def __repr__(self) -> str:
        import onnx
        text = onnx.printer.to_text(self._model)
        return f"ONNXProgram(\n    model=\n{text}\n    exported_program=\n{self.exported_program}\n)"

    @property
    def model_proto(self) -> Any:
        """The model as ONNX's own message."""
        return self._model

    @property
    def model(self) -> Any:
        return self._model

    def arrays(self, args: Any, kwargs: Any) -> dict[str, Any]:
        """Arguments by the names of the model's inputs."""
        leaves = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        names = [value.name for value in self._model.graph.input]
        return {name: leaf.detach().cpu().numpy() for name, leaf in zip(names, leaves, strict=True)}

    def __call__(self, *args: Any, **kwargs: Any) -> Sequence[Any]:
        """Run the model with onnxruntime where it is installed, else as `call_reference`."""
        try:
            import onnxruntime  # noqa: F401
        except ImportError:
            return self.call_reference(*args, **kwargs)
        if self._session is None:
            self.initialize_inference_session()
        return tuple([torch.from_numpy(array) for array in self._session.run(None, self.arrays(args, kwargs))])

    def call_reference(self, *args: Any, **kwargs: Any) -> Sequence[Any]:
        """Run the model with the reference evaluator of the onnx package."""
        from onnx.reference import ReferenceEvaluator
        results = ReferenceEvaluator(self._model).run(None, self.arrays(args, kwargs))
        return tuple([torch.from_numpy(array.copy()) for array in results])

    def initialize_inference_session(self, initializer: Any = None) -> None:
        """Start a session of onnxruntime."""
        if initializer is None:
            import onnxruntime
            self._session = onnxruntime.InferenceSession(self._model.SerializeToString(), providers=["CPUExecutionProvider"])
        else:
            self._session = initializer(self._model.SerializeToString())

    def release(self) -> None:
        """End the session."""
        self._session = None

    def optimize(self) -> None:
        """Nothing is left to do: nodes without effect are not written."""

    def apply_weights(self, state_dict: dict[str, Any]) -> None:
        """Replace the weights that have a name in `state_dict`."""
        from retrograd.onnx._builder import tensor_proto
        for initializer in self._model.graph.initializer:
            if initializer.name in state_dict:
                initializer.CopyFrom(tensor_proto(state_dict[initializer.name], initializer.name))
        self._session = None

    def save(self, destination: Any, *, include_initializers: bool = True, keep_initializers_as_inputs: bool = False,
             external_data: bool | None = None) -> None:
        """Write the model to a file; weights of two gigabytes and more lie in a second one beside it."""
        import onnx
        model = self._model
        if keep_initializers_as_inputs or not include_initializers:
            model = onnx.ModelProto()
            model.CopyFrom(self._model)
            if keep_initializers_as_inputs:
                model.graph.input.extend([onnx.helper.make_tensor_value_info(value.name, value.data_type, list(value.dims))
                                          for value in model.graph.initializer])
            if not include_initializers:
                del model.graph.initializer[:]
        if hasattr(destination, "write"):
            destination.write(model.SerializeToString())
        elif model.ByteSize() >= LARGE:
            onnx.save(model, os.fspath(destination), save_as_external_data=True,
                      location=os.path.basename(os.fspath(destination)) + ".data")
        else:
            onnx.save(model, os.fspath(destination))
