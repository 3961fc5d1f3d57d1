"""A Keras ResNet-50 as TensorFlow.js stores it: packages with random weights, and what they compute, with NumPy alone."""
import io
import json
import re
import string
import tarfile

import numpy as np

BLOCKS = (3, 4, 6, 3)
WIDTHS = (64, 128, 256, 512)
MEAN_BGR = (103.939, 116.779, 123.68)
EPSILON = 1e-3
SHARD_BYTES = 4 << 20


class Builder:
    """Layers and weights, added in the order in which they are computed."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.layers, self.weights = [], {}

    def add(self, kind, name, inputs, **config):
        nodes = [[[layer, 0, 0, {}] for layer in inputs]] if inputs else []
        self.layers.append(
            {"name": name, "class_name": kind, "config": {"name": name, **config}, "inbound_nodes": nodes}
        )
        return name

    def convolution(self, name, norm, before, c_in, c_out, kernel, stride, padding, scale=1.0):
        deviation = scale * np.sqrt(2 / (kernel * kernel * c_in))
        self.weights[f"{name}/kernel"] = self.normal((kernel, kernel, c_in, c_out), 0, deviation)
        self.weights[f"{name}/bias"] = self.normal(c_out, 0, 0.1)
        sizes = {"kernel_size": [kernel, kernel], "strides": [stride, stride], "padding": padding}
        self.add("Conv2D", name, [before], filters=c_out, use_bias=True, activation="linear", **sizes)
        self.weights[f"{norm}/gamma"] = self.normal(c_out, 1, 0.1)
        self.weights[f"{norm}/beta"] = self.normal(c_out, 0, 0.1)
        self.weights[f"{norm}/moving_mean"] = self.normal(c_out, 0, 0.1)
        self.weights[f"{norm}/moving_variance"] = np.exp(self.normal(c_out, 0, 1.0))
        return self.add("BatchNormalization", norm, [name], epsilon=EPSILON)

    def normal(self, shape, mean, deviation):
        return (mean + deviation * self.random.standard_normal(shape, dtype=np.float32)).astype(np.float32)

    def relu(self, name, before):
        return self.add("Activation", name + "_relu", [before], activation="relu")


def random_model(seed, widths=WIDTHS):
    """The layers of the network and its weights by name."""
    build = Builder(seed)
    x = build.add("InputLayer", "input_1", [])
    x = build.add("ZeroPadding2D", "conv1_pad", [x], padding=[[3, 3], [3, 3]])
    # Bytes come in, so the first weights are small.
    x = build.relu("conv1", build.convolution("conv1", "bn_conv1", x, 3, widths[0], 7, 2, "valid", scale=0.02))
    x = build.add("ZeroPadding2D", "pool1_pad", [x], padding=[[1, 1], [1, 1]])
    x = build.add("MaxPooling2D", "pool1", [x], pool_size=[3, 3], strides=[2, 2], padding="valid")
    c_in = widths[0]
    for stage, (count, width) in enumerate(zip(BLOCKS, widths), start=2):
        for letter in string.ascii_lowercase[:count]:
            name = f"{stage}{letter}_branch"
            stride = 2 if letter == "a" and stage > 2 else 1

            def unit(branch, before, *shape):
                return build.convolution(f"res{name}{branch}", f"bn{name}{branch}", before, *shape)

            inner = build.relu(name + "2a", unit("2a", x, c_in, width, 1, stride, "valid"))
            inner = build.relu(name + "2b", unit("2b", inner, width, width, 3, 1, "same"))
            inner = unit("2c", inner, width, 4 * width, 1, 1, "valid", 0.3)
            shortcut = unit("1", x, c_in, 4 * width, 1, stride, "valid") if letter == "a" else x
            x = build.relu(name, build.add("Add", name + "_add", [inner, shortcut]))
            c_in = 4 * width
    build.add("GlobalAveragePooling2D", "avg_pool", [x])
    return build.layers, build.weights


def later_name(name):
    """Of a layer or weight in later versions of Keras."""
    name = re.sub("^bn_conv1", "conv1_bn", re.sub("^conv1(?=$|/)", "conv1_conv", name))

    def in_block(match):
        kind, stage, letter, branch = match.groups()
        number = 0 if branch == "1" else "abc".index(branch[1]) + 1
        return f"conv{stage}_block{string.ascii_lowercase.index(letter) + 1}_{number}_{'conv' if kind == 'res' else 'bn'}"

    return re.sub("^(res|bn)([2-5])([a-f])_branch(1|2[abc])(?=$|/)", in_block, name)


def in_later_names(layers, weights):
    """The same network as later versions of Keras store it, which declare another epsilon."""
    layers = json.loads(json.dumps(layers))
    for layer in layers:
        layer["name"] = layer["config"]["name"] = later_name(layer["name"])
        if layer["class_name"] == "BatchNormalization":
            layer["config"]["epsilon"] = 1.001e-5
    return layers, {later_name(name): values for name, values in weights.items()}


def write_package(folder, layers, weights):
    """package/ResNet50 in a folder, as npm unpacks it. The order of weights is not that of the layers."""
    inside = folder / "package/ResNet50"
    inside.mkdir(parents=True)
    names = sorted(weights)
    data = b"".join(weights[name].tobytes() for name in names)
    count = -(-len(data) // SHARD_BYTES)
    files = [f"group1-shard{i + 1}of{count}.bin" for i in range(count)]
    for i, file in enumerate(files):
        (inside / file).write_bytes(data[i * SHARD_BYTES : (i + 1) * SHARD_BYTES])
    entries = [{"name": name, "shape": list(weights[name].shape), "dtype": "float32"} for name in names]
    config = {"name": "resnet50", "layers": layers}
    model = {
        "format": "layers-model",
        "modelTopology": {"model_config": {"class_name": "Model", "config": config}},
        "weightsManifest": [{"paths": files, "weights": entries}],
    }
    (inside / "model.json").write_text(json.dumps(model))
    return folder


def write_tgz(folder, file):
    with tarfile.open(file, "w:gz") as archive:
        archive.add(folder / "package", "package")
    return file


def tgz_of(files):
    """The bytes of a package of these files."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"package/ResNet50/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def read_package(folder):
    """Layers and weights of an unpacked package."""
    model = json.loads((folder / "model.json").read_text())
    layers = model["modelTopology"]["model_config"]["config"]["layers"]
    (group,) = model["weightsManifest"]
    data, offset, weights = b"".join((folder / file).read_bytes() for file in group["paths"]), 0, {}
    for entry in group["weights"]:
        values = np.frombuffer(data, "<f4", int(np.prod(entry["shape"])), offset).reshape(entry["shape"])
        weights[entry["name"]] = values
        offset += values.nbytes
    assert offset == len(data)
    return layers, weights


def convolved(x, kernel, stride, padding):
    size = kernel.shape[0]
    if padding == "same":
        total = max((-(-x.shape[1] // stride) - 1) * stride + size - x.shape[1], 0)
        around = (total // 2, total - total // 2)
        x = np.pad(x, ((0, 0), around, around, (0, 0)))
    if size == 1:
        return x[:, ::stride, ::stride] @ kernel[0, 0]
    windows = np.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(1, 2))[:, ::stride, ::stride]
    return np.tensordot(windows, kernel, axes=((4, 5, 3), (0, 1, 2)))


def computed(layer, inputs, weights):
    kind, name, config = layer["class_name"], layer["name"], layer["config"]
    x = inputs[0]
    if kind == "ZeroPadding2D":
        return np.pad(x, ((0, 0), *config["padding"], (0, 0)))
    if kind == "Conv2D":
        assert config["use_bias"] and config["activation"] == "linear"
        return convolved(x, weights[f"{name}/kernel"], config["strides"][0], config["padding"]) + weights[f"{name}/bias"]
    if kind == "BatchNormalization":
        gamma, beta, mean, variance = (
            weights[f"{name}/{part}"].astype(np.float64) for part in ("gamma", "beta", "moving_mean", "moving_variance")
        )
        return (x - mean) / np.sqrt(variance + config["epsilon"]) * gamma + beta
    if kind == "Activation":
        assert config["activation"] == "relu"
        return np.maximum(x, 0)
    if kind == "MaxPooling2D":
        assert config["padding"] == "valid"
        windows = np.lib.stride_tricks.sliding_window_view(x, config["pool_size"], axis=(1, 2))
        return windows[:, :: config["strides"][0], :: config["strides"][1]].max(axis=(4, 5))
    if kind == "Add":
        return inputs[0] + inputs[1]
    if kind == "GlobalAveragePooling2D":
        return x.mean(axis=(1, 2))
    assert kind == "InputLayer", kind
    return x


def features(layers, weights, pictures):
    """What the layer avg_pool gives for pictures of bytes, red first."""
    values = {}
    start = pictures[..., ::-1].astype(np.float64) - MEAN_BGR
    for layer in layers:
        before = [values[node[0]] for node in layer["inbound_nodes"][0]] if layer["inbound_nodes"] else [start]
        values[layer["name"]] = computed(layer, before, weights)
        if layer["name"] == "avg_pool":
            return values["avg_pool"]
    raise AssertionError("there is no avg_pool")
