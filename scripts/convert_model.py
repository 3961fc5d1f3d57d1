#!/usr/bin/env python3
"""Makes a model file of deepvoro from a checkpoint of PyTorch, such as those of S2M2 and SimpleShot.

usage: convert_model.py CHECKPOINT --out MODEL.safetensors [--backbone NAME] [--size 84] [--imagenet-stem]

CHECKPOINT is what torch.save wrote: a dictionary of tensors, or one that holds it as `state` (S2M2) or `state_dict`
(SimpleShot). Prefixes such as `module.` and `feature.` are taken off and classifiers dropped. The network is
told by the names and shapes of the tensors. Pixels are scaled by the means and deviations of ImageNet, as both releases do.
Strides leave no trace in a file: --imagenet-stem says that a mobilenet starts with stride 2.

Needs Python 3.10 and nothing else; code in the checkpoint is never run.
"""

import argparse
import hashlib
import json
import math
import os
import re
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from convert import network_shapes as networks  # noqa: E402
from convert.torch_file import BadFile, Tensor, TorchFile  # noqa: E402

HOLDERS = ("state", "state_dict", "model", "params")
PREFIX = re.compile(r"^(module|feature|features_extractor|backbone|encoder|model)\.(?=.*\.)")
HEAD = re.compile(r"^(linear|classifier|fc|head|logits|rotate_classifier|classifier_rot)(\.|$)")
RENAMED = (
    # A block of CloserLook and S2M2 has its layers twice: by name, and once more in a list.
    (re.compile(r"^trunk\.\d+\.trunk\..*"), None),
    (re.compile(r"\.shortcut\.(\d)\."), r".downsample.\1."),
    (re.compile(r"\.(norm|conv)\.([12])\."), r".\1\2."),
)
NUMBERED = re.compile(r"^\d+\.\d+\.")
MEAN = (0.485, 0.456, 0.406)
DEVIATION = (0.229, 0.224, 0.225)


def state_of(content):
    """The dictionary of tensors, wherever the file has it."""
    if not isinstance(content, dict):
        raise BadFile("holds no dictionary of tensors; save model.state_dict()")
    for holder in HOLDERS:
        if isinstance(content.get(holder), dict):
            return content[holder]
    return content


def plain_name(name):
    """The name without prefixes, or None where it belongs to no backbone."""
    while PREFIX.match(name):
        name = PREFIX.sub("", name)
    if HEAD.match(name) or name.endswith("num_batches_tracked"):
        return None
    for pattern, replacement in RENAMED:
        if replacement is None and pattern.match(name):
            return None
        if replacement is not None:
            name = pattern.sub(replacement, name)
    return name


def named_tensors(state):
    tensors = {}
    for key, value in state.items():
        name = plain_name(key) if isinstance(key, str) and isinstance(value, Tensor) else None
        if name is None:
            continue
        if name in tensors:
            raise BadFile(f"has two tensors for '{name}'")
        if not value.is_floating:
            raise BadFile(f"'{key}' does not hold floating-point numbers")
        tensors[name] = value
    if not tensors:
        raise BadFile("holds no tensors of a network; save model.state_dict()")
    return {full_name(name, is_mobilenet="13.3.weight" in tensors): tensor for name, tensor in tensors.items()}


def full_name(name, is_mobilenet):
    """The name here of a layer that its release only counts: `encoder.0.1.weight`, without the prefix."""
    if not NUMBERED.match(name):
        return name
    if is_mobilenet:
        return "features." + name
    return re.sub(r"^(\d+)\.1\.", r"trunk.\1.BN.", re.sub(r"^(\d+)\.0\.", r"trunk.\1.C.", name))


def architecture(name, tensors, imagenet_stem):
    described = {"name": name, "embedding": 0, "imagenet_stem": imagenet_stem}
    if name == "conv4":
        firsts = [tensors.get(f"trunk.{i}.C.bias") for i in range(4)]
        described["widths"] = [tensor.shape[0] if tensor and tensor.shape else 64 for tensor in firsts]
    return described


def shapes_of(described):
    return networks.network_shapes(described["name"], described["imagenet_stem"], described.get("widths"))


def difference(described, tensors):
    """What keeps these tensors from being that network; None if they are."""
    expected = shapes_of(described)
    for name, shape in expected.items():
        if name not in tensors:
            return f"has no tensor '{name}', which {described['name']} needs"
        if tensors[name].shape != shape:
            return f"'{name}' has shape {list(tensors[name].shape)}, but {described['name']} needs {list(shape)}"
    for name in tensors:
        if name not in expected:
            return f"has a tensor '{name}', which {described['name']} does not have"
    return None


def find_architecture(tensors, options):
    names = [options.backbone] if options.backbone else networks.NAMES
    reasons = {}
    for name in names:
        stems = (False, True) if name in networks.WITH_IMAGENET_STEM else (options.imagenet_stem and name == "mobilenet",)
        for stem in stems:
            described = architecture(name, tensors, stem)
            reason = difference(described, tensors)
            if reason is None:
                return described
            reasons.setdefault(name, reason)
    if options.backbone:
        raise BadFile(reasons[options.backbone])
    raise BadFile("its tensors are of no network known here; --backbone NAME tells what is missing for that one")


def description(described, options, epoch):
    recipe = {"converted_from": options.checkpoint.name, "sha256": sha256(options.checkpoint)}
    if isinstance(epoch, int):
        recipe["epoch"] = epoch
    return {
        "format": "deepvoro-model",
        "version": 1,
        "architecture": described,
        "input_size": options.size,
        "mean": MEAN,
        "deviation": DEVIATION,
        "recipe": recipe,
        "data_sha256": "",
    }


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def write_model(path, described, file, tensors, text):
    head, offset = {"__metadata__": {"deepvoro": text}}, 0
    for name, shape in shapes_of(described).items():
        size = math.prod(shape) * (2 if tensors[name].is_half else 4)
        kind = "F16" if tensors[name].is_half else "F32"
        head[name] = {"dtype": kind, "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(head).encode()
    part = path.with_name(path.name + ".part")
    try:
        with open(part, "wb") as out:
            out.write(struct.pack("<Q", len(text)) + text)
            for name in shapes_of(described):
                out.write(file.float_bytes(tensors[name]))
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path, metavar="CHECKPOINT")
    parser.add_argument("--out", type=Path, required=True, help="model file to write")
    parser.add_argument("--backbone", choices=networks.NAMES, help="the network, if it is not to be found out")
    parser.add_argument("--size", type=int, default=84, help="side of the pictures it was trained on")
    parser.add_argument("--imagenet-stem", action="store_true", help="a mobilenet that starts with stride 2")
    options = parser.parse_args()
    if not 1 <= options.size <= 4096:
        parser.error("--size is from 1 to 4096")
    return options


def main():
    options = parse_options()
    try:
        file = TorchFile(options.checkpoint)
        tensors = named_tensors(state_of(file.content))
        described = find_architecture(tensors, options)
        text = json.dumps(description(described, options, file.content.get("epoch")))
        write_model(options.out, described, file, tensors, text)
    except BadFile as error:
        print(f"{options.checkpoint}: {error}", file=sys.stderr)
        return 3
    except OSError as error:
        print(f"{error.filename or options.checkpoint}: {error.strerror}", file=sys.stderr)
        return 3
    print(f"{options.out}: {described['name']}, {len(shapes_of(described))} tensors")
    return 0


if __name__ == "__main__":
    sys.exit(main())
