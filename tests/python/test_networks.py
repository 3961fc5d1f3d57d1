"""Features of the program's networks equal those of PyTorch with the same weights."""
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="apt-get install python3-torch")
import models  # noqa: E402
import torch_networks  # noqa: E402

EMBED = Path(os.environ.get("DEEPVORO_BIN", "build/bin/deepvoro")).with_name("embed_pictures")
TOLERANCE = 1e-4
LEVELS = ("generic", "avx2", "avx512", "neon")
needs_libtorch = pytest.mark.skipif(not (EMBED.parents[1] / "lib/libdeepvoro_backbone.so").is_file(), reason="built without LibTorch")
torch.set_num_threads(1)


def random_pictures(count, size):
    return np.random.RandomState(size).randint(0, 256, (count, size, size, 3)).astype(np.uint8)


def features_of_all(folder, model_file, jobs, level=""):
    """Features of each (pictures, batch size), by one run of the library with the best instructions or those of a level."""
    command = [EMBED, model_file]
    for i, (pictures, batch) in enumerate(jobs):
        np.save(folder / f"pictures{i}.npy", pictures)
        command += [folder / f"pictures{i}.npy", folder / f"features{i}.npy", str(batch)]
    process = subprocess.run(command, capture_output=True, encoding="utf-8", env={**os.environ, "DEEPVORO_ISA": level})
    if level and "this processor does not have it" in process.stderr:
        return None
    assert process.returncode == 0, process.stderr
    return [np.load(folder / f"features{i}.npy") for i in range(len(jobs))]


def program_features(folder, model_file, pictures, batch):
    return features_of_all(folder, model_file, [(pictures, batch)])[0]


def torch_features(model, pictures):
    scaled = (pictures / 255.0 - models.MEAN) / models.DEVIATION
    with torch.no_grad():
        return model(torch.tensor(scaled.transpose(0, 3, 1, 2), dtype=torch.float32)).numpy()


def assert_close(actual, expected, tolerance):
    assert actual.shape == expected.shape
    assert np.abs(expected).max() > 1e-2
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize(
    "architecture",
    [
        {"name": "conv4"},
        {"name": "conv4", "widths": (8, 16, 24, 32)},
        {"name": "conv4", "embedding": 2},
        {"name": "resnet10"},
        {"name": "resnet12"},
        {"name": "resnet18"},
        {"name": "resnet18", "imagenet_stem": True},
        {"name": "resnet34"},
        {"name": "resnet50", "imagenet_stem": True},
        {"name": "wrn-28-10"},
        {"name": "densenet121"},
        {"name": "densenet121", "imagenet_stem": True},
        {"name": "mobilenet"},
        *({"name": name, "first_stride": 2} for name in ("conv4", "resnet12", "resnet18", "wrn-28-10", "densenet121", "mobilenet")),
    ],
    ids=lambda architecture: "-".join(map(str, architecture.values())),
)
def test_forward_pass_equals_pytorch(tmp_path, architecture):
    model = torch_networks.with_random_statistics(torch_networks.network(**architecture), seed=84)
    model_file = models.write_model(tmp_path / "model.safetensors", model, **architecture)
    large, small = random_pictures(2, 84), random_pictures(3, 45)
    of_large, of_small, of_small_in_parts = features_of_all(tmp_path, model_file, [(large, 2), (small, 3), (small, 2)])
    assert_close(of_large, torch_features(model, large), TOLERANCE)
    assert_close(of_small, torch_features(model, small), TOLERANCE)
    np.testing.assert_array_equal(of_small_in_parts, of_small)


@pytest.mark.parametrize(
    "architecture",
    [
        {"name": "conv4", "widths": (8, 16, 40, 64)},
        {"name": "resnet10"},
        {"name": "resnet10", "imagenet_stem": True},
        {"name": "resnet12", "embedding": 5},
        {"name": "densenet121"},
        {"name": "mobilenet"},
    ],
    ids=lambda architecture: "-".join(map(str, architecture.values())),
)
def test_every_level_of_instructions_has_the_same_bits(tmp_path, architecture):
    model = torch_networks.with_random_statistics(torch_networks.network(**architecture), seed=21)
    model_file = models.write_model(tmp_path / "model.safetensors", model, **architecture)
    pictures = random_pictures(2, 33)
    expected = program_features(tmp_path, model_file, pictures, batch=2)
    others = [features_of_all(tmp_path, model_file, [(pictures, 1)], level) for level in LEVELS]
    seen = [features[0] for features in others if features is not None]
    assert len(seen) > 1
    for features in seen:
        np.testing.assert_array_equal(features, expected)


class Places(torch.nn.Module):
    """A module of a user's: features at every place."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 7, 5, stride=2)

    def forward(self, x):
        return torch.relu(self.conv(x))


@needs_libtorch
def test_torchscript_module_is_a_backbone(tmp_path):
    torch.manual_seed(1)
    model = Places().eval()
    torch.jit.script(model).save(str(tmp_path / "my.ts"))
    pictures = random_pictures(5, 31)
    expected = torch_features(lambda x: model(x).mean((2, 3)), pictures)
    assert_close(program_features(tmp_path, tmp_path / "my.ts", pictures, batch=2), expected, TOLERANCE)


@needs_libtorch
def test_what_is_no_torchscript_module_is_named(tmp_path):
    model = tmp_path / "my.ts"
    model.write_text("no module")
    np.save(tmp_path / "pictures.npy", random_pictures(1, 31))
    command = [EMBED, model, tmp_path / "pictures.npy", tmp_path / "features.npy", "1"]
    process = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert process.returncode == 3
    assert str(model) in process.stderr and "TorchScript" in process.stderr
