"""A tracer that rewrites a program's source first: asserts and annotated assignments become calls, which can be traced."""
from __future__ import annotations

import ast
import copy
import functools
import inspect
import textwrap
from types import FunctionType
from typing import Any

from retrograd.fx._symbolic_trace import Tracer
from retrograd.fx.graph import Graph
from retrograd.nn import Module

__all__ = ["AST_Rewriter", "RewritingTracer"]


class AST_Rewriter(ast.NodeTransformer):
    """Rewrites functions, whose source must be at hand; subclasses may replace further kinds of statements."""

    def rewrite(self, fn: Any) -> Any:
        """The function with its statements replaced, over the same globals and closure."""
        plain = inspect.unwrap(getattr(fn, "__func__", fn))
        source = textwrap.dedent(inspect.getsource(plain))
        tree = ast.fix_missing_locations(self.visit(ast.parse(source)))
        made: dict[str, Any] = {**plain.__globals__}
        exec(compile(tree, "", "exec"), made)
        rewritten = made[plain.__name__]
        result = FunctionType(rewritten.__code__, plain.__globals__, rewritten.__name__, rewritten.__defaults__,
                              rewritten.__closure__)
        functools.update_wrapper(result, rewritten)
        result.__kwdefaults__ = copy.copy(rewritten.__kwdefaults__)
        return result

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        """`assert test, msg` -> `torch._assert(test, msg)`."""
        function = ast.Attribute(ast.Name("torch", ast.Load()), "_assert", ast.Load())
        call = ast.Call(function, [node.test, node.msg or ast.Constant("")], [])
        return ast.copy_location(ast.Expr(call), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        """`y: T = value` -> `y = annotate(value, T)`."""
        if node.value is None:
            return node
        call = ast.Call(ast.Name("annotate", ast.Load()), [node.value, node.annotation], [])
        return ast.copy_location(ast.Assign([node.target], call), node)


class RewritingTracer(Tracer):
    """Traces a module or function whose asserts become `torch._assert`, so that the graph checks them."""

    def trace(self, root: Any, concrete_args: Any = None) -> Graph:
        """The graph of the rewritten program."""
        program = rewritten_module(root) if isinstance(root, Module) else AST_Rewriter().rewrite(root)
        return super().trace(program, concrete_args)


def rewritten_module(module: Module) -> Module:
    """A module with the same attributes, whose `forward` is rewritten; the modules that are its attributes likewise."""
    class RewrittenModule(Module):
        forward = AST_Rewriter().rewrite(module.forward)

    made = RewrittenModule()
    for name, value in vars(module).items():
        made.__dict__[name] = copy.copy(rewritten_module(value) if isinstance(value, Module) else value)
    return made
