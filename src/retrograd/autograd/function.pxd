# C types for function.py.
from retrograd.core.graph cimport Node

cdef class FunctionNode(Node):
    cdef public bint materialize_grads, _materialize_non_diff_grads, _is_pure_view, _freed_, _in_jvp_
    cdef public object to_save, saved_for_forward, dirty_tensors, non_differentiable, needs_input_grad
    cdef public object _positions_, _given_tensors_, _output_facts_, _plain_outputs_
    cdef public int _arguments_
