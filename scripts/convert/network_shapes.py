"""Names and shapes of the tensors of every network, as in src/backbone/torch/network.cpp."""

NAMES = ("conv4", "resnet10", "resnet12", "resnet18", "resnet34", "wrn-28-10", "densenet121", "mobilenet")
WITH_IMAGENET_STEM = ("resnet10", "resnet18", "resnet34", "densenet121")  # of mobilenet only the stride differs
MOBILENET = (64, 128, 128, 256, 256, 512, 512, 512, 512, 512, 512, 1024, 1024)


def norm(name, channels):
    return {f"{name}.{part}": (channels,) for part in ("weight", "bias", "running_mean", "running_var")}


def conv(name, c_in, c_out, kernel=3, norm_name=None):
    return {f"{name}.weight": (c_out, c_in, kernel, kernel), **(norm(norm_name, c_out) if norm_name else {})}


def conv4(widths=(64, 64, 64, 64)):
    shapes = {}
    for i, (c_in, c_out) in enumerate(zip((3, *widths), widths)):
        shapes |= conv(f"trunk.{i}.C", c_in, c_out, norm_name=f"trunk.{i}.BN") | {f"trunk.{i}.C.bias": (c_out,)}
    return shapes


def resnet(counts, imagenet_stem):
    shapes, c_in = conv("conv1", 3, 64, 7 if imagenet_stem else 3, "bn1"), 64
    for i, count in enumerate(counts):
        c_out = 64 << i
        for j in range(count):
            block = f"layer{i + 1}.{j}"
            shapes |= conv(f"{block}.conv1", c_in, c_out, norm_name=f"{block}.bn1")
            shapes |= conv(f"{block}.conv2", c_out, c_out, norm_name=f"{block}.bn2")
            if c_in != c_out:
                shapes |= conv(f"{block}.downsample.0", c_in, c_out, 1, f"{block}.downsample.1")
            c_in = c_out
    return shapes


def resnet12():
    shapes, c_in = {}, 3
    for i, c_out in enumerate((64, 160, 320, 640), start=1):
        block = f"layer{i}.0"
        for j, c in enumerate((c_in, c_out, c_out), start=1):
            shapes |= conv(f"{block}.conv{j}", c, c_out, norm_name=f"{block}.bn{j}")
        shapes |= conv(f"{block}.downsample.0", c_in, c_out, 1, f"{block}.downsample.1")
        c_in = c_out
    return shapes


def wide_resnet():
    shapes, c_in = conv("conv1", 3, 16), 16
    for i, c_out in enumerate((160, 320, 640), start=1):
        for j in range(4):
            block = f"block{i}.layer.{j}"
            shapes |= norm(f"{block}.bn1", c_in) | conv(f"{block}.conv1", c_in, c_out, norm_name=f"{block}.bn2")
            shapes |= conv(f"{block}.conv2", c_out, c_out)
            if c_in != c_out:
                shapes |= conv(f"{block}.convShortcut", c_in, c_out, 1)
            c_in = c_out
    return shapes | norm("bn1", c_in)


def densenet121(imagenet_stem):
    shapes, channels = conv("features.conv0", 3, 64, 7 if imagenet_stem else 3, "features.norm0"), 64
    for i, count in enumerate((6, 12, 24, 16), start=1):
        for j in range(1, count + 1):
            layer = f"features.denseblock{i}.denselayer{j}"
            shapes |= norm(f"{layer}.norm1", channels) | conv(f"{layer}.conv1", channels, 128, 1, f"{layer}.norm2")
            shapes |= conv(f"{layer}.conv2", 128, 32)
            channels += 32
        if i < 4:
            transition = f"features.transition{i}"
            shapes |= norm(f"{transition}.norm", channels) | conv(f"{transition}.conv", channels, channels // 2, 1)
            channels //= 2
    return shapes | norm("features.norm5", channels)


def mobilenet():
    shapes, c_in = conv("features.0.0", 3, 32, norm_name="features.0.1"), 32
    for i, c_out in enumerate(MOBILENET, start=1):
        shapes |= conv(f"features.{i}.0", 1, c_in, norm_name=f"features.{i}.1")
        shapes |= conv(f"features.{i}.3", c_in, c_out, 1, f"features.{i}.4")
        c_in = c_out
    return shapes


def network_shapes(name, imagenet_stem=False, widths=(64, 64, 64, 64)):
    match name:
        case "conv4":
            return conv4(widths)
        case "resnet10":
            return resnet((1, 1, 1, 1), imagenet_stem)
        case "resnet12":
            return resnet12()
        case "resnet18":
            return resnet((2, 2, 2, 2), imagenet_stem)
        case "resnet34":
            return resnet((3, 4, 6, 3), imagenet_stem)
        case "wrn-28-10":
            return wide_resnet()
        case "densenet121":
            return densenet121(imagenet_stem)
        case "mobilenet":
            return mobilenet()
