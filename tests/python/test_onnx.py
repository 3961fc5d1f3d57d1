"""Networks in ONNX files, against the PyTorch modules that they were exported from."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from test_classifier import assert_one_line

torch = pytest.importorskip("torch", reason="apt-get install python3-torch")

INSTALLED = Path(os.environ.get("DEEPVORO_DATA", Path.home() / ".local/share/deepvoro")) / "backbones/libonnxruntime.so"
RUNTIME = os.environ.get("DEEPVORO_ONNXRUNTIME") or (str(INSTALLED) if INSTALLED.exists() else None)
needs_runtime = pytest.mark.skipif(RUNTIME is None, reason="no onnxruntime: deepvoro backbone install onnxruntime, or DEEPVORO_ONNXRUNTIME")
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SIDE = 48


class Convolutions(torch.nn.Module):
    """Features [pictures, features], or the maps that they are means of."""

    def __init__(self, pooled=True):
        super().__init__()
        self.pooled = pooled
        self.layers = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, stride=2, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
                                          torch.nn.Conv2d(8, 12, 3, stride=2, padding=1))

    def forward(self, pictures):
        maps = self.layers(pictures)
        return maps.mean(dim=(2, 3)) if self.pooled else maps


class Transformer(torch.nn.Module):
    """A small ViT: tokens, the first of which stands for the whole; and a second output."""

    def __init__(self, dim=16):
        super().__init__()
        self.patches = torch.nn.Conv2d(3, dim, 12, stride=12)
        self.token = torch.nn.Parameter(torch.randn(1, 1, dim))
        self.places = torch.nn.Parameter(torch.randn(1, (SIDE // 12) ** 2 + 1, dim))
        self.queries, self.keys, self.values = (torch.nn.Linear(dim, dim) for _ in range(3))
        self.norm = torch.nn.LayerNorm(dim)

    def forward(self, pictures):
        tokens = self.patches(pictures).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.token.expand(tokens.shape[0], -1, -1), tokens], dim=1) + self.places
        weights = torch.softmax(self.queries(tokens) @ self.keys(tokens).transpose(1, 2) / 4, dim=-1)
        tokens = self.norm(tokens + weights @ self.values(tokens))
        return tokens, tokens[:, 1:].mean(dim=1)


def export(network, file, outputs=("features",), batch=True, size=False):
    network.eval()
    axes = {name: ({0: "pictures"} if batch else {}) for name in ("pictures", *outputs)}
    if size:
        axes["pictures"] = {**axes["pictures"], 2: "height", 3: "width"}
    torch.onnx.export(network, torch.zeros(1, 3, SIDE, SIDE), str(file), input_names=["pictures"], output_names=list(outputs),
                      dynamic_axes={name: value for name, value in axes.items() if value}, opset_version=13)
    return file


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    random = np.random.RandomState(0)
    for k, name in enumerate(("ant", "bee")):
        (folder / name).mkdir()
        for i in range(3):
            pixels = random.randint(0, 256, (SIDE, SIDE, 3)) * 0.5
            pixels[:, :, k] += 120
            Image.fromarray(pixels.astype(np.uint8)).save(folder / name / f"{i}.png")
    return folder


@pytest.fixture
def environment(tmp_path):
    return {"DEEPVORO_DATA": str(tmp_path / "data"), **({"DEEPVORO_ONNXRUNTIME": RUNTIME} if RUNTIME else {})}


def scaled(pictures, mean=MEAN, std=STD):
    """What the network is fed of the view of its own size, which cuts off a margin."""
    files = sorted(pictures.rglob("*.png"))
    larger = int(1.15 * SIDE)
    margin = round((larger - SIDE) / 2)
    views = [Image.open(file).resize((larger, larger), Image.BILINEAR).crop((margin, margin, margin + SIDE, margin + SIDE)) for file in files]
    pixels = np.stack([np.asarray(view) for view in views]).astype(np.float32) / 255
    return torch.from_numpy(((pixels - np.float32(mean)) / np.float32(std)).transpose(0, 3, 1, 2).copy())


def extracted(deepvoro, pictures, model, folder, environment):
    process = deepvoro("extract", pictures, "--model", model, "--views", f"s{SIDE}_r0_f0", "--out", folder, env=environment)
    assert process.returncode == 0, process.stderr
    return np.load(folder / f"novel/s{SIDE}_r0_f0.npy").astype(np.float32)


@needs_runtime
@pytest.mark.parametrize("kind", ["pooled", "maps", "one at a time", "any size"])
def test_features_are_those_of_pytorch(deepvoro, pictures, tmp_path, environment, kind):
    torch.manual_seed(0)
    network = Convolutions(pooled=kind != "maps")
    file = export(network, tmp_path / "net.onnx", batch=kind != "one at a time", size=kind == "any size")
    found = extracted(deepvoro, pictures, file, tmp_path / "store", environment)
    with torch.no_grad():
        wanted = network(scaled(pictures)).numpy()
    if kind == "maps":
        wanted = wanted.mean(axis=(2, 3))
    np.testing.assert_allclose(found, wanted, rtol=2**-10, atol=1e-4)  # stores hold float16


@needs_runtime
def test_a_transformer_by_name(deepvoro, pictures, tmp_path, environment):
    torch.manual_seed(1)
    network = Transformer()
    file = export(network, tmp_path / "vit.onnx", outputs=("tokens", "mean"))
    process = deepvoro("backbone", "add", "vit", file, env=environment)
    assert_one_line(process, 3, "vit.onnx", "several outputs", "tokens, mean", "--output")
    assert_one_line(deepvoro("backbone", "add", "vit", file, "--output", "x", env=environment), 3, "no output 'x'")
    assert_one_line(deepvoro("backbone", "add", "vit", file, "--size", 50, "--output", "mean", env=environment), 2, "48", "50")
    for name, output, flags in (("tokens", "tokens", ()), ("mean", "mean", ("--mean", "0.5,0.5,0.5", "--std", "0.25,0.25,0.25"))):
        process = deepvoro("backbone", "add", name, file, "--output", output, *flags, env=environment)
        assert process.returncode == 0 and "16 features" in process.stdout, process.stderr
        with torch.no_grad():
            tokens, mean = network(scaled(pictures, *(((0.5,) * 3, (0.25,) * 3) if flags else ())))
        wanted = tokens[:, 0] if output == "tokens" else mean
        found = extracted(deepvoro, pictures, name, tmp_path / name, environment)
        np.testing.assert_allclose(found, wanted.numpy(), rtol=2**-10, atol=1e-4)
    listed = deepvoro("backbone", "list", env=environment).stdout
    assert any(line.split()[:4] == ["tokens", "onnx", "16", "48"] for line in listed.splitlines())
    assert_one_line(deepvoro("backbone", "add", "mean", file, "--output", "mean", env=environment), 3, "'mean' already")
    # Signed features, and views of other sizes than its own, need no flag.
    process = deepvoro("fit", pictures, "--backbone", "tokens", "--out", tmp_path / "a.dv", env=environment)
    assert process.returncode == 0, process.stderr
    answers = json.loads(deepvoro("predict", tmp_path / "a.dv", pictures, "--json", env=environment).stdout)
    assert [answer["class"] for answer in answers] == ["ant"] * 3 + ["bee"] * 3


@needs_runtime
def test_what_cannot_be_run_is_one_line(deepvoro, pictures, tmp_path, environment):
    (tmp_path / "text.onnx").write_text("no network")
    assert_one_line(deepvoro("backbone", "add", "x", tmp_path / "text.onnx", env=environment), 3, "text.onnx", "onnxruntime says")
    file = export(torch.nn.Flatten(), tmp_path / "flat.onnx")
    whole = file.read_bytes()
    (tmp_path / "cut.onnx").write_bytes(whole[: len(whole) // 2])
    assert_one_line(deepvoro("backbone", "add", "x", tmp_path / "cut.onnx", env=environment), 3, "cut.onnx")
    operator = whole.replace(b"Flatten", b"Flottun")
    assert operator != whole
    (tmp_path / "operator.onnx").write_bytes(operator)
    assert_one_line(deepvoro("backbone", "add", "x", tmp_path / "operator.onnx", env=environment), 3, "operator.onnx", "Flottun")
    assert_one_line(deepvoro("backbone", "add", "x", tmp_path / "absent.onnx", env=environment), 3, "absent.onnx")
    assert not (tmp_path / "data/backbones/x.onnx").exists()


def test_without_onnxruntime(deepvoro, pictures, tmp_path):
    shutil.copy(pictures / "ant/0.png", tmp_path / "any.onnx")
    (tmp_path / "no.so").write_text("no library")
    environment = {"DEEPVORO_DATA": str(tmp_path / "data"), "DEEPVORO_ONNXRUNTIME": str(tmp_path / "no.so")}
    process = deepvoro("fit", pictures, "--backbone", tmp_path / "any.onnx", "--out", tmp_path / "a.dv", env=environment)
    assert_one_line(process, 3, "onnxruntime", "deepvoro backbone install onnxruntime", "no.so")


@needs_runtime
def test_the_library_is_named_on_the_command_line(deepvoro, pictures, tmp_path):
    file = export(Convolutions(), tmp_path / "net.onnx")
    environment = {"DEEPVORO_DATA": str(tmp_path / "data"), "DEEPVORO_ONNXRUNTIME": str(tmp_path / "no.so")}
    for command in (("backbone", "add", "net", file), ("extract", pictures, "--model", file, "--views", 1, "--out", tmp_path / "store"),
                    ("fit", pictures, "--backbone", file, "--out", tmp_path / "a.dv")):
        assert_one_line(deepvoro(*command, "--onnxruntime", tmp_path / "other.so", env=environment), 3, "onnxruntime", "other.so")
        process = deepvoro(*command, "--onnxruntime", RUNTIME, env=environment)
        assert process.returncode == 0, process.stderr
