"""Hostile files: programs in pickle's instructions, each with what it tries, and archives that lie about their content."""
from __future__ import annotations

import io
import struct
import zipfile
from typing import Any

# ---- an assembler for pickles
PROTO, STOP = b"\x80\x02", b"."


def name(module: str, attribute: str) -> bytes:
    return b"c" + f"{module}\n{attribute}\n".encode()


def text(value: str) -> bytes:
    data = value.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(data)) + data


def number(value: int) -> bytes:
    if 0 <= value < 256:
        return b"K" + bytes([value])
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data


def several(*parts: bytes) -> bytes:
    return b"(" + b"".join(parts) + b"t"


def call(function: bytes, *args: bytes) -> bytes:
    return function + several(*args) + b"R"


def mapping(*pairs: tuple[bytes, bytes]) -> bytes:
    return b"}(" + b"".join([key + value for key, value in pairs]) + b"u"


def put(index: int) -> bytes:
    return b"q" + bytes([index])


def get(index: int) -> bytes:
    return b"h" + bytes([index])


def storage(kind: str = "FloatStorage", key: bytes | None = None, count: int = 4, location: bytes | None = None) -> bytes:
    return several(text("storage"), name("torch", kind), key or text("0"), location or text("cpu"), number(count)) + b"Q"


NONE, TRUE, FALSE, EMPTY = b"N", b"\x88", b"\x89", b")"
REBUILD = name("torch._utils", "_rebuild_tensor_v2")
REBUILD_3 = name("torch._utils", "_rebuild_tensor_v3")
FROM_TYPE = name("torch._tensor", "_rebuild_from_type_v2")
PARAMETER = name("torch._utils", "_rebuild_parameter")
WITH_STATE = name("torch._utils", "_rebuild_parameter_with_state")
SPARSE = name("torch._utils", "_rebuild_sparse_tensor")
LAYOUT = name("torch.serialization", "_get_layout")
ORDERED = name("collections", "OrderedDict")
SET = name("__builtin__", "set")
TENSOR = name("torch", "Tensor")
SIZE = name("torch", "Size")


def tensor(size: bytes = several(number(4)), stride: bytes = several(number(1)), offset: bytes = number(0),
           requires_grad: bytes = FALSE, memory: bytes | None = None) -> bytes:
    return call(REBUILD, memory or storage(), offset, size, stride, requires_grad, call(ORDERED))


def layout(kind: str) -> bytes:
    return call(LAYOUT, text(kind))


def integers(key: str, size: bytes, stride: bytes) -> bytes:
    return tensor(size, stride, memory=storage("LongStorage", text(key), 2))


def coo(indices: str) -> bytes:
    return call(SPARSE, layout("torch.sparse_coo"), several(
        integers(indices, several(number(1), number(2)), several(number(2), number(1))), tensor(several(number(2))),
        call(SIZE, several(number(3))), FALSE))


def csr(outer: str, inner: str) -> bytes:
    return call(SPARSE, layout("torch.sparse_csr"), several(
        integers(outer, several(number(2)), several(number(1))), integers(inner, several(number(2)), several(number(1))),
        tensor(several(number(2))), call(SIZE, several(number(1), number(3)))))


def nested(depth: int) -> bytes:
    """Pairs of the same pair: small to write, endless to hash."""
    return number(1) + b"".join([put(0) + get(0) + b"\x86" for _ in range(depth)])


MODULUS = 2 ** 61 - 1
big_keys = b"}(" + b"".join([number(MODULUS * i) + NONE for i in range(1, 3000)]) + b"u"
numbers_list = b"]" + put(1) + b"(" + b"".join([number(i) for i in range(20000)]) + b"e"

PROGRAMS: dict[str, bytes] = {
    # functions that are not allowed
    "os.system": call(name("os", "system"), text("true")),
    "posix.system": call(name("posix", "system"), text("true")),
    "subprocess.Popen": call(name("subprocess", "Popen"), text("true")),
    "builtins.eval": call(name("builtins", "eval"), text("1")),
    "python 2's builtins": call(name("__builtin__", "eval"), text("1")),
    "builtins.getattr": call(name("builtins", "getattr"), SET, text("pop")),
    "builtins.exec": call(name("builtins", "exec"), text("1")),
    "builtins.__import__": call(name("builtins", "__import__"), text("os")),
    "operator.attrgetter": call(name("operator", "attrgetter"), text("x")),
    "functools.partial": call(name("functools", "partial"), SET),
    "a dotted name": call(name("torch", "nn.Linear"), number(1), number(1)),
    "a dotted name under an allowed one": name("torch", "Tensor.__init__"),
    "the globals of a function": name("torch._utils", "_rebuild_tensor_v2.__globals__"),
    "the module of retrograd": name("retrograd.core.tensor", "METHODS"),
    "retrograd's numpy": name("retrograd.serialization.rebuild", "np"),
    "numpy": call(name("numpy", "zeros"), number(10 ** 12)),
    "numpy.core.multiarray": call(name("numpy.core.multiarray", "_reconstruct"), name("numpy", "ndarray"), several(number(0))),
    "a name with a line break": b"ctorch\r\nTensor\n",
    "a name in the future": name("torch", "evil"),
    "copyreg": call(name("copy_reg", "_reconstructor"), SET, SET, NONE),
    "a name without end": b"c" + b"a" * 5000,
    # layouts were found by attribute
    "builtins through a layout": call(LAYOUT, text("__builtins__")),
    "numpy through a layout": call(LAYOUT, text("np")),
    "a layout that is a function": call(LAYOUT, text("torch.wrap")),
    "a layout that is no string": call(LAYOUT, number(1)),
    "layout with a prefix twice": call(LAYOUT, text("torch.torch.strided")),
    # rebuilding from a type
    "from a type: any function": call(FROM_TYPE, SET, TENSOR, several(b"]"), mapping()),
    "from a type: layout as function": call(FROM_TYPE, LAYOUT, TENSOR, several(text("strided")), mapping()),
    "from a type: itself": call(FROM_TYPE, FROM_TYPE, TENSOR, several(REBUILD, TENSOR, EMPTY, mapping()), mapping()),
    "from a type: no tensor class": call(FROM_TYPE, REBUILD, ORDERED, several(storage(), number(0), EMPTY, EMPTY), mapping()),
    "from a type: dunder attribute": call(FROM_TYPE, REBUILD, TENSOR, several(storage(), number(0), EMPTY, EMPTY),
                                          mapping((text("__class__"), SET))),
    "from a type: a method's name": call(FROM_TYPE, REBUILD, TENSOR, several(storage(), number(0), EMPTY, EMPTY),
                                         mapping((text("tolist"), SET))),
    "from a type: a field's name": call(FROM_TYPE, REBUILD, TENSOR, several(storage(), number(0), EMPTY, EMPTY),
                                        mapping((text("array"), NONE))),
    "from a type: attributes that are no dict": call(FROM_TYPE, REBUILD, TENSOR, several(storage(), number(0), EMPTY, EMPTY),
                                                     several(number(1), number(2))),
    "from a type: too few arguments": call(FROM_TYPE, REBUILD),
    "parameter: a method's name": call(WITH_STATE, tensor(), FALSE, call(ORDERED), mapping((text("backward"), SET))),
    "parameter of a number": call(PARAMETER, number(1), TRUE, call(ORDERED)),
    "parameter of ints that require grad": call(PARAMETER, tensor(memory=storage("LongStorage", text("long"), 2),
                                                                  size=several(number(2))), TRUE, call(ORDERED)),
    # states
    "state of a class": TENSOR + mapping((text("evil"), number(1))) + b"b",
    "state of a function": REBUILD + mapping((text("evil"), number(1))) + b"b",
    "state of a dict": b"}" + mapping((text("evil"), number(1))) + b"b",
    "state of a dtype": name("torch", "float32") + mapping((text("itemsize"), number(100))) + b"b",
    "state of a device": call(name("torch", "device"), text("cpu")) + mapping((text("type"), text("x"))) + b"b",
    "state of a storage": storage() + mapping((text("owner"), NONE)) + b"b",
    "state of a size": call(SIZE, several(number(1))) + mapping((text("x"), NONE)) + b"b",
    "state of a tensor that is no geometry": TENSOR + EMPTY + b"\x81" + EMPTY + b"b",
    "state of a tensor outside its storage": TENSOR + EMPTY + b"\x81" + several(
        storage(), number(0), several(number(1000)), several(number(1))) + b"b",
    "an ordered dict's method": call(ORDERED) + mapping((text("items"), SET)) + b"b",
    "an ordered dict's class": call(ORDERED) + mapping((text("__class__"), SET)) + b"b",
    "an ordered dict with a tuple as state": call(ORDERED) + several(NONE, mapping((text("x"), NONE))) + b"b",
    "a generator's state": call(name("torch._C", "Generator"), call(name("torch", "device"), text("cpu"))) + several(
        number(1), NONE, tensor()) + b"b",
    "a generator's short state": call(name("torch._C", "Generator")) + several(
        number(1), NONE, tensor(several(number(3)), memory=storage("ByteStorage", text("bytes"), 4))) + b"b",
    # new objects
    "a new tensor with data": TENSOR + several(number(1)) + b"\x81",
    "a new set": SET + EMPTY + b"\x81",
    "a new storage": name("torch.storage", "UntypedStorage") + several(number(10 ** 12)) + b"\x81",
    "a storage by call": call(name("torch.storage", "UntypedStorage"), number(10 ** 12)),
    "a typed storage by call": call(name("torch", "FloatStorage"), number(10 ** 12)),
    "a tensor by call": call(TENSOR, number(10 ** 9)),
    "a dtype by call": call(name("torch", "float32")),
    # memory
    "bytes": call(name("__builtin__", "bytes"), number(6 * 10 ** 9)),
    "bytearray": call(name("__builtin__", "bytearray"), number(6 * 10 ** 9)),
    "range": call(name("__builtin__", "range"), number(10 ** 10)),
    "xrange": call(name("__builtin__", "xrange"), number(10 ** 10)),
    "deque": call(name("collections", "deque"), call(name("__builtin__", "xrange"), number(10 ** 9))),
    "set of a range": call(SET, call(name("__builtin__", "range"), number(10 ** 10))),
    "set of a tensor": call(SET, tensor(several(number(10 ** 12)), several(number(0)))),
    "size of a tensor": call(SIZE, tensor(several(number(10 ** 12)), several(number(0)))),
    "bytearray of a tensor": call(name("__builtin__", "bytearray"), tensor(several(number(10 ** 12)), several(number(0)))),
    "ordered dict of a tensor": call(ORDERED, tensor(several(number(10 ** 12)), several(number(0)))),
    "counter of a tensor": call(name("collections", "Counter"), tensor(several(number(10 ** 12)), several(number(0)))),
    "a list's copies as sets": numbers_list + b"\x85" + put(2) + SET + put(3) + (get(3) + get(2) + b"R") * 20000,
    "a string's copies as bytes": name("_codecs", "encode") + put(3) + several(text("a" * 50000), text("latin1")) + put(2) + (
        get(3) + get(2) + b"R") * 20000,
    "a generator's endless state": call(name("torch._C", "Generator")) + several(
        number(1), NONE, tensor(several(number(2 ** 28)), several(number(0)), memory=storage("ByteStorage"))) + b"b",
    "a copy of one number repeated": call(
        name("torch._utils", "_rebuild_device_tensor_from_cpu_tensor"), tensor(several(number(2 ** 26)), several(number(0))),
        name("torch", "float64"), text("cpu"), FALSE),
    "a copy of a parameter of one number repeated": call(
        name("torch._utils", "_rebuild_device_tensor_from_cpu_tensor"),
        call(PARAMETER, tensor(several(number(2 ** 26)), several(number(0))), FALSE, call(ORDERED)),
        name("torch", "float64"), text("cpu"), FALSE),
    "many generators": name("torch._C", "Generator") + put(3) + EMPTY + put(2) + (get(3) + get(2) + b"R") * 20000,
    "an attribute's copies": call(ORDERED) + put(1) + b"}(" + b"".join([text(f"k{i}") + NONE for i in range(2000)]) + b"u"
                             + put(2) + (get(1) + get(2) + b"b") * 20000,
    "a long string": b"X" + struct.pack("<I", 2 ** 32 - 1) + b"a",
    "very long bytes": b"\x8e" + struct.pack("<Q", 2 ** 62) + b"a",
    "a very long string": b"\x8d" + struct.pack("<Q", 2 ** 62) + b"a",
    "a tensor with too many elements": tensor(several(*[number(2 ** 60)] * 8), several(*[number(0)] * 8)),
    "a tensor with too many dimensions": tensor(several(*[number(1)] * 100), several(*[number(1)] * 100)),
    # time
    "hash of nested tuples": b"}" + nested(100) + NONE + b"s",
    "hash of deep tuples": b"}" + number(1) + b"\x85" * 100000 + NONE + b"s",
    "hash of deep tuples in a set": SET + b"](" + number(1) + b"\x85" * 100000 + b"e\x85R",
    "hash of nested sizes": b"}" + call(SIZE, tensor()) + NONE + b"s",
    "ints that collide": big_keys,
    "complex numbers that collide": b"}(" + b"".join([call(
        name("__builtin__", "complex"), number(2 ** 70 * i), number(MODULUS * i)) + NONE for i in range(1, 400)]) + b"u"
        + big_keys,
    # keys
    "a list as a key": b"}]Ns",
    "a dict as a key": b"}}Ns",
    "a set's list": call(SET, b"](]e"),
    # geometry
    "a tensor behind its storage": tensor(offset=number(1)),
    "a tensor before its storage": tensor(offset=number(-1)),
    "a stride beyond the storage": tensor(several(number(2)), several(number(10 ** 6))),
    "a negative stride": tensor(several(number(2)), several(number(-1))),
    "a negative size": tensor(several(number(-2)), several(number(1))),
    "a size that overflows": tensor(several(number(2 ** 62), number(4)), several(number(4), number(1))),
    "a huge offset": tensor(offset=number(2 ** 80)),
    "sizes and strides that differ": tensor(several(number(2), number(2)), several(number(1))),
    "a size that is a float": tensor(several(b"G" + struct.pack(">d", 2.0)), several(number(1))),
    "a size that is a bool": tensor(several(TRUE), several(number(1))),
    "a size that is a tensor": tensor(tensor(), several(number(1))),
    "an offset that is a tensor": tensor(offset=tensor()),
    "requires_grad that is no bool": tensor(requires_grad=number(1)),
    "a tensor of bools that are none": tensor(several(number(4)), memory=storage("BoolStorage", text("bytes"), 4)),
    "bools through another type": call(REBUILD_3, several(text("storage"), name("torch.storage", "UntypedStorage"),
                                                          text("bytes"), text("cpu"), number(4)) + b"Q", number(0),
                                       several(number(4)), several(number(1)), FALSE, call(ORDERED), name("torch", "bool")),
    "a dtype that is none": call(REBUILD_3, storage(), number(0), several(number(1)), several(number(1)), FALSE, NONE, SET),
    "a tensor without storage": call(REBUILD, number(1), number(0), EMPTY, EMPTY),
    "metadata that is no dict": call(REBUILD, storage(), number(0), EMPTY, EMPTY, FALSE, NONE, SET),
    "too many arguments": call(REBUILD, *[storage()] * 20),
    "sparse indices behind the size": coo("long"),
    "negative sparse indices": coo("negative"),
    "compressed indices out of order": csr("long", "small"),
    "compressed positions behind the size": csr("ends", "long"),
    "sparse of a sparse": call(SPARSE, layout("torch.sparse_coo"), several(coo("small"), coo("small"), EMPTY, FALSE)),
    "sparse without size": call(SPARSE, layout("torch.sparse_coo"), several(NONE, NONE)),
    "sparse of another layout": call(SPARSE, layout("torch.strided"), several(NONE, NONE, NONE, NONE)),
    # storages
    "a storage of another kind": several(text("module"), SET, text("a"), text("b")) + b"Q",
    "a storage that is not there": storage(key=text("99")),
    "a storage by path": storage(key=text("../../data.pkl")),
    "a storage with a long key": storage(key=text("a" * 10 ** 6)),
    "a storage with a key that is a list": storage(key=b"]"),
    "a storage with a tensor as key": storage(key=tensor()),
    "a storage that is too long": storage(count=10 ** 6),
    "a storage of negative length": storage(count=-1),
    "a storage with a float length": several(text("storage"), name("torch", "FloatStorage"), text("0"), text("cpu"),
                                             b"G" + struct.pack(">d", 1.0)) + b"Q",
    "a storage of a class that is none": several(text("storage"), SET, text("0"), text("cpu"), number(1)) + b"Q",
    "a storage of a dtype": several(text("storage"), name("torch", "float32"), text("0"), text("cpu"), number(1)) + b"Q",
    "a storage on no device": storage(location=text("nowhere")),
    "a storage on another device": storage(location=text("cuda:0")),
    "a short storage id": several(text("storage")) + b"Q",
    "an empty storage id": EMPTY + b"Q",
    "a storage id that is a number": number(1) + b"Q",
    "a storage id with a tensor": several(tensor(), tensor()) + b"Q",
    "a text id": b"Pabc\n",
    # instructions
    "instance": b"(ios\nsystem\n",
    "object": b"(cos\nsystem\no",
    "extension": b"\x82\x01",
    "new object with keywords": SET + EMPTY + b"}\x92",
    "a number as text": b"I" + b"9" * 5000 + b"\n",
    "a long number as text": b"L" + b"9" * 5000 + b"L\n",
    "a long number": b"\x8b" + struct.pack("<i", -1),
    "a string as text": b"S'a'\n",
    "unknown": b"\xff",
    "protocol 77": b"\x80\x4d" + NONE,
    "buffer": b"\x97",
    "frozen set": b"(\x91",
    "duplicate": NONE + b"2\x86",
    "pop": NONE + NONE + b"0",
    "pop mark": NONE + b"(1",
    "an empty stack": b"",
    "a call without arguments": b"R",
    "a call with a list": SET + b"]R",
    "a state without object": NONE + b"b",
    "marks that are missing": b"t",
    "memo that is missing": get(7),
    "put without a value": put(0),
    "items of an odd number": b"}(" + NONE + b"u",
    "items of a list": b"](" + NONE + NONE + b"u",
    "elements of a dict": b"}(" + NONE + b"e",
    "an element of a tensor": tensor() + NONE + b"a",
    "an item of a tensor": tensor() + number(0) + NONE + b"s",
    "items of a class": ORDERED + b"(" + NONE + NONE + b"u",
    "members of a list": b"](" + NONE + b"\x90",
    "text that is not utf-8": b"X" + struct.pack("<I", 2) + b"\xff\xfe",
    "a name that is not utf-8": b"c\xff\xfe\n\xff\n",
    "stack global of numbers": number(1) + number(2) + b"\x93",
    "stack global of os": text("os") + text("system") + b"\x93",
    "encode to another codec": call(name("_codecs", "encode"), text("a"), text("zlib")),
    "encode of what is not latin1": call(name("_codecs", "encode"), text("\u20ac"), text("latin1")),
    "complex of text": call(name("__builtin__", "complex"), text("1")),
    "device of nothing": call(name("torch", "device"), text("evil")),
    "device of a number": call(name("torch", "device"), number(1)),
    "counter of lists": call(name("collections", "Counter"), mapping((text("a"), b"]"))),
    "ordered dict of triples": call(ORDERED, b"](" + several(NONE, NONE, NONE) + b"e"),
    "meta of a float": call(name("torch._utils", "_rebuild_meta_tensor_no_storage"), name("torch", "float32"), EMPTY, NONE,
                            FALSE),
}
# the data of the storages that the programs name
STORAGES = {"0": struct.pack("<4f", 1, 2, 3, 4), "bytes": bytes([0, 1, 2, 255]), "long": struct.pack("<2q", 7, 1 << 40),
            "negative": struct.pack("<2q", -1, 0), "small": struct.pack("<2q", 0, 1), "ends": struct.pack("<2q", 0, 2)}


def archive(program: bytes, storages: dict[str, bytes] | None = None, **entries: bytes) -> bytes:
    """A file with this pickle."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("archive/data.pkl", program)
        made.writestr("archive/byteorder", "little")
        for key, data in (STORAGES if storages is None else storages).items():
            made.writestr(f"archive/data/{key}", data)
        for entry, data in entries.items():
            made.writestr(f"archive/{entry}", data)
    return file.getvalue()


def zipped(*entries: tuple[str, Any], method: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as made:
        for entry, data in entries:
            made.writestr(entry, data)
    return file.getvalue()


GOOD = archive(PROTO + tensor() + STOP)
FILES: dict[str, bytes] = {
    "nothing": b"",
    "the start of a zip archive": b"PK\x03\x04",
    "half an archive": GOOD[:len(GOOD) // 2],
    "an archive without its last byte": GOOD[:-1],
    "a zip archive without pickle": zipped(("a", "b")),
    "two pickles": zipped(("a/data.pkl", PROTO + NONE + STOP), ("b/data.pkl", PROTO + NONE + STOP)),
    "a compressed bomb": zipped(("archive/data.pkl", b"\x80\x02" + b"]" * (1 << 26)), method=zipfile.ZIP_DEFLATED),
    "a compressed storage": zipped(("archive/data.pkl", PROTO + tensor() + STOP), ("archive/data/0", bytes(1 << 27)),
                                   method=zipfile.ZIP_DEFLATED),
    "an unknown compression": zipped(("archive/data.pkl", PROTO + NONE + STOP), method=zipfile.ZIP_LZMA),
    "another byte order": zipped(("archive/data.pkl", PROTO + NONE + STOP), ("archive/byteorder", "middle")),
    "a long byte order": zipped(("archive/data.pkl", PROTO + NONE + STOP), ("archive/byteorder", "a" * 10000)),
    "a wrong checksum": GOOD.replace(struct.pack("<4f", 1, 2, 3, 4), struct.pack("<4f", 1, 2, 3, 5)),
    "a script": zipped(("archive/data.pkl", PROTO + NONE + STOP), ("archive/constants.pkl", "")),
    "text": b"hello world",
    "a pickle": PROTO + NONE + STOP,
    "an old file without content": b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.",
    "an old file of another version": b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19." + PROTO + number(7) + STOP,
    "an old file that runs code": b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19." + PROTO + b"M\xe9\x03" + STOP + PROTO + b"}"
                                  + STOP + PROTO + call(name("os", "system"), text("true")) + STOP + PROTO + b"]" + STOP,
    "an old file with a bomb": b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19." + PROTO + b"M\xe9\x03" + STOP + PROTO + b"}"
                               + STOP + PROTO + several(text("storage"), name("torch", "FloatStorage"), text("0"), text("cpu"),
                                                        number(10 ** 12), NONE) + b"Q" + STOP + PROTO + b"]" + STOP,
    "an old file that runs code where its keys are": b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19." + PROTO + b"M\xe9\x03" + STOP
        + PROTO + b"}" + STOP + PROTO + NONE + STOP + PROTO + call(name("os", "system"), text("true")) + STOP,
}
