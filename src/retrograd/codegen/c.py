"""From programs to C: one function per program and computing type, which treats one run of elements in blocks.

Computing types are float (for float32, bfloat16 and float16), double, and int64_t (for integers and bools); programs whose
wrap-around is the same in any width also exist as int32_t and uint8_t, for integers of at most 32 bits and for bytes,
except for the oldest instruction set. A block's operands are plain pointers: the arrays themselves, or buffers filled by
shared loads (native/block.h); so one inner loop serves every layout and dtype, and the compiler vectorises it.
native/kernel.c calls these
functions.
"""
from __future__ import annotations

import ast
import re
from typing import Any

from retrograd.codegen.loops import FAR, FUNCTIONS, HEAVY, REDUCE, Program, called, is_reduction, names_in, operands

TYPES = {"f": "float", "d": "double", "l": "int64_t"}
OWN = {"f": "F32", "d": "F64", "l": "I64", "s": "I32", "b": "U8"}
NARROW = {"s": "int32_t", "b": "uint8_t"}
SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
         ast.LShift: "<<", ast.RShift: ">>",
         ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


def expression(e: ast.expr, c: str) -> str:
    """C text of one expression, computed in type `c`."""
    if isinstance(e, ast.Constant) and isinstance(e.value, (int, float)):
        return f"({int(e.value)}{'LL' * (c == 'l')})" if c in "lsb" else f"({float(e.value)!r}{'f' if c == 'f' else ''})"
    if isinstance(e, ast.Name):
        known = {} if getattr(e, "is_argument", False) else {"inf": "((T)INF)", "nan": "((T)__builtin_nan(\"\"))"}
        return known.get(e.id, f"v_{e.id}")
    if isinstance(e, ast.Subscript):
        assert isinstance(e.value, ast.Name) and isinstance(e.slice, ast.Name)
        return f"v_{e.value.id}_at_{e.slice.id}"
    if isinstance(e, ast.UnaryOp):
        sign = {ast.USub: "-", ast.Not: "!", ast.Invert: "~"}[type(e.op)]
        return f"({sign}{expression(e.operand, c)})"
    if isinstance(e, ast.BinOp):
        return f"({expression(e.left, c)} {SIGNS[type(e.op)]} {expression(e.right, c)})"
    if isinstance(e, ast.BoolOp):
        return "(" + (" & " if isinstance(e.op, ast.And) else " | ").join(condition(v, c) for v in e.values) + ")"
    if isinstance(e, ast.Compare):
        return f"({expression(e.left, c)} {SIGNS[type(e.ops[0])]} {expression(e.comparators[0], c)})"
    if isinstance(e, ast.IfExp):
        return f"({condition(e.test, c)} ? (T){expression(e.body, c)} : (T){expression(e.orelse, c)})"
    if called(e) == "where":
        test, yes, no = operands(e)
        return f"({condition(test, c)} ? (T){expression(yes, c)} : (T){expression(no, c)})"
    if called(e) in FUNCTIONS:
        return f"{called(e)}_{c}({', '.join(expression(a, c) for a in operands(e))})"
    raise SyntaxError(ast.dump(e))


def condition(e: ast.expr, c: str) -> str:
    """An expression as a truth value."""
    if isinstance(e, (ast.Compare, ast.BoolOp)) or (isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not)):
        return expression(e, c)
    return f"({expression(e, c)} != 0)"


def number_lines(p: Program, c: str) -> str:
    return "".join(f" const T v_{n} = (T)num[{i}].{'i' if c in 'lsb' else 'd'};" for i, n in enumerate(p.numbers))


def narrows(p: Program) -> bool:
    """Whether integers of any width give the same result: sums and products wrap around, and only operands are compared."""
    wraps = (ast.Add, ast.Sub, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)

    def fits(e: ast.expr) -> bool:
        if isinstance(e, ast.BinOp):
            return isinstance(e.op, wraps) and fits(e.left) and fits(e.right)
        if isinstance(e, ast.Compare):
            return is_operand(e.left) and is_operand(e.comparators[0])
        if called(e) in ("maximum", "minimum", "fmax", "fmin"):
            return all(is_operand(a) for a in operands(e))
        if isinstance(e, ast.UnaryOp):
            return fits(e.operand)
        if isinstance(e, ast.BoolOp):
            return all(fits(v) for v in e.values)
        if isinstance(e, ast.IfExp) or called(e) == "where":
            return all(fits(a) for a in ((e.test, e.body, e.orelse) if isinstance(e, ast.IfExp) else operands(e)))
        return is_operand(e)

    def is_operand(e: ast.expr) -> bool:
        return isinstance(e, ast.Name) and (e.id in p.inputs or e.id in p.numbers) or (
            isinstance(e, ast.Constant) and e.value in (0, 1))
    if p.family != "point" or len(p.steps) != 1 or "numel" in p.numbers or len(p.inputs) > 3 or p.name.endswith(("_1", "_2")):
        return False
    return not isinstance(p.steps[0][1], ast.Name) and fits(p.steps[0][1])


def is_linear(p: Program) -> bool:
    """Whether the real and imaginary parts of complex operands can be treated as numbers side by side."""
    def linear(e: ast.expr) -> bool:
        if isinstance(e, ast.BinOp):
            if isinstance(e.op, ast.Mult):
                return isinstance(e.left, ast.Name) and e.left.id in p.numbers and linear(e.right)
            return isinstance(e.op, (ast.Add, ast.Sub)) and linear(e.left) and linear(e.right)
        if isinstance(e, ast.UnaryOp):
            return isinstance(e.op, ast.USub) and linear(e.operand)
        return isinstance(e, ast.Name) and p.kinds.get(e.id) == "elem"
    return p.family == "point" and len(p.steps) == 1 and linear(p.steps[0][1])


def rare_branch(p: Program, c: str) -> tuple[str, str] | None:
    """For a choice between an expensive and a cheap branch: the C text of the test for the cheap one, and of its value."""
    final = p.steps[-1][1]
    if len(p.steps) != 1 or c not in "fd" or not isinstance(final, ast.IfExp) or far_test(p.steps, c):
        return None
    dear = [any(called(n) in HEAVY for n in ast.walk(e)) for e in (final.test, final.body, final.orelse)]
    if dear[0] or dear[1] == dear[2]:
        return None
    test = condition(final.test, c)
    return (f"!{test}", expression(final.orelse, c)) if dear[1] else (test, expression(final.body, c))


def far_test(steps: list[tuple[str, ast.expr]], c: str) -> list[str]:
    """Whether arguments of sin, cos, tan or fmod are too large for the vector functions; the C library's are called then."""
    found = []
    for n in (n for _, e in steps for n in ast.walk(e) if isinstance(n, ast.Call) and called(n) in FAR):
        if called(n) != "fmod":
            found.append(f"!(abs_{c}({expression(n.args[0], c)}) < (T)TRIG_LIMIT)")
        elif c != "l":
            limit = "FMOD_LIMIT" if c == "f" else "FMOD_LIMIT_D"
            found.append(f"!(abs_{c}({expression(n.args[0], c)} / {expression(n.args[1], c)}) < (T){limit})")
    return found


def pointwise(p: Program, c: str) -> str:
    """One element of the result from one element of each operand."""
    k = len(p.inputs)
    out: list[str] = []
    emit = out.append
    emit(f"static void {p.name}_{c}(char **p, const long *s, const char *t, long n, const Number *num) {{")
    # a loop-invariant exponent keeps gcc from vectorising the loop: read it from memory like the other operands
    powers = {a.id for _, e in p.steps for n in ast.walk(e)
              if isinstance(n, ast.Call) and called(n) == "pow" for a in n.args if isinstance(a, ast.Name)}
    powers &= set(p.numbers) if c == "f" else set()
    lines = number_lines(p, c)
    for n in powers:
        lines = lines.replace(f"const T v_{n} =", f"T q_{n}[BLOCK]; for (int j = 0; j < BLOCK; j++) q_{n}[j] =")
    emit(f"  {lines}")
    if any(n == "largest" for _, e in p.steps for n in names_in(e)):
        emit(f"  const T v_largest = (T)(t[{k}] == F16 ? 65504. : t[{k}] == BF16 ? 3.3895313892515355e38 : "
             "sizeof(T) == 4 ? 3.4028234663852886e38 : 1.7976931348623157e308);")
    own = ">= U8" if c == "b" else f"== {OWN[c]}"
    direct = " && ".join(f"t[{i}] {own} && s[{i}] == sizeof(T) && aligned(p[{i}], sizeof(T))" for i in range(k + 1))
    emit(f"  const long most = {'' if powers else f'{direct} ? n : '}BLOCK;")
    emit("  for (long b = 0, m; b < n; b += m) { m = n - b < most ? n - b : most;")
    light = k == 2 and c not in NARROW and not any(called(node) in FUNCTIONS - {"where", "maximum", "minimum"}
                                                   for _, e in p.steps for node in ast.walk(e))
    for i, n in enumerate(p.inputs):
        count = "m" if not light else "s[0] ? m : 1" if i == 0 else "s[1] || !s[0] ? m : 1"
        emit(f"    T u_{n}[BLOCK]; const T *q_{n} = load_{c}(p[{i}] + b * s[{i}], s[{i}], t[{i}], {count}, u_{n});")
    emit(f"    T w[BLOCK]; T *z = place_{c}(p[{k}] + b * s[{k}], s[{k}], t[{k}], w);")
    loads = {n: f"const T v_{n} = q_{n}[j];" for n in [*p.inputs, *sorted(powers)]}
    final = p.steps[-1][1]
    steps = "".join(f" const T v_{n} = {expression(e, c)};" for n, e in p.steps[:-1])
    store = f" z[j] = (T){expression(final, c)};"
    body = " ".join(loads.values()) + steps + store
    far = far_test(p.steps, c)
    if far:
        big = " | ".join(far)
        emit(f'    int far = 0; _Pragma("omp simd reduction(|:far)") for (long j = 0; j < m; j++) {{ '
             f'{" ".join(loads.values())}{steps} far |= {big}; }}')
        exact = re.sub(rf"\b(sin|cos|tan|fmod)_{c}\(", rf"\1_{c}_exact(", body)
        emit(f"    if (far) for (long j = 0; j < m; j++) {{ {exact} }} else")
    if light:
        for i, n in enumerate(p.inputs):
            rest = body.replace(loads[n], "")
            emit(f"    if (s[{i}] == 0) {{ const T v_{n} = *q_{n}; SIMD for (long j = 0; j < m; j++) {{ {rest} }} }} else")
    rare = rare_branch(p, c)
    if rare:
        test, value = rare
        read = " ".join(loads.values())
        emit('    int cheap = 1; _Pragma("omp simd reduction(&:cheap)") '
             f"for (long j = 0; j < m; j++) {{ {read} cheap &= {test}; }}")
        emit(f"    if (cheap) SIMD for (long j = 0; j < m; j++) {{ {read} z[j] = (T){value}; }} else")
    emit(f"    SIMD for (long j = 0; j < m; j++) {{ {body} }}")
    if c == "b" and not p.is_boolean:
        emit(f"    if (t[{k}] == BOOL) SIMD for (long j = 0; j < m; j++) z[j] = z[j] != 0;")
    emit(f"    if (z == w) pack_{c}(w, p[{k}] + b * s[{k}], s[{k}], t[{k}], m); }} }}")
    return "\n".join(out)


def reduction(p: Program, c: str) -> str:
    """Three functions: one row, four rows at a time down the columns, and the final step from accumulators to results."""
    k, r = len(p.inputs), REDUCE[p.reducer]
    out: list[str] = []
    emit = out.append
    D = "int64_t" if c == "l" else "double"
    term = expression(p.term, c)
    bare = isinstance(p.term, ast.Name) and p.term.id in p.inputs
    head = "const char *t, long n, const Number *num"
    emit(f"static Acc {p.name}_{c}_row(char **p, const long *s, {head}) {{ {number_lines(p, c)}")
    direct = " && ".join(f"t[{i}] == {OWN[c]} && s[{i}] == sizeof(T) && aligned(p[{i}], sizeof(T))" for i in range(k))
    if bare:
        emit(f"  const int direct = {direct};")
        emit(f"  if (direct && n <= 4 * BLOCK) return {r}_only_{c}({r}_{c}((const T *)p[0], n));")
    emit(f"  Acc a = {r}_start_{c}(); const long most = {'direct ? 4 * BLOCK : BLOCK' if bare else 'BLOCK'};")
    emit("  for (long b = 0, m; b < n; b += m) { m = n - b < most ? n - b : most;")
    for i, n in enumerate(p.inputs):
        emit(f"    T u_{n}[BLOCK]; const T *q_{n} = load_{c}(p[{i}] + b * s[{i}], s[{i}], t[{i}], m, u_{n});")
    loads = " ".join(f"const T v_{n} = q_{n}[j];" for n in p.inputs)
    if bare:
        emit(f"    {r}_into_{c}(&a, {r}_{c}(q_{p.term.id}, m)); }}")
    else:
        emit(f"    T w[BLOCK]; SIMD for (long j = 0; j < m; j++) {{ {loads} w[j] = (T){term}; }}")
        emit(f"    {r}_into_{c}(&a, {r}_{c}(w, m)); }}")
    emit("  return a; }")
    # down the columns: sums of up to 64 rows in the computing type, then in double
    identity = {"sum": "0", "prod": "1", "max": "INT64_MIN" if c == "l" else "-INF",
                "min": "INT64_MAX" if c == "l" else "INF"}[r]

    def joined(c: str) -> str:
        return {"sum": "{a} + {b}", "prod": "{a} * {b}", "max": f"maximum_{c}({{a}}, {{b}})",
                "min": f"minimum_{c}({{a}}, {{b}})"}[r]
    join, wide = joined(c), joined("l" if c == "l" else "d")
    emit(f"static void {p.name}_{c}_col(char **p, const long *s, const long *rs, const char *t, long rows, long n, const "
         f"Number *num, {D} *acc) {{ {number_lines(p, c)}")
    emit("  for (long b = 0, m; b < n; b += m) { m = n - b < BLOCK ? n - b : BLOCK;")
    emit(f"    for (long r0 = 0; r0 < rows; r0 += 64) {{ const long r1 = r0 + 64 < rows ? r0 + 64 : rows; T sums[BLOCK]; "
         f"for (long j = 0; j < m; j++) sums[j] = (T){identity};")
    pairs = join.format(a="(" + join.format(a="k0", b="k1") + ")", b="(" + join.format(a="k2", b="k3") + ")")
    one = [f"T u_{n}[BLOCK]; const T *q_{n} = load_{c}(p[{o}] + ROW * rs[{o}] + b * s[{o}], s[{o}], t[{o}], m, u_{n});"
           for o, n in enumerate(p.inputs)]
    if any(called(node) in HEAVY for node in ast.walk(p.term)):      # one copy of the term, whose values are kept
        emit("      for (long r = r0; r < r1; r += 4) { const long k = r1 - r < 4 ? r1 - r : 4; T w[4][BLOCK];")
        emit(f"        for (long i = 0; i < k; i++) {{ {' '.join(one).replace('ROW', '(r + i)')}")
        emit(f"          T *z = w[i]; SIMD for (long j = 0; j < m; j++) {{ {loads} z[j] = (T){term}; }} }}")
        four = [f"const T k{i} = w[{i}][j];" for i in range(4)]
        emit(f"        if (k == 4) {{ SIMD for (long j = 0; j < m; j++) {{ {' '.join(four)} sums[j] = "
             f"{join.format(a='sums[j]', b='(' + pairs + ')')}; }} }}")
        emit("        else for (long i = 0; i < k; i++) SIMD for (long j = 0; j < m; j++) sums[j] = "
             f"{join.format(a='sums[j]', b='w[i][j]')}; }}")
    else:
        emit("      long r = r0; for (; r + 4 <= r1; r += 4) {")
        for n, i in ((n, i) for n in p.inputs for i in range(4)):
            o = p.inputs.index(n)
            emit(f"        T u_{n}_{i}[BLOCK]; const T *q_{n}_{i} = load_{c}(p[{o}] + (r + {i}) * rs[{o}] + b * s[{o}], "
                 f"s[{o}], t[{o}], m, u_{n}_{i});")
        four = [f"T k{i}; {{ {' '.join(f'const T v_{n} = q_{n}_{i}[j];' for n in p.inputs)} k{i} = (T){term}; }}"
                for i in range(4)]
        emit(f"        SIMD for (long j = 0; j < m; j++) {{ {' '.join(four)} sums[j] = "
             f"{join.format(a='sums[j]', b='(' + pairs + ')')}; }} }}")
        emit(f"      for (; r < r1; r++) {{ {' '.join(one).replace('ROW', 'r')}")
        emit(f"        SIMD for (long j = 0; j < m; j++) {{ {loads} const T k0 = (T){term}; sums[j] = "
             f"{join.format(a='sums[j]', b='k0')}; }} }}")
    emit(f"      SIMD for (long j = 0; j < m; j++) acc[b + j] = {wide.format(a='acc[b + j]', b=f'({D})sums[j]')}; }} }} }}")
    # the final step
    e = "l" if c == "l" else "d"
    finish = expression(p.finish, e).replace("(T)", f"({D})")
    numbers = number_lines(p, e).replace("T v_", f"{D} v_").replace("(T)", f"({D})")
    emit(f"static void {p.name}_{c}_end({D} *acc, long k, double count, const Number *num, char *to, long s, int t) {{ "
         f"const {D} v_n = ({D})count; (void)v_n; {numbers}")
    if not isinstance(p.finish, ast.Name):
        emit(f"  for (long j = 0; j < k; j++) {{ const {D} v_acc = acc[j]; acc[j] = {finish}; }}")
    emit(f"  pack_{e}(acc, to, s, t, k); }}")
    return "\n".join(out)


def row(p: Program, c: str) -> str:
    """One row, in as many passes as its reductions need; expensive values that are used again are buffered."""
    steps, where = dict(p.steps), {n: i for i, n in enumerate(p.operands)}
    out: list[str] = []
    last = {n: p.current[n] for n, _ in p.outputs}
    emit = out.append
    emit(f"static void {p.name}_{c}(char **p, const long *s, const char *t, long n, const Number *num, T *row) {{")
    emit(f"  const T v_n = (T)n; (void)v_n; {number_lines(p, c)}")
    for n in p.inputs:
        i = where[n]
        if p.kinds[n] == "row":
            emit(f"  T b_{n}; const T v_{n} = *load_{c}(p[{i}], 0, t[{i}], 1, &b_{n});")
        if p.kinds[n] == "idx":
            emit(f"  const long v_{n} = *(const int64_t *)p[{i}]; const int i_{n} = (int)v_{n};")
    seen = set()
    for node in (node for _, e in p.steps for node in ast.walk(e) if isinstance(node, ast.Subscript)):
        x, i = node.value.id, node.slice.id  # type: ignore[attr-defined]
        if (x, i) not in seen:
            seen.add((x, i))
            emit(f"  T b_{x}_{i}; const T v_{x}_at_{i} = *load_{c}(p[{where[x]}] + v_{i} * s[{where[x]}], 0, "
                 f"t[{where[x]}], 1, &b_{x}_{i});")
    done: set[str] = set()
    kept: dict[str, int] = {}

    def level_of(n: str) -> int:
        return p.what[n][1]

    def rows(level: int) -> None:
        for n, e in p.steps:
            if p.what[n] == ("r", level) and n not in done and not is_reduction(e):
                emit(f"  const T v_{n} = {expression(e, c)};")
                done.add(n)

    for level in range(p.passes):
        rows(level)
        reductions = [(n, e) for n, e in p.steps if is_reduction(e) and level_of(n) == level + 1]
        stores = [(o, k, last[o]) for o, k in p.outputs
                  if k in ("elem", "col") and p.what[last[o]][0] == "e" and level_of(last[o]) == level]
        order: list[str] = []
        needed: set[str] = set()

        def need(n: str, needed: set[str] = needed, order: list[str] = order) -> None:
            if n in needed or p.what.get(n, "r")[0] != "e":
                return
            needed.add(n)
            if n in steps and n not in kept:
                for m in names_in(steps[n]):
                    need(m)
            order.append(n)
        for _, e in reductions:
            for m in names_in(operands(e)[0]):
                need(m)
        for _, _, v in stores:
            need(v)
        if not (reductions or stores):
            continue
        later: set[str] = set()
        for n, e in p.steps:
            reader = level_of(n) - (1 if is_reduction(e) else 0)
            later |= {m for m in names_in(e) if reader > level and m in order and m in p.heavy and m in steps and m not in kept}
        accs = [(n, called(e), expression(operands(e)[0], c)) for n, e in reductions]
        loads = [n for n in order if n in where and n not in steps]
        body = [f"const T v_{n} = q_{n}[j];" for n in loads]
        for n in order:
            if n == "col":
                body.append("const int v_col = (int)j;")
            elif n in kept:
                body.append(f"const T v_{n} = row[{kept[n]} * n + b + j];")
            elif n in steps:
                body.append(f"const T v_{n} = {expression(steps[n], c)};")
        for n in sorted(later):
            kept[n] = len(kept)
            body.append(f"row[{kept[n]} * n + b + j] = v_{n};")
        for o, k, v in stores:
            body.append(f"z_{o}[j] = v_{v};" if k == "elem" else f"z_{o}[j] += v_{v};")
        text = " ".join(body)
        for t in (n for n in p.inputs if p.kinds[n] == "idx"):           # `col == t` compares ints of the block
            for sign in ("==", "!="):
                text = text.replace(f"(v_col {sign} v_{t})", f"(v_col {sign} i_{t} - (int)b)")
        bare = {n: f"q_{e[2:]}" if e[2:] in loads else f"(row + {kept[e[2:]]} * n + b)"
                for n, _, e in accs if e[2:] in loads or e[2:] in kept}
        direct = " && ".join([f"t[{where[n]}] == {OWN[c]} && s[{where[n]}] == sizeof(T) && aligned(p[{where[n]}], sizeof(T))"
                              for n in loads + [o for o, k, _ in stores if k == "elem"]] or ["1"])
        for n, r, _ in accs:
            emit(f"  Acc a_{n} = {REDUCE[r]}_start_{c}();" + ("" if n in bare else f" T e_{n}[BLOCK];"))
        most = f"{direct} ? 4 * BLOCK : BLOCK" if len(bare) == len(accs) else "BLOCK"
        emit(f"  for (long b = 0, m, most = {most}; b < n; b += m) {{ m = n - b < most ? n - b : most;")
        for n in loads:
            i = where[n]
            emit(f"    T u_{n}[BLOCK]; const T *q_{n} = load_{c}(p[{i}] + b * s[{i}], s[{i}], t[{i}], m, u_{n});")
        for o, k, _ in stores:
            i = where[o]
            emit(f"    T w_{o}[BLOCK]; T *z_{o} = place_{c}(p[{i}] + b * s[{i}], s[{i}], t[{i}], w_{o});" if k == "elem"
                 else f"    T *z_{o} = (T *)p[{i}] + b;")
        text += "".join(f" e_{n}[j] = (T){e};" for n, _, e in accs if n not in bare)
        if "] = " in text or "] += " in text:
            emit(f"    SIMD for (int j = 0; j < m; j++) {{ {text} }}")
        for n, r, _ in accs:
            emit(f"    {REDUCE[r]}_into_{c}(&a_{n}, {REDUCE[r]}_{c}({bare.get(n, f'e_{n}')}, m));")
        for o, k, _ in stores:
            if k == "elem":
                i = where[o]
                emit(f"    if (z_{o} == w_{o}) pack_{c}(w_{o}, p[{i}] + b * s[{i}], s[{i}], t[{i}], m);")
        emit("  }")
        for n, r, _ in accs:
            emit(f"  const T v_{n} = (T)({f'value_{c}(a_{n})'}{' / n' if r == 'mean' else ''});")
            done.add(n)
    rows(p.passes)
    for o, k in p.outputs:
        if k == "row":
            emit(f"  {{ const T w = v_{last[o]}; pack_{c}(&w, p[{where[o]}], sizeof(T), t[{where[o]}], 1); }}")
    emit("}")
    p.kept = max(p.kept, len(kept))
    return "\n".join(out)


def goes_across(p: Program) -> bool:
    """Whether a row program can treat rows side by side: elements and numbers only, nothing summed over the rows."""
    return p.family == "row" and set(p.kinds.values()) == {"elem"} and not p.sinks and any(
        is_reduction(e) for _, e in p.steps) and "col" not in {n for _, e in p.steps for n in names_in(e)}


def across(p: Program, c: str) -> str:
    """`m` rows that lie side by side, up to WIDE of them: the loop over them is the inner one, sums are in double."""
    steps, where = dict(p.steps), {n: i for i, n in enumerate(p.operands)}
    out: list[str] = []
    last = {n: p.current[n] for n, _ in p.outputs}
    scalars = {*p.numbers, "n"}
    emit = out.append
    emit(f"static void {p.name}_{c}_wide(char **p, const long *s, const char *t, long n, long m, const Number *num, T *row) {{")
    emit(f"  const T v_n = (T)n; (void)v_n; {number_lines(p, c)}")
    done: set[str] = set()
    kept: dict[str, int] = {}

    def of_rows(names: Any) -> str:
        found = {n for n in names if p.what.get(n, "e")[0] == "r"} - scalars
        return "".join(f" const T v_{n} = r_{n}[j];" for n in sorted(found))

    def rows(level: int) -> None:
        for n, e in p.steps:
            if p.what[n] == ("r", level) and n not in done and not is_reduction(e):
                value = f"{of_rows(names_in(e))} r_{n}[j] = {expression(e, c)};"
                emit(f"  T r_{n}[WIDE]; SIMD for (long j = 0; j < m; j++) {{{value} }}")
                done.add(n)

    for level in range(p.passes):
        rows(level)
        reductions = [(n, e) for n, e in p.steps if is_reduction(e) and p.what[n][1] == level + 1]
        stores = [(o, last[o]) for o, k in p.outputs if k == "elem" and p.what[last[o]] == ("e", level)]
        order: list[str] = []

        def need(n: str, order: list[str] = order) -> None:
            if n in order or p.what.get(n, "r")[0] != "e":
                return
            if n in steps and n not in kept:
                for m in names_in(steps[n]):
                    need(m)
            order.append(n)
        for n in [m for _, e in reductions for m in names_in(operands(e)[0])] + [v for _, v in stores]:
            need(n)
        if not (reductions or stores):
            continue
        later: set[str] = set()
        for n, e in p.steps:
            reader = p.what[n][1] - (1 if is_reduction(e) else 0)
            later |= {m for m in names_in(e) if reader > level and m in order and m in p.heavy and m in steps and m not in kept}
        loads = [n for n in order if n in where and n not in steps]
        values = [steps[n] for n in order if n in steps and n not in kept]
        body = of_rows(n for e in [*values, *[operands(e)[0] for _, e in reductions]] for n in names_in(e))
        body += "".join(f" const T v_{n} = q_{n}[j];" for n in loads)
        for n in order:
            if n in kept:
                body += f" const T v_{n} = row[({kept[n]} * n + i) * m + j];"
            elif n in steps:
                body += f" const T v_{n} = {expression(steps[n], c)};"
        for n in sorted(later):
            kept[n] = len(kept)
            body += f" row[({kept[n]} * n + i) * m + j] = v_{n};"
        body += "".join(f" z_{o}[j] = v_{v};" for o, v in stores)
        for n, e in reductions:
            how, term = REDUCE[called(e)], expression(operands(e)[0], c)
            kind, first = ("double", {"sum": "0", "prod": "1"}[how]) if how in ("sum", "prod") else (
                "T", "-(T)INF" if how == "max" else "(T)INF")
            emit(f"  {kind} a_{n}[WIDE]; for (long j = 0; j < m; j++) a_{n}[j] = {first};")
            body += {"sum": f" a_{n}[j] += {term};", "prod": f" a_{n}[j] *= {term};",
                     "max": f" a_{n}[j] = maximum_{c}(a_{n}[j], {term});",
                     "min": f" a_{n}[j] = minimum_{c}(a_{n}[j], {term});"}[how]
        emit("  for (long i = 0; i < n; i++) {")
        for n in loads:
            i = where[n]
            emit(f"    T u_{n}[WIDE]; const T *q_{n} = load_{c}(p[{i}] + i * s[{i}], width_of[(int)t[{i}]], t[{i}], m, u_{n});")
        for o, _ in stores:
            i = where[o]
            emit(f"    T w_{o}[WIDE]; T *z_{o} = place_{c}(p[{i}] + i * s[{i}], width_of[(int)t[{i}]], t[{i}], w_{o});")
        emit(f"    SIMD for (long j = 0; j < m; j++) {{{body} }}")
        for o, _ in stores:
            i = where[o]
            emit(f"    if (z_{o} == w_{o}) pack_{c}(w_{o}, p[{i}] + i * s[{i}], width_of[(int)t[{i}]], t[{i}], m);")
        emit("  }")
        for n, e in reductions:
            mean = " / n" if called(e) == "mean" else ""
            emit(f"  T r_{n}[WIDE]; for (long j = 0; j < m; j++) r_{n}[j] = (T)(a_{n}[j]{mean});")
            done.add(n)
    rows(p.passes)
    for o, k in p.outputs:
        if k == "row":
            emit(f"  pack_{c}(r_{last[o]}, p[{where[o]}], s[{where[o]}], t[{where[o]}], m);")
    emit("}")
    return "\n".join(out)


def row_writer(p: Program, c: str) -> str:
    """A row and, where possible, rows side by side."""
    return row(p, c) + ("\n" + across(p, c) if goes_across(p) else "")


WRITERS = {"point": pointwise, "reduce": reduction, "row": row_writer}


def entry(p: Program, c: str) -> str:
    """The functions of one program and type, as a row of the table."""
    narrow = [f"SIDE({p.name}_{w})" for w in NARROW] if c == "l" and narrows(p) else []
    names = {"point": [f"{p.name}_{c}", *narrow], "row": [f"{p.name}_{c}", *[f"{p.name}_{c}_wide"] * goes_across(p)],
             "reduce": [f"{p.name}_{c}_row", f"{p.name}_{c}_col", f"{p.name}_{c}_end"]}[p.family]
    return "{{" + ", ".join(f"(void *){n}" for n in names) + "}}"


def source(programs: list[tuple[Program, str]], table: str, first: bool = True) -> str:
    """A C file: the functions of `programs` (with the types of each), and their table, named for the instruction set; the
    first one also defines what all files share.
    """
    parts = ["#define BLOCK_MAIN\n" * first, '#include "block.h"\n']
    for c, name in TYPES.items():
        parts.append(f"#define T {name}\n")
        parts += [WRITERS[p.family](p, c) + "\n" for p, types in programs if c in types]
        parts.append("#undef T\n")
    parts.append("#if defined(__SSE2__) && !defined(__AVX2__)\n#define SIDE(f) 0\n#else\n#define SIDE(f) f\n")
    for c, name in NARROW.items():
        parts.append(f"#define T {name}\n")
        parts += [pointwise(p, c) + "\n" for p, types in programs if "l" in types and narrows(p)]
        parts.append("#undef T\n")
    parts.append("#endif\n")
    parts.append("typedef struct { void *f[3]; } Entry;\n")
    parts.append(f"__attribute__((visibility(\"hidden\"))) const Entry NAMED({table}_, ISA)[][3] = {{\n")
    parts += ["  {" + ", ".join(entry(p, c) if c in types else "{{0}}" for c in TYPES) + "},\n" for p, types in programs]
    parts.append("};\n")
    return "".join(parts)
