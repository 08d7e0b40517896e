"""Algorithms over several processes."""
from retrograd.distributed.algorithms import join

Join, JoinHook, Joinable = join.Join, join.JoinHook, join.Joinable
