#!/usr/bin/env python3
"""Small valid files for each harness, from which fuzzing begins.

usage: make_seeds.py PROGRAM FOLDER     the program deepvoro, and where to write NAME/FILE for each harness
"""
import collections
import io
import json
import pickle
import re
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image

MEMBER = {"view": "s84_r0_f0", "w": 1.0, "b": 0.0, "lambda": 0.5, "geometry": "voronoi"}


def written(write):
    out = io.BytesIO()
    write(out)
    return out.getvalue()


def npy(array):
    return written(lambda out: np.save(out, array))


def safetensors(tensors, metadata=None):
    header, data = {}, b""
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, array in tensors.items():
        kind = {"float16": "F16", "float32": "F32", "float64": "F64", "int64": "I64"}[str(array.dtype)]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def picture(kind, mode="RGB", size=(9, 7), **options):
    pixels = np.random.RandomState(0).randint(0, 256, (size[1], size[0], 3), np.uint8)
    return written(lambda out: Image.fromarray(pixels).convert(mode).save(out, kind, **options))


def archive(members, mode):
    def write(out):
        with tarfile.open(fileobj=out, mode=mode) as tar:
            for name, data in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))

    return written(write)


def zipped(members, method):
    def write(out):
        with zipfile.ZipFile(out, "w", method) as target:
            for name, data in members.items():
                target.writestr(name, data)

    return written(write)


def exif(order, orientation):
    return (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "IHHHIHH", 8, 1, 0x0112, 3, 1, orientation, 0)


def feature_seeds():
    rows = np.arange(12, dtype=np.float32).reshape(4, 3)
    labels = np.array([0, 0, 1, 1])
    yield "npy", npy(rows)
    yield "npy", npy(rows.astype(">f8"))
    yield "npy", npy(np.asfortranarray(rows.astype(np.float16)))
    yield "npy", npy(labels)
    yield "store_rows", npy(np.zeros((3, 4), np.float16))
    yield "store_rows", npy(np.zeros((3, 4), np.float32))
    yield "npz", written(lambda out: np.savez(out, features=rows, labels=labels))
    yield "npz", written(lambda out: np.savez_compressed(out, X=rows, y=labels))
    yield "safetensors", safetensors({"features": rows, "labels": labels})
    yield "safetensors", safetensors({"feats": rows.astype(np.float16)}, {"made": "by hand"})
    table = {0: [rows[0], rows[1]], 1: [rows[2], rows[3]]}
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        yield "pickle", pickle.dumps(table, protocol)
        yield "pickle", pickle.dumps(collections.defaultdict(list, {np.int64(3): rows[:2], 4: [[1.0, 2, 3]]}), protocol)
    yield "class_names", b"cat\r\ndog\nhorse\n"
    yield "class_names", b'["cat", "d\\u00f6g"]'
    yield "hdf5_answer", b"nfeatures\0labels\0"
    yield "hdf5_answer", b"a" + struct.pack("<QQQQ", 2, 2, 4, 3) + rows.tobytes()


def picture_seeds():
    yield "jpeg", picture("JPEG")
    yield "jpeg", picture("JPEG", progressive=True)
    yield "jpeg", picture("JPEG", "L", exif=b"Exif\0\0" + exif("<", 6))
    yield "jpeg", picture("JPEG", "CMYK")
    yield "jpeg", picture("JPEG", restart_marker_blocks=1)
    for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"):
        pixels = picture("PNG", mode) if mode != "I;16" else written(
            lambda out: Image.fromarray(np.arange(63, dtype=np.uint16).reshape(7, 9)).save(out, "PNG"))
        yield "png", pixels
    yield "png", picture("PNG", exif=exif(">", 3))
    yield "gif", picture("GIF", "P")
    frames = [Image.new("P", (5, 4), i) for i in range(2)]
    yield "gif", written(lambda out: frames[0].save(out, "GIF", save_all=True, append_images=frames[1:], transparency=0))
    for compression in (None, "tiff_lzw", "packbits", "tiff_deflate", "jpeg"):
        yield "tiff", picture("TIFF", compression=compression)
    for mode in ("1", "L", "P", "RGBA", "CMYK"):
        yield "tiff", picture("TIFF", mode)
    yield "webp", picture("WEBP")
    yield "webp", picture("WEBP", lossless=True)
    yield "webp", picture("WEBP", "RGBA", exif=exif("<", 8))
    images = [Image.new("RGBA", (5, 4), (i, 2, 3, 100)) for i in range(2)]
    yield "webp", written(lambda out: images[0].save(out, "WEBP", save_all=True, append_images=images[1:]))
    for mode in ("1", "L", "P", "RGB"):
        yield "bmp", picture("BMP", mode)
    header = struct.pack("<IiiHHIIiiII", 108, 2, -2, 1, 32, 3, 16, 0, 0, 0, 0) + struct.pack("<IIII", 0xFF0000, 0xFF00, 0xFF, 0xFF000000)
    header += bytes(108 - len(header))
    yield "bmp", b"BM" + struct.pack("<IHHI", 14 + 108 + 16, 0, 0, 14 + 108) + header + bytes(range(16))
    for order in "<>":
        yield "exif", exif(order, 6)
        yield "exif", b"Exif\0\0" + exif(order, 3)


def heif_seeds():
    for kind, options in (("avif", ["-A"]), ("heic", [])):
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder) / "a.png", Path(folder) / f"a.{kind}"
            source.write_bytes(picture("PNG", size=(16, 16)))
            made = subprocess.run(["heif-enc", *options, "-o", target, source], capture_output=True)
            if made.returncode == 0 and target.exists():
                yield "heif", target.read_bytes()


def collection_seeds():
    tiny = picture("PNG", size=(2, 2))
    members = {"birds/magpie/a.png": tiny, "birds/wren/b.png": tiny}
    for mode in ("w", "w:gz", "w:bz2", "w:xz"):
        yield "archive", archive(members, mode)
    yield "archive", zipped(members, zipfile.ZIP_STORED)
    yield "archive", zipped(members, zipfile.ZIP_DEFLATED)
    yield "csv", b"filename,label\na.jpg,n01\r\nb.jpg,n02\n"
    yield "list_json", json.dumps({"label_names": ["a", "b"], "image_names": ["/x/a.jpg", "b.jpg"], "image_labels": [0, 1]}).encode()
    images = struct.pack(">IIII", 0x0803, 2, 3, 2) + bytes(range(12))
    labels = struct.pack(">II", 0x0801, 2) + b"\1\0"
    yield "idx", bytes([len(labels)]) + images + labels


def model_seeds():
    description = {"format": "deepvoro-model", "version": 1, "architecture": {"name": "conv4", "embedding": 0, "imagenet_stem": False, "widths": [2, 2, 2, 2]},
                   "input_size": 8, "mean": [0.5, 0.5, 0.5], "deviation": [1, 1, 1], "recipe": {"epochs": 1}, "data_sha256": "00", "licence": "MIT"}
    yield "model", safetensors({"a": np.ones((2, 2), np.float32), "b": np.ones(3, np.float16)}, {"deepvoro": json.dumps(description), "training": '{"reports": [], "best": 1}'})
    model = {"weightsManifest": [{"paths": ["w1"], "weights": [{"name": "a", "shape": [2], "dtype": "float32"}]}],
             "modelTopology": {"model_config": {"config": {"layers": [{"class_name": "BatchNormalization", "name": "n", "config": {"epsilon": 0.001}}]}}}}
    yield "tfjs_model", json.dumps(model).encode()
    members = {"package/ResNet50/model.json": json.dumps(model).encode(), "package/ResNet50/w1": bytes(8)}
    yield "tfjs", archive(members, "w:gz")
    yield "tfjs", archive(members, "w")
    yield "onnx_about", json.dumps({"network": "onnx", "features": 4, "input_size": 8, "mean": [0, 0, 0], "std": [1, 1, 1], "output": "x", "licence": "MIT"}).encode()


def json_seeds():
    yield "json", b'{"a": [1, -2.5e3, true, null, "\\u00e9"], "b": {"c": []}}'
    yield "text", "magpie \x1b[31m\n".encode() + b"\xff"
    members = [MEMBER, {**MEMBER, "geometry": "surrogate", "R": 2, "beta": 1.5, "gamma": 1.0}, {**MEMBER, "geometry": "plda", "weight": 2, "signed": True}]
    yield "pool", json.dumps({"format": "deepvoro-pool", "version": 1, "members": members, "tuning": {"shots": 1}}).encode()
    store = {"format": "deepvoro-store", "version": 1, "dim": 4, "views": ["s84_r0_f0"], "splits": {"novel": {"samples": 3, "classes": ["a", "b"]}},
             "provenance": {"created_by": "hand", "model": "00"}}
    yield "store", json.dumps(store).encode()
    yield "store", json.dumps({**store, "dim": {"a": 4, "b": 2}, "views": ["a/x", "b/x"]}).encode()
    yield "checkpoint", json.dumps({"format": "deepvoro-checkpoint", "version": 1, "request": {"seed": 0}, "steps": [[1, 2], [3]], "sha256": ""}).encode()
    yield "kept_step", json.dumps({"format": "deepvoro-step", "version": 1, "key": {"seed": 0}, "value": {"a": 1}, "sha256": ""}).encode()


def http_seeds():
    """A request of every route, as one line of bytes after the other."""
    tiny = picture("PNG", size=(2, 2))
    token = "X-Deepvoro-Token: 0123456789abcdef\r\n"

    def request(line, body=b"", fields=""):
        return f"{line} HTTP/1.1\r\nHost: localhost\r\n{fields}Content-Length: {len(body)}\r\n\r\n".encode() + body

    one = "0" * 16
    for path in ("/", "/icon.svg", "/assets/x", "/api/health", "/api/metrics", "/api/openapi.json", "/api/project", "/api/classes", "/api/classes/red/pictures?from=0&count=2",
                 f"/api/pictures/{one}", f"/api/pictures/{one}/thumbnail", "/api/check", "/api/map", "/api/classifier", "/api/project.zip", "/%zz"):
        yield "http_request", request(f"GET {path}")
    part = b'--b\r\nContent-Disposition: form-data; name="picture"; filename="a.png"\r\n\r\n' + tiny + b"\r\n"
    form = "Content-Type: multipart/form-data; boundary=b\r\n"
    for target, fields in (("predict", ""), ("classes/red/pictures", token), ("classes/a%20new%20one/pictures", token + "X-Deepvoro-Group: g\r\n")):
        yield "http_request", request(f"POST /api/{target}", tiny, fields)
        yield "http_request", request(f"POST /api/{target}?why=0&reject=1", 2 * part + b"--b--\r\n", fields + form)
    yield "http_request", request("POST /api/project.zip", zipped({"pictures/red/a.png": tiny}, zipfile.ZIP_DEFLATED), token)
    for line, body in (("POST /api/classes", b'{"name":"blue"}'), ("POST /api/classes/red/rename", b'{"to":"blue"}'), ("DELETE /api/classes/red", b""),
                       (f"POST /api/pictures/{one}/move", b'{"to":"green"}'), (f"DELETE /api/pictures/{one}", b""), ("POST /api/undo", b""), ("POST /api/redo", b"")):
        yield "http_request", request(line, body, token)
    yield "http_request", b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    yield "http_request", request("HEAD /api/classes", fields="Origin: http://evil.example\r\n")


def program_seeds(program):
    """What only the program itself writes: results, pieces of them, a study, classifiers."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def run(*arguments):
            subprocess.run([program, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)

        random = np.random.RandomState(0)
        labels = np.repeat(np.arange(6), 4)
        for split in ("base", "val", "novel"):
            np.savez(folder / f"{split}.npz", features=random.rand(24, 4).astype(np.float16), labels=labels)
        run("store", "create", folder / "store", *(part for split in ("base", "val", "novel") for part in (f"--{split}", folder / f"{split}.npz")))
        task = ("--ways", 3, "--queries", 2, "--episodes", 3)
        run("evaluate", folder / "store", "--method", "vd,deepvoro", "--shots", "1,2", *task, "--json", folder / "result.json")
        run("evaluate", folder / "store", "--method", "deepvoro", "--scheme", "guided", "--calibration", "--open-set", *task, "--json", folder / "one.json")
        for file in ("result.json", "one.json"):
            yield "results", (folder / file).read_bytes()
            yield "report_input", (folder / file).read_bytes()
        run("evaluate", folder / "store", "--method", "vd", *task, "--shard", "0/1", "--out", folder / "pieces")
        for file in (folder / "pieces").iterdir():
            piece = file.read_bytes().replace(bytes(folder), b"folder")
            yield "piece", piece
        yield "piece", re.sub(rb'"pieces":\d+', b'"pieces":100000000', piece)
        run("study", "surrogate-grid", folder / "store", *task, "--out", folder / "study")
        for file in sorted((folder / "study").glob("*.json")):
            yield "report_input", file.read_bytes()
        for method in ("ridge-vd", "deepvoro"):
            run("fit", folder / "store", "--method", method, "--out", folder / f"{method}.dv")
            yield "classifier", (folder / f"{method}.dv").read_bytes()
    small = {"format": "deepvoro-statistics", "version": 3, "dim": 4, "classes": 2, "samples": 4, "network": "00", "views": ["v"],
             "spaces": [{"exponent": 0.75, "shrinkage": [0.5]}, {"exponent": 0.5, "shrinkage": [0.25]}]}
    arrays = {"points-0.75": np.ones((2, 4), np.float16), "points-0.5": np.ones((2, 4), np.float16)}
    yield "statistics", safetensors(arrays, {"deepvoro": json.dumps(small), "sha256": ""})
    plda = {**small, "plda": {"w": 1, "b": 0, "lambda": 0.5, "signed": False, "shrink_within": 0.5, "shrink_between": 0.5, "kappa": 1}}
    yield "statistics", safetensors({**arrays, "plda": np.ones((6, 4), np.float16)}, {"deepvoro": json.dumps(plda), "sha256": ""})


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    counts = collections.Counter()
    for seeds in (feature_seeds(), picture_seeds(), heif_seeds(), collection_seeds(), model_seeds(), json_seeds(), http_seeds(), program_seeds(program)):
        for harness, data in seeds:
            folder = out / harness
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"seed{counts[harness]}").write_bytes(data)
            counts[harness] += 1
    harnesses = {file.stem for file in (Path(__file__).parent / "harnesses").glob("*.cpp")}
    if harnesses != set(counts):
        sys.exit(f"no seeds for {harnesses - set(counts)}, no harness for {set(counts) - harnesses}")


if __name__ == "__main__":
    main()
