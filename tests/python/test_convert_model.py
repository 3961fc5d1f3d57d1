"""scripts/convert_model.py: checkpoints of PyTorch become model files."""
import collections
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="apt-get install python3-torch")
import torch_networks  # noqa: E402
from conftest import REPOSITORY  # noqa: E402
from test_networks import TOLERANCE, assert_close, program_features, random_pictures, torch_features  # noqa: E402

SCRIPT = REPOSITORY / "scripts/convert_model.py"


def convert(checkpoint, out, *flags):
    command = [sys.executable, "-B", SCRIPT, checkpoint, "--out", out, *flags]
    return subprocess.run(command, capture_output=True, encoding="utf-8")


def refused(checkpoint, out, *words, flags=()):
    process = convert(checkpoint, out, *flags)
    assert process.returncode == 3, process.stderr
    assert process.stderr.count("\n") == 1 and str(checkpoint) in process.stderr
    for word in words:
        assert word in process.stderr
    assert not out.exists() and not out.with_name(out.name + ".part").exists()


def made_network(name, **flags):
    torch.manual_seed(3)
    return torch_networks.with_random_statistics(torch_networks.network(name, **flags), seed=3)


def s2m2(network):
    """As S2M2 saves it: data-parallel inside, with a cosine classifier."""
    state = {f"feature.module.{name}": tensor for name, tensor in network.state_dict().items()}
    state |= {"classifier.L.weight_g": torch.ones(5, 1), "classifier.L.weight_v": torch.ones(5, network.out_dim)}
    return {"epoch": 7, "state": collections.OrderedDict(state)}


def s2m2_wide(network):
    state = {f"module.{name}": tensor for name, tensor in network.state_dict().items()}
    return {"epoch": 7, "state": state | {"module.linear.L.weight_v": torch.ones(5, network.out_dim)}}


def simpleshot(network):
    state = {f"module.{name}": tensor for name, tensor in network.state_dict().items()}
    state |= {"module.fc.weight": torch.ones(5, network.out_dim), "module.fc.bias": torch.ones(5)}
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1).state_dict()
    best = np.float64(61.5)
    return {"epoch": 3, "arch": "any", "state_dict": state, "best_prec1": best, "optimizer": optimizer}


def renamed(saved, *pairs):
    """The same under the names of another release."""
    (key,) = {"state", "state_dict"} & saved.keys()
    names = {name: name for name in saved[key]}
    for old, new in pairs:
        names = {name: current.replace(old, new) for name, current in names.items()}
    return {**saved, key: {names[name]: tensor for name, tensor in saved[key].items()}}


def twice_in_each_block(saved):
    extra = {
        name.replace(f".{part}.", f".trunk.{i}."): tensor
        for name, tensor in saved["state"].items()
        for i, part in enumerate(("C", "BN"))
        if f".{part}." in name
    }
    return {**saved, "state": saved["state"] | extra}


CASES = {
    "s2m2-conv4": (dict(name="conv4"), lambda network: twice_in_each_block(s2m2(network))),
    "s2m2-wrn": (dict(name="wrn-28-10"), s2m2_wide),
    "s2m2-resnet18": (dict(name="resnet18"), lambda network: renamed(s2m2_wide(network), ("downsample", "shortcut"))),
    "simpleshot-conv4": (
        dict(name="conv4", widths=(8, 16, 24, 32)),
        lambda network: renamed(simpleshot(network), ("trunk.", "encoder."), (".C.", ".0."), (".BN.", ".1.")),
    ),
    "simpleshot-resnet10": (dict(name="resnet10", imagenet_stem=True), simpleshot),
    "simpleshot-resnet12": (dict(name="resnet12"), simpleshot),
    "simpleshot-densenet": (
        dict(name="densenet121"),
        lambda network: renamed(simpleshot(network), ("norm1", "norm.1"), ("norm2", "norm.2"), ("conv2", "conv.2")),
    ),
    "simpleshot-mobilenet": (dict(name="mobilenet"), lambda network: renamed(simpleshot(network), ("features.", "model."))),
}


@pytest.mark.parametrize("case", CASES)
def test_features_equal_pytorch(tmp_path, case):
    architecture, layout = CASES[case]
    network = made_network(**architecture)
    torch.save(layout(network), tmp_path / "7.tar")
    process = convert(tmp_path / "7.tar", tmp_path / "model.safetensors")
    assert process.returncode == 0, process.stderr
    assert architecture["name"] in process.stdout
    pictures = random_pictures(2, 45)
    features = program_features(tmp_path, tmp_path / "model.safetensors", pictures, batch=2)
    assert_close(features, torch_features(network, pictures), TOLERANCE)


def in_other_order(network):
    return {name: t.to(memory_format=torch.channels_last) if t.dim() == 4 else t for name, t in network.state_dict().items()}


def in_one_storage(network):
    state = network.state_dict()
    whole = torch.cat([tensor.flatten() for tensor in state.values() if tensor.is_floating_point()])
    parts = iter(whole.split([tensor.numel() for tensor in state.values() if tensor.is_floating_point()]))
    return {name: next(parts).view(tensor.shape) for name, tensor in state.items() if tensor.is_floating_point()}


def as_doubles(network):
    return {name: t.double() if t.is_floating_point() else t for name, t in network.state_dict().items()}


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
@pytest.mark.parametrize("saved", [dict.copy, in_other_order, in_one_storage, as_doubles], ids=lambda saved: saved.__name__)
def test_every_way_to_save_gives_the_same_model(tmp_path, zipped, saved):
    network = made_network("conv4", widths=(4, 4, 4, 4))
    torch.save(network.state_dict(), tmp_path / "plain.pth")
    content = network.state_dict() if saved is dict.copy else saved(network)
    torch.save(content, tmp_path / "plain.pth", _use_new_zipfile_serialization=zipped)
    process = convert(tmp_path / "plain.pth", tmp_path / "model.safetensors")
    assert process.returncode == 0, process.stderr
    pictures = random_pictures(1, 32)
    features = program_features(tmp_path, tmp_path / "model.safetensors", pictures, batch=1)
    assert_close(features, torch_features(network, pictures), TOLERANCE)


class Malicious:
    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return os.mkdir, (str(self.file),)


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
def test_code_in_a_pickle_is_refused(tmp_path, zipped):
    trace = tmp_path / "trace"
    content = {"state": {"conv1.weight": torch.ones(1)}, "epoch": Malicious(trace)}
    torch.save(content, tmp_path / "evil.tar", _use_new_zipfile_serialization=zipped)
    refused(tmp_path / "evil.tar", tmp_path / "model.safetensors", "mkdir", "nothing in it was run")
    assert not trace.exists()


def test_bad_files_are_named(tmp_path):
    out = tmp_path / "model.safetensors"
    text, empty, plain, short = (tmp_path / name for name in ("text.tar", "empty.tar", "plain.tar", "short.tar"))
    text.write_text("no checkpoint")
    refused(text, out, "torch.save")
    empty.write_bytes(b"")
    refused(empty, out, "torch.save")
    plain.write_bytes(pickle.dumps({"state": {}}))
    refused(plain, out, "torch.save")
    refused(tmp_path / "absent.tar", out, "No such file")
    for zipped in (True, False):
        torch.save(made_network("conv4").state_dict(), short, _use_new_zipfile_serialization=zipped)
        short.write_bytes(short.read_bytes()[:-1000])
        refused(short, out)
    torch.save([1, 2], short)
    refused(short, out, "dictionary")
    torch.save({"state": {"conv1": 3}}, short)
    refused(short, out, "no tensors")


def test_other_networks_are_named(tmp_path):
    out, file = tmp_path / "model.safetensors", tmp_path / "3.tar"
    state = made_network("resnet10").state_dict()
    torch.save({"state": state}, file)
    refused(file, out, "layer1.1.conv1.weight", "resnet18", flags=["--backbone", "resnet18"])
    state["layer1.0.conv1.weight"] = state["layer1.0.conv1.weight"][:5]
    torch.save({"state": state}, file)
    refused(file, out, "--backbone")
    refused(file, out, "layer1.0.conv1.weight", "[5, 64, 3, 3]", "[64, 64, 3, 3]", flags=["--backbone", "resnet10"])
    assert convert(file, out, "--backbone", "vgg").returncode == 2
