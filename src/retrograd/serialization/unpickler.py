"""The interpreter of pickles for `weights_only`: every instruction is carried out here, over what allowlist.py permits.

Protocols 2 to 4 are read. What a pickle can make is bounded by its length: containers come from instructions, one each;
calls that copy something are charged for it; keys are checked (see NOTE [Keys]). Nothing recurses.
"""
from __future__ import annotations

import pickle
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import Counter, OrderedDict
from collections.abc import Callable
from struct import Struct
from typing import Any

from retrograd.serialization import allowlist
from retrograd.serialization.errors import EmptyFileError, UnpicklingError, shown
from retrograd.serialization.keys import Collisions
from retrograd.serialization.rebuild import set_state

BLOCKED = ("sys", "os", "posix", "nt")
MAX_NAME = 1000                     # bytes in the name of a module or class
ALLOWANCE = 1 << 16                 # elements that calls may copy, beside two for each byte of the file
INT, SHORT, UNSIGNED, LONG, FLOAT = Struct("<i"), Struct("<H"), Struct("<I"), Struct("<Q"), Struct(">d")


class ForeignError(Exception):
    """Carries an error of the user's own code out of the interpreter."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class SafeUnpickler(allowlist.Reader):
    """Reads pickles out of `data`, one after the other, from `position` on."""

    def __init__(self, data: bytes, load_storage: Callable[[Any], Any], safe: dict[str, Any], encoding: str = "utf-8",
                 position: int = 0, file_size: int = 0) -> None:
        self.data, self.position, self.load_storage, self.safe, self.encoding = data, position, load_storage, safe, encoding
        self.safe_objects = {id(obj): obj for obj in safe.values()}
        self.keys = Collisions(list(safe.values()))
        self.check_key = self.keys.check                    # type: ignore[method-assign]
        self.budget = ALLOWANCE + 2 * max(len(data), file_size)
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def load(self) -> Any:
        """The next object."""
        self.stack, self.marks, self.memo = [], [], {}
        data, instructions, stack = self.data, INSTRUCTIONS, self.stack
        start = self.position
        try:
            while True:
                code = data[self.position]
                self.position += 1
                if code == STOP:
                    return stack.pop()
                instruction = instructions.get(code)
                if instruction is None:
                    raise UnpicklingError(f"Unsupported operand {code}")
                instruction(self)
        except UnpicklingError:
            raise
        except ForeignError as error:
            raise error.error from None
        except IndexError:
            if self.position >= len(data):
                raise EmptyFileError("Ran out of input: the pickle has no end" if data else "Ran out of input") from None
            raise UnpicklingError(f"unexpected instruction at byte {self.position - start}: the stack is empty") from None
        except (TypeError, ValueError, ArithmeticError, AttributeError, MemoryError, RecursionError, RuntimeError) as error:
            # The constructors check what they are given; what they still raise is said in their words.
            text = shown(str(error)) if type(error).__str__ is Exception.__str__ else ""
            raise UnpicklingError(f"damaged pickle at byte {self.position - start}: {type(error).__name__} {text}") from error

    # ---- what calls may ask
    def charge(self, amount: int) -> None:
        self.budget -= amount
        if self.budget < 0:
            raise UnpicklingError("the file asks for more objects than a file of its size can hold")

    def is_safe(self, obj: Any) -> bool:
        return id(obj) in self.safe_objects

    # ---- reading
    def take(self, count: int) -> bytes:
        start = self.position
        self.position = end = start + count
        if end > len(self.data):
            raise EmptyFileError(f"Ran out of input: {count} bytes are announced at byte {start}, but the pickle ends before")
        return self.data[start:end]

    def line(self) -> str:
        end = self.data.find(b"\n", self.position, self.position + MAX_NAME)
        if end < 0:
            raise UnpicklingError("the name of a global has no end")
        text, self.position = self.data[self.position:end], end + 1
        return decode(text)

    def pop_mark(self) -> list[Any]:
        if not self.marks:
            raise UnpicklingError("unexpected MARK found")
        start = self.marks.pop()
        items = self.stack[start:]
        del self.stack[start:]
        return items

    # ---- constants
    def load_text(self, count: int) -> None:
        self.stack.append(decode(self.take(count)))

    def load_old_string(self, count: int) -> None:
        data = self.take(count)
        if self.encoding == "bytes":
            self.stack.append(data)
            return
        try:
            self.stack.append(data.decode(self.encoding, "strict"))
        except (UnicodeDecodeError, LookupError) as error:
            raise UnpicklingError(f"a string cannot be decoded as {shown(self.encoding)}: {error}") from None

    # ---- names
    def load_global(self, module: str, name: str) -> None:
        if (module, name) in NAME_MAPPING:
            module, name = NAME_MAPPING[module, name]
        elif module in IMPORT_MAPPING:
            module = IMPORT_MAPPING[module]
        full = f"{module}.{name}"
        if module in BLOCKED:
            raise UnpicklingError(f"Trying to load unsupported GLOBAL {shown(full)} whose module {module} is blocked.")
        found = allowlist.find_allowed(full)
        if found is None:
            found = self.safe.get(full)
        if found is None:
            full = shown(full.removeprefix("builtins."))
            raise UnpicklingError(
                f"Unsupported global: GLOBAL {full} was not an allowed global by default. Please use "
                f"`torch.serialization.add_safe_globals([{full}])` or the `torch.serialization.safe_globals([{full}])` context "
                "manager to allowlist this global if you trust this class/function.")
        self.stack.append(found)

    def load_stack_global(self) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        if type(name) is not str or type(module) is not str or len(name) + len(module) > MAX_NAME:
            raise UnpicklingError("STACK_GLOBAL requires str")
        self.load_global(module, name)

    # ---- objects
    def load_reduce(self) -> None:
        stack = self.stack
        args = stack.pop()
        function = stack.pop()
        if type(args) is not tuple:
            raise UnpicklingError("the arguments of a call must be a tuple")
        call = allowlist.CALLS.get(id(function))
        if call is not None:
            stack.append(call(args, self))
        elif self.is_safe(function):
            stack.append(foreign(function, *args))
        else:
            raise UnpicklingError("Trying to call reduce for unrecognized function "
                                  f"{shown(getattr(function, '__name__', type(function).__name__))}")

    def load_new(self) -> None:
        args, cls = self.stack.pop(), self.stack.pop()
        if type(args) is not tuple:
            raise UnpicklingError("the arguments of a new object must be a tuple")
        if self.is_safe(cls) and isinstance(cls, type):
            self.stack.append(foreign(cls.__new__, cls, *args))
        else:
            self.charge(8)
            self.stack.append(allowlist.make_blank(cls, args))

    def load_build(self) -> None:
        state = self.stack.pop()
        target = self.stack[-1]
        setter = allowlist.SETTERS.get(type(target))
        if setter is not None:
            self.charge(allowlist.size_of_state(state))
            setter(target, state)
        elif self.is_safe(type(target)):
            if hasattr(target, "__setstate__"):
                foreign(target.__setstate__, state)
            else:
                foreign(set_state, target, state)
        else:
            raise UnpicklingError("Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, "
                                  f"but got {type(target)}")

    def load_persistent(self) -> None:
        saved_id = self.stack.pop()
        kind = saved_id[0] if type(saved_id) is tuple and saved_id else None
        if type(kind) is bytes:                             # as Python 2 writes it
            kind = kind.decode("latin1")
        if type(kind) is not str or kind != "storage":
            raise UnpicklingError(f"Only persistent_load of storage is allowed, but got {shown(kind)}")
        self.stack.append(self.load_storage(saved_id))

    # ---- containers
    def load_append(self) -> None:
        item = self.stack.pop()
        target = self.stack[-1]
        if type(target) is not list:
            raise UnpicklingError(f"Can only append to lists, but got {type(target)}")
        target.append(item)

    def load_appends(self) -> None:
        items = self.pop_mark()
        target = self.stack[-1]
        if type(target) is not list:
            raise UnpicklingError(f"Can only extend lists, but got {type(target)}")
        target.extend(items)

    def load_add_items(self) -> None:
        items = self.pop_mark()
        target = self.stack[-1]
        if type(target) is not set:
            raise UnpicklingError(f"Can only add items to sets, but got {type(target)}")
        for item in items:
            self.check_key(item, target)
            target.add(item)

    def load_set_item(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.set_items("SETITEM", [key, value])

    def load_set_items(self) -> None:
        self.set_items("SETITEMS", self.pop_mark())

    def set_items(self, instruction: str, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not dict and type(target) is not OrderedDict and type(target) is not Counter:
            raise UnpicklingError(f"Can only {instruction} for dict, collections.OrderedDict, collections.Counter, but got "
                                  f"{type(target)}")
        if len(items) % 2:
            raise UnpicklingError(f"{instruction} needs pairs of keys and values")
        check_key = self.check_key
        for i in range(0, len(items), 2):
            key = items[i]
            if type(key) is not str:
                check_key(key, target)
            target[key] = items[i + 1]

    def load_tuple(self, count: int) -> None:
        stack = self.stack
        if len(stack) < count:
            raise IndexError
        stack[-count:] = [tuple(stack[-count:])]

    def put(self, index: int) -> None:
        self.memo[index] = self.stack[-1]

    def get(self, index: int) -> None:
        if index not in self.memo:
            raise UnpicklingError(f"Memo value not found at index {index}")
        self.stack.append(self.memo[index])


def decode(data: bytes) -> str:
    try:
        return str(data, "utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise UnpicklingError(f"a string is not utf-8: {error.reason} at byte {error.start}") from None


def foreign(function: Callable[..., Any], *args: Any) -> Any:
    """Call what the user declared safe; its errors are the user's."""
    try:
        return function(*args)
    except UnpicklingError:
        raise
    except Exception as error:
        raise ForeignError(error) from None


def byte(reader: SafeUnpickler) -> int:
    return reader.take(1)[0]


def push(value: Any) -> Callable[[SafeUnpickler], None]:
    return lambda reader: reader.stack.append(value)


def word(reader: SafeUnpickler) -> int:
    return UNSIGNED.unpack(reader.take(4))[0]


def check_protocol(reader: SafeUnpickler) -> None:
    found = byte(reader)
    if found > 5:
        raise UnpicklingError(f"unsupported pickle protocol: {found}")


STOP = pickle.STOP[0]
INSTRUCTIONS: dict[int, Callable[[SafeUnpickler], None]] = {name[0]: function for name, function in {
    pickle.PROTO: check_protocol,
    pickle.FRAME: lambda reader: reader.take(8) and None,
    pickle.MARK: lambda reader: reader.marks.append(len(reader.stack)),
    pickle.NONE: push(None), pickle.NEWTRUE: push(True), pickle.NEWFALSE: push(False), pickle.EMPTY_TUPLE: push(()),
    pickle.EMPTY_LIST: lambda reader: reader.stack.append([]),
    pickle.EMPTY_DICT: lambda reader: reader.stack.append({}),
    pickle.EMPTY_SET: lambda reader: reader.stack.append(set()),
    pickle.BININT: lambda reader: reader.stack.append(INT.unpack(reader.take(4))[0]),
    pickle.BININT1: lambda reader: reader.stack.append(byte(reader)),
    pickle.BININT2: lambda reader: reader.stack.append(SHORT.unpack(reader.take(2))[0]),
    pickle.LONG1: lambda reader: reader.stack.append(int.from_bytes(reader.take(byte(reader)), "little", signed=True)),
    pickle.BINFLOAT: lambda reader: reader.stack.append(FLOAT.unpack(reader.take(8))[0]),
    pickle.BINUNICODE: lambda reader: reader.load_text(word(reader)),
    pickle.SHORT_BINUNICODE: lambda reader: reader.load_text(byte(reader)),
    pickle.BINUNICODE8: lambda reader: reader.load_text(LONG.unpack(reader.take(8))[0]),
    pickle.SHORT_BINSTRING: lambda reader: reader.load_old_string(byte(reader)),
    pickle.BINSTRING: lambda reader: reader.load_old_string(word(reader)),
    pickle.SHORT_BINBYTES: lambda reader: reader.stack.append(reader.take(byte(reader))),
    pickle.BINBYTES: lambda reader: reader.stack.append(reader.take(word(reader))),
    pickle.BINBYTES8: lambda reader: reader.stack.append(reader.take(LONG.unpack(reader.take(8))[0])),
    pickle.TUPLE: lambda reader: reader.stack.append(tuple(reader.pop_mark())),
    pickle.TUPLE1: lambda reader: reader.load_tuple(1),
    pickle.TUPLE2: lambda reader: reader.load_tuple(2),
    pickle.TUPLE3: lambda reader: reader.load_tuple(3),
    pickle.APPEND: lambda reader: reader.load_append(),
    pickle.APPENDS: lambda reader: reader.load_appends(),
    pickle.ADDITEMS: lambda reader: reader.load_add_items(),
    pickle.SETITEM: lambda reader: reader.load_set_item(),
    pickle.SETITEMS: lambda reader: reader.load_set_items(),
    pickle.BINPUT: lambda reader: reader.put(byte(reader)),
    pickle.LONG_BINPUT: lambda reader: reader.put(word(reader)),
    pickle.MEMOIZE: lambda reader: reader.put(len(reader.memo)),
    pickle.BINGET: lambda reader: reader.get(byte(reader)),
    pickle.LONG_BINGET: lambda reader: reader.get(word(reader)),
    pickle.GLOBAL: lambda reader: reader.load_global(reader.line(), reader.line()),
    pickle.STACK_GLOBAL: lambda reader: reader.load_stack_global(),
    pickle.REDUCE: lambda reader: reader.load_reduce(),
    pickle.NEWOBJ: lambda reader: reader.load_new(),
    pickle.BUILD: lambda reader: reader.load_build(),
    pickle.BINPERSID: lambda reader: reader.load_persistent(),
}.items()}
