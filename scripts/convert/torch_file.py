"""Reads what torch.save wrote, in today's form and in that before PyTorch 1.6, without PyTorch.

A pickle can run any code. Here it may build dictionaries, lists, numbers and tensors; whatever else it asks for is refused,
and nothing is imported for it.
"""

import array
import io
import itertools
import math
import pickle
import struct
import zipfile
from collections import OrderedDict
from dataclasses import dataclass

LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
LEGACY_PROTOCOL = 1001
LARGEST_PICKLE = 1 << 28

STORAGES = {  # bytes of an element
    "FloatStorage": 4,
    "HalfStorage": 2,
    "DoubleStorage": 8,
    "LongStorage": 8,
    "IntStorage": 4,
    "ShortStorage": 2,
    "CharStorage": 1,
    "ByteStorage": 1,
    "BoolStorage": 1,
}


class BadFile(Exception):
    pass


@dataclass(frozen=True)
class Storage:
    kind: str
    key: str
    begin: int  # of a view, in elements
    count: int


@dataclass(frozen=True)
class Tensor:
    """Where the values of a tensor lie; they are read when asked for."""

    storage: Storage
    offset: int
    shape: tuple
    strides: tuple

    @property
    def is_floating(self):
        return self.storage.kind in ("FloatStorage", "HalfStorage", "DoubleStorage")

    @property
    def is_half(self):
        return self.storage.kind == "HalfStorage"


class Ignored:
    """Stands for what a file may hold beside its tensors, such as a best accuracy that is a number of NumPy."""

    def __init__(self, *_):
        pass

    def __setstate__(self, _):
        pass


def whole_numbers(values):
    values = tuple(values)
    if not all(type(value) is int and value >= 0 for value in values):
        raise BadFile("a tensor has an impossible shape")
    return values


def rebuild_tensor(storage, offset, shape, strides, *_):
    shape, strides, (offset,) = whole_numbers(shape), whole_numbers(strides), whole_numbers((offset,))
    if not isinstance(storage, Storage) or len(shape) != len(strides):
        raise BadFile("a tensor is damaged")
    last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides))
    if 0 not in shape and last >= storage.count:
        raise BadFile("a tensor reaches beyond its values")
    return Tensor(storage, offset, shape, strides)


ALLOWED = {
    ("collections", "OrderedDict"): OrderedDict,
    ("collections", "defaultdict"): lambda *_: {},
    ("builtins", "dict"): dict,
    ("__builtin__", "dict"): dict,
    ("torch", "Size"): tuple,
    ("torch", "device"): Ignored,
    ("torch._utils", "_rebuild_tensor"): rebuild_tensor,
    ("torch._utils", "_rebuild_tensor_v2"): rebuild_tensor,
    ("torch._utils", "_rebuild_parameter"): lambda tensor, *_: tensor,
    ("_codecs", "encode"): Ignored,  # of numbers of NumPy
    ("numpy", "dtype"): Ignored,
    ("numpy.core.multiarray", "scalar"): Ignored,
    ("numpy._core.multiarray", "scalar"): Ignored,
    **{("torch", name): name for name in STORAGES},
}


class Unpickler(pickle.Unpickler):
    def find_class(self, module, name):
        if (module, name) not in ALLOWED:
            raise BadFile(f"asks for {module}.{name}, which weights have no need of; nothing in it was run")
        return ALLOWED[module, name]

    def persistent_load(self, reference):
        match reference:
            case ("storage", str(kind), key, _, int(count)):
                view = None
            case ("storage", str(kind), key, _, int(count), view):
                pass
            case _:
                raise BadFile("refers to something that is no storage")
        if kind not in STORAGES:
            raise BadFile(f"has values of type {kind}, which is not known here")
        begin, count = (view[1], view[2]) if view else (0, count)
        return Storage(kind, str(key), *whole_numbers((begin, count)))


def load(stream):
    try:
        return Unpickler(stream).load()
    except BadFile:
        raise
    except Exception as error:
        raise BadFile(f"is damaged or no file of torch.save ({type(error).__name__})") from None


class ZipFile:
    """What PyTorch 1.6 and later write: a pickle, and a member for each storage."""

    def __init__(self, path):
        try:
            self.archive = zipfile.ZipFile(path)
            (head,) = [name for name in self.archive.namelist() if name.count("/") == 1 and name.endswith("/data.pkl")]
            self.folder = head[: -len("data.pkl")]
            if self.folder + "byteorder" in self.archive.namelist() and self.member("byteorder", 16) != b"little":
                raise BadFile("was written on a big-endian machine")
            self.content = load(io.BytesIO(self.member("data.pkl", LARGEST_PICKLE)))
        except (zipfile.BadZipFile, ValueError, OSError):
            raise BadFile("is damaged or no file of torch.save") from None

    def member(self, name, most_bytes):
        try:
            info = self.archive.getinfo(self.folder + name)
            if info.compress_type != zipfile.ZIP_STORED or info.file_size > most_bytes:
                raise BadFile(f"its member {name} is not as torch.save writes it")
            return self.archive.read(info)
        except (KeyError, zipfile.BadZipFile, EOFError, OSError):
            raise BadFile(f"its member {name} is missing or damaged") from None

    def storage_bytes(self, key, least_bytes):
        data = self.member(f"data/{key}", 1 << 40)
        if len(data) < least_bytes:
            raise BadFile(f"its member data/{key} ends too early")
        return data


class LegacyFile:
    """What PyTorch wrote before 1.6: pickles in a row, then the storages in the order of a list of keys."""

    def __init__(self, path):
        with open(path, "rb") as file:
            if load(file) != LEGACY_MAGIC or load(file) != LEGACY_PROTOCOL:
                raise BadFile("is no file of torch.save")
            system = load(file)
            if not isinstance(system, dict) or system.get("little_endian") is not True:
                raise BadFile("was written on a big-endian machine")
            self.content = load(file)
            keys = load(file)
            self.begin = file.tell()
        if not isinstance(keys, list):
            raise BadFile("has no list of its storages")
        self.path, self.keys, self.places = path, [str(key) for key in keys], {}

    def place_storages(self, kinds):
        """The places follow from the sizes of all storages before."""
        with open(self.path, "rb") as file:
            file.seek(self.begin)
            for key in self.keys:
                head = file.read(8)
                if len(head) < 8 or key not in kinds:
                    raise BadFile("ends too early")
                (count,) = struct.unpack("<q", head)
                size = count * STORAGES[kinds[key]]
                if count < 0:
                    raise BadFile("a storage is damaged")
                self.places[key] = (file.tell(), size)
                file.seek(size, io.SEEK_CUR)

    def storage_bytes(self, key, least_bytes):
        begin, size = self.places.get(key, (0, 0))
        with open(self.path, "rb") as file:
            file.seek(begin)
            data = file.read(size)
        if len(data) < max(size, least_bytes):
            raise BadFile("ends too early")
        return data


def tensors_in(value):
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        yield from itertools.chain.from_iterable(map(tensors_in, value.values()))
    elif isinstance(value, (list, tuple)):
        yield from itertools.chain.from_iterable(map(tensors_in, value))


class TorchFile:
    def __init__(self, path):
        with open(path, "rb") as file:
            is_zip = file.read(4) == b"PK\x03\x04"
        self.file = ZipFile(path) if is_zip else LegacyFile(path)
        self.content = self.file.content
        if not is_zip:
            self.file.place_storages({t.storage.key: t.storage.kind for t in tensors_in(self.content)})

    def float_bytes(self, tensor):
        """The values in C order, float16 if the tensor is half, else float32."""
        width = STORAGES[tensor.storage.kind]
        least = (tensor.storage.begin + tensor.storage.count) * width
        data = memoryview(self.file.storage_bytes(tensor.storage.key, least))
        data = data[tensor.storage.begin * width :]
        if is_c_order(tensor.shape, tensor.strides):
            data = data[tensor.offset * width : (tensor.offset + math.prod(tensor.shape)) * width]
        else:
            steps = ([i * stride for i in range(size)] for size, stride in zip(tensor.shape, tensor.strides))
            begins = (width * (tensor.offset + sum(place)) for place in itertools.product(*steps))
            data = memoryview(b"".join(data[begin : begin + width] for begin in begins))
        if tensor.storage.kind == "DoubleStorage":
            return array.array("f", data.cast("d")).tobytes()
        return bytes(data)


def is_c_order(shape, strides):
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True
