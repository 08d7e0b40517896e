# C types for opdef.py.
from retrograd.core.recipe cimport Plan

cdef class OpDef:
    cdef public object schema, name, overload, vjp, jvp, batch, lower, meta, promote, functional, variants, kernel, compute, alias, autocast, pattern, series
    cdef public object out, fast, into, check, native, ufunc, scalars, node_name, packet, _node_class, result_type, run, short
    cdef public bint random, checks_dtypes, exact, elementwise, mixes, real_only, widen, composite, numbers, direct, differentiable, floats, _ready, is_view, is_inplace, is_out, has_lists
    cdef public OpDef meant, pure
    cdef public bint multiple, returns_list, saves_result, straight, simple, one_view
    cdef public int out_arg, device_arg, leading, flips, quick
    cdef public list usual_plans, rules, declared_rules, saved_names, saved_outputs, saved_args, attr_names, attr_kinds
    cdef public dict plans, facts
    cdef public tuple constant, traits, defaults, tail, tensor_args, dtype_args, scalar_args, inputs, grad_bits
    cdef dict __dict__
    cpdef Plan plan(self, int mask)
