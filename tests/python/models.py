"""Model files of the program, made from PyTorch modules."""
import json

import safetensors

MEAN = (0.485, 0.456, 0.406)
DEVIATION = (0.229, 0.224, 0.225)


def description(name, embedding=0, widths=None, imagenet_stem=False, first_stride=1, input_size=84):
    architecture = {"name": name, "embedding": embedding, "imagenet_stem": imagenet_stem}
    if first_stride != 1:
        architecture["first_stride"] = first_stride
    if widths:
        architecture["widths"] = list(widths)
    return {
        "format": "deepvoro-model",
        "version": 1,
        "architecture": architecture,
        "input_size": input_size,
        "mean": MEAN,
        "deviation": DEVIATION,
        "recipe": {},
        "data_sha256": "",
    }


def write_model(path, model, **architecture):
    tensors = {
        name: tensor.numpy() for name, tensor in model.state_dict().items() if not name.endswith("num_batches_tracked")
    }
    safetensors.write(path, tensors, {"deepvoro": json.dumps(description(**architecture))})
    return path
