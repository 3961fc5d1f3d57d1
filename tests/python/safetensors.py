"""Reads and writes .safetensors files, with NumPy alone."""
import hashlib
import json
import struct

import numpy as np

NAMES = {"<f4": "F32", "<f2": "F16"}
TYPES = {name: np.dtype(text) for text, name in NAMES.items()}


def write(path, tensors, metadata):
    head, offset = {"__metadata__": metadata}, 0
    for name, values in tensors.items():
        head[name] = {
            "dtype": NAMES[values.dtype.str],
            "shape": list(values.shape),
            "data_offsets": [offset, offset + values.nbytes],
        }
        offset += values.nbytes
    text = json.dumps(head).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for values in tensors.values():
            file.write(np.ascontiguousarray(values).tobytes())


def read(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    head = json.loads(data[8 : 8 + length])
    metadata = head.pop("__metadata__", {})
    body = data[8 + length :]
    tensors = {}
    for name, entry in head.items():
        begin, end = entry["data_offsets"]
        tensors[name] = np.frombuffer(body[begin:end], TYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors, metadata


def write_hashed(path, tensors, description):
    """A classifier or statistics file: the description as text, and the hash of it and of all tensors."""
    text = json.dumps(description)
    lines = f"{hashlib.sha256(text.encode()).hexdigest()}  deepvoro\n"
    for name, values in tensors.items():
        lines += f"{hashlib.sha256(values.tobytes()).hexdigest()}  {name}\n"
    write(path, tensors, {"deepvoro": text, "sha256": hashlib.sha256(lines.encode()).hexdigest()})
