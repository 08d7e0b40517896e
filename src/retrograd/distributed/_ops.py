"""The ops of collectives, which programs put into tables of overrides: they can be looked up; a call raises."""
from __future__ import annotations

from retrograd.distributed._absent import absent_function
from retrograd.library import Library

# PyTorch names C++ classes for process groups, reductions and works.
GROUP, REDUCTION, WORK = "Any process_group", "Any reduce_op", "Any"
ASYNC = "bool async_op=True"
WAIT = f"{ASYNC}, int timeout=-1"
SPLITS = "int[] output_split_sizes, int[] input_split_sizes"
RANKS = "str tag, int[] ranks, int group_size"
OPS = {
    "_c10d_functional": """
        all_reduce(Tensor input, str reduce_op, Any group_name) -> Tensor
        all_reduce_(Tensor(a!) input, str reduce_op, Any group_name) -> Tensor(a!)
        all_reduce_coalesced(Tensor[] inputs, str reduce_op, Any group_name) -> Tensor[]
        all_reduce_coalesced_(Tensor(a!)[] inputs, str reduce_op, Any group_name) -> Tensor(a!)[]
        all_gather_into_tensor(Tensor input, int group_size, Any group_name) -> Tensor
        all_gather_into_tensor_out(Tensor input, int group_size, Any group_name, *, Tensor(a!) out) -> Tensor(a!)
        all_gather_into_tensor_coalesced(Tensor[] inputs, int group_size, Any group_name) -> Tensor[]
        reduce_scatter_tensor(Tensor input, str reduce_op, int group_size, Any group_name) -> Tensor
        reduce_scatter_tensor_out(Tensor input, str reduce_op, int group_size, Any group_name, *, Tensor(a!) out) -> Tensor(a!)
        reduce_scatter_tensor_coalesced(Tensor[] inputs, str reduce_op, int group_size, Any group_name) -> Tensor[]
        all_to_all_single(Tensor input, SymInt[] output_split_sizes, SymInt[] input_split_sizes, Any group_name) -> Tensor
        broadcast(Tensor input, int src, Any group_name) -> Tensor
        broadcast_(Tensor(a!) input, int src, Any group_name) -> Tensor(a!)
        isend(Tensor tensor, int dst, int tag, str group_name) -> Tensor
        irecv(Tensor tensor, int src, int tag, str group_name) -> Tensor
        wait_tensor(Tensor tensor) -> Tensor
        _wrap_tensor_autograd(Tensor input) -> Tensor
    """,
    "c10d_functional": f"""
        all_reduce(Tensor self, str reduceOp, {RANKS}) -> Tensor
        all_reduce_coalesced(Tensor[] self, str reduceOp, {RANKS}) -> Tensor[]
        all_gather_into_tensor(Tensor shard, {RANKS}) -> Tensor
        all_gather_into_tensor_coalesced(Tensor[] input, {RANKS}) -> Tensor[]
        reduce_scatter_tensor(Tensor input, str reduceOp, {RANKS}) -> Tensor
        reduce_scatter_tensor_coalesced(Tensor[] inputs, str reduceOp, {RANKS}) -> Tensor[]
        all_to_all_single(Tensor input, SymInt[]? output_split_sizes, SymInt[]? input_split_sizes, {RANKS}) -> Tensor
        broadcast(Tensor self, int src, {RANKS}) -> Tensor
        wait_tensor(Tensor self) -> Tensor
    """,
    "_c10d_functional_autograd": """
        all_to_all_single(Tensor input, SymInt[] output_split_sizes, SymInt[] input_split_sizes, Any group_name) -> Tensor
        reduce_scatter_tensor(Tensor input, str reduce_op, int group_size, Any group_name) -> Tensor
        all_gather_into_tensor(Tensor input, int group_size, Any group_name) -> Tensor
    """,
    "c10d": f"""
        send(Tensor[] tensors, {GROUP}, int dst, int tag) -> {WORK}
        recv_(Tensor[] tensors, {GROUP}, int src, int tag) -> {WORK}
        recv_any_source_(Tensor[] tensors, {GROUP}, int tag) -> {WORK}
        broadcast_(Tensor[] tensors, {GROUP}, int root_rank, int root_tensor, {WAIT}) -> (Tensor[], {WORK})
        allreduce_(Tensor[] tensors, {GROUP}, {REDUCTION}, Tensor? sparse_indices, {WAIT}) -> (Tensor[], {WORK})
        allreduce_coalesced_(Tensor[] tensors, {GROUP}, {REDUCTION}, {WAIT}) -> {WORK}
        allgather_(Tensor[][] output_tensors, Tensor[] input_tensors, {GROUP}, {WAIT}) -> (Tensor[][], {WORK})
        _allgather_base_(Tensor output_tensor, Tensor input_tensor, {GROUP}, {WAIT}) -> (Tensor, {WORK})
        allgather_coalesced_(Tensor[][] output_lists, Tensor[] input_list, {GROUP}, {ASYNC}) -> {WORK}
        allgather_into_tensor_coalesced_(Tensor[] outputs, Tensor[] inputs, {GROUP}, {ASYNC}) -> {WORK}
        reduce_scatter_(Tensor[] output_tensors, Tensor[][] input_tensors, {GROUP}, {REDUCTION}, {WAIT}) -> (Tensor[], {WORK})
        _reduce_scatter_base_(Tensor output_tensor, Tensor input_tensor, {GROUP}, {REDUCTION}, {WAIT}) -> (Tensor, {WORK})
        reduce_scatter_tensor_coalesced_(Tensor[] outputs, Tensor[] inputs, {GROUP}, {REDUCTION}, {WAIT}) -> {WORK}
        reduce_(Tensor[] tensors, {GROUP}, {REDUCTION}, int root_rank, int root_tensor, {WAIT}) -> {WORK}
        gather_(Tensor[][] output_tensors, Tensor[] input_tensors, {GROUP}, int root_rank, {WAIT}) -> {WORK}
        scatter_(Tensor[] output_tensors, Tensor[][] input_tensors, {GROUP}, int root_rank, {WAIT}) -> (Tensor[], {WORK})
        alltoall_(Tensor[] output_tensors, Tensor[] input_tensors, {GROUP}, {WAIT}) -> (Tensor[], {WORK})
        alltoall_base_(Tensor output, Tensor input, {GROUP}, {SPLITS}, {WAIT}) -> {WORK}
        barrier(Tensor tensor, {GROUP}, int[] device_ids, {WAIT}) -> {WORK}
        monitored_barrier_(Tensor tensor, {GROUP}, int[] device_ids, int timeout, bool wait_all_ranks) -> ()
    """,
}
libraries = []          # what a library registered lasts as long as it does
for namespace, schemas in OPS.items():
    library = Library(namespace, "DEF")
    for schema in schemas.strip().splitlines():
        name = library.define(schema.strip())
        library.impl(name, absent_function(__name__, f"{namespace}::{name}"), "CompositeExplicitAutograd")
    libraries.append(library)
