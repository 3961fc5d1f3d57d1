"""The networks in PyTorch, written from the papers and with the names their releases use."""
import torch
from torch import nn
from torch.nn import functional as F


def norm_conv_block(c_in, c_out):
    block = nn.Module()
    block.C = nn.Conv2d(c_in, c_out, 3, padding=1)
    block.BN = nn.BatchNorm2d(c_out)
    return block


class Conv4(nn.Module):
    def __init__(self, widths=(64, 64, 64, 64)):
        super().__init__()
        self.trunk = nn.ModuleList(norm_conv_block(a, b) for a, b in zip((3, *widths), widths))
        self.out_dim = widths[-1]

    def forward(self, x):
        for block in self.trunk:
            x = F.max_pool2d(F.relu(block.BN(block.C(x))), 2)
        return x.mean((2, 3))


class BasicBlock(nn.Module):
    def __init__(self, c_in, c_out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(c_in, c_out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(c_out)
        self.conv2 = nn.Conv2d(c_out, c_out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(c_out)
        self.downsample = nn.Sequential()
        if stride != 1 or c_in != c_out:
            self.downsample = nn.Sequential(nn.Conv2d(c_in, c_out, 1, stride, bias=False), nn.BatchNorm2d(c_out))

    def forward(self, x):
        out = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(out + self.downsample(x))


class Bottleneck(nn.Module):
    def __init__(self, c_in, c_out, stride):
        super().__init__()
        width = c_out // 4
        self.conv1 = nn.Conv2d(c_in, width, 1, stride, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, c_out, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(c_out)
        self.downsample = nn.Sequential()
        if stride != 1 or c_in != c_out:
            self.downsample = nn.Sequential(nn.Conv2d(c_in, c_out, 1, stride, bias=False), nn.BatchNorm2d(c_out))

    def forward(self, x):
        out = F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))
        return F.relu(self.bn3(self.conv3(out)) + self.downsample(x))


class ResNet(nn.Module):
    def __init__(self, counts, block=BasicBlock, first_width=64, imagenet_stem=False):
        super().__init__()
        self.imagenet_stem = imagenet_stem
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False) if imagenet_stem else nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        c_in = 64
        for i, count in enumerate(counts):
            c_out = first_width * 2**i
            strides = [1 if i == 0 else 2] + [1] * (count - 1)
            blocks = []
            for stride in strides:
                blocks.append(block(c_in, c_out, stride))
                c_in = c_out
            setattr(self, f"layer{i + 1}", nn.Sequential(*blocks))
        self.out_dim = c_in

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        if self.imagenet_stem:
            x = F.max_pool2d(x, 3, 2, 1)
        for layer in (self.layer1, self.layer2, self.layer3, self.layer4):
            x = layer(x)
        return F.adaptive_avg_pool2d(x, 1).flatten(1)


class TripleBlock(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        for i, c in enumerate((c_in, c_out, c_out), start=1):
            setattr(self, f"conv{i}", nn.Conv2d(c, c_out, 3, padding=1, bias=False))
            setattr(self, f"bn{i}", nn.BatchNorm2d(c_out))
        self.downsample = nn.Sequential(nn.Conv2d(c_in, c_out, 1, bias=False), nn.BatchNorm2d(c_out))

    def forward(self, x):
        out = F.leaky_relu(self.bn1(self.conv1(x)), 0.1)
        out = F.leaky_relu(self.bn2(self.conv2(out)), 0.1)
        out = self.bn3(self.conv3(out)) + self.downsample(x)
        return F.max_pool2d(F.leaky_relu(out, 0.1), 2)


class ResNet12(nn.Module):
    def __init__(self):
        super().__init__()
        widths = (3, 64, 160, 320, 640)
        for i in range(4):
            setattr(self, f"layer{i + 1}", nn.Sequential(TripleBlock(widths[i], widths[i + 1])))
        self.out_dim = 640

    def forward(self, x):
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return F.adaptive_avg_pool2d(x, 1).flatten(1)


class WideBlock(nn.Module):
    def __init__(self, c_in, c_out, stride):
        super().__init__()
        self.bn1 = nn.BatchNorm2d(c_in)
        self.conv1 = nn.Conv2d(c_in, c_out, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(c_out)
        self.conv2 = nn.Conv2d(c_out, c_out, 3, 1, 1, bias=False)
        self.convShortcut = nn.Conv2d(c_in, c_out, 1, stride, bias=False) if c_in != c_out else None

    def forward(self, x):
        activated = F.relu(self.bn1(x))
        shortcut = x if self.convShortcut is None else self.convShortcut(activated)
        return shortcut + self.conv2(F.relu(self.bn2(self.conv1(activated))))


class WideResNet(nn.Module):
    def __init__(self, depth=28, factor=10, first_channels=16):
        super().__init__()
        self.conv1 = nn.Conv2d(3, first_channels, 3, padding=1, bias=False)
        c_in = first_channels
        for i in range(3):
            c_out = 16 * factor * 2**i
            block = nn.Module()
            layers = []
            for j in range((depth - 4) // 6):
                layers.append(WideBlock(c_in, c_out, 2 if i > 0 and j == 0 else 1))
                c_in = c_out
            block.layer = nn.Sequential(*layers)
            setattr(self, f"block{i + 1}", block)
        self.bn1 = nn.BatchNorm2d(c_in)
        self.out_dim = c_in

    def forward(self, x):
        x = self.block3.layer(self.block2.layer(self.block1.layer(self.conv1(x))))
        return F.avg_pool2d(F.relu(self.bn1(x)), x.shape[2:]).flatten(1)


class DenseLayer(nn.Module):
    def __init__(self, c_in, growth=32):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(c_in)
        self.conv1 = nn.Conv2d(c_in, 4 * growth, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(4 * growth)
        self.conv2 = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, x):
        return torch.cat([x, self.conv2(F.relu(self.norm2(self.conv1(F.relu(self.norm1(x))))))], 1)


class DenseNet121(nn.Module):
    def __init__(self, imagenet_stem=False):
        super().__init__()
        self.features = nn.Sequential()
        stem = nn.Conv2d(3, 64, 7, 2, 3, bias=False) if imagenet_stem else nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        self.features.add_module("conv0", stem)
        self.features.add_module("norm0", nn.BatchNorm2d(64))
        self.features.add_module("relu0", nn.ReLU())
        if imagenet_stem:
            self.features.add_module("pool0", nn.MaxPool2d(3, 2, 1))
        channels = 64
        for i, count in enumerate((6, 12, 24, 16), start=1):
            block = nn.Sequential()
            for j in range(1, count + 1):
                block.add_module(f"denselayer{j}", DenseLayer(channels))
                channels += 32
            self.features.add_module(f"denseblock{i}", block)
            if i < 4:
                transition = nn.Sequential()
                transition.add_module("norm", nn.BatchNorm2d(channels))
                transition.add_module("relu", nn.ReLU())
                transition.add_module("conv", nn.Conv2d(channels, channels // 2, 1, bias=False))
                transition.add_module("pool", nn.AvgPool2d(2))
                self.features.add_module(f"transition{i}", transition)
                channels //= 2
        self.features.add_module("norm5", nn.BatchNorm2d(channels))
        self.out_dim = channels

    def forward(self, x):
        return F.adaptive_avg_pool2d(F.relu(self.features(x)), 1).flatten(1)


class MobileNet(nn.Module):
    def __init__(self):
        super().__init__()

        def unit(c_in, c_out, kernel, stride, groups):
            conv = nn.Conv2d(c_in, c_out, kernel, stride, kernel // 2, groups=groups, bias=False)
            return conv, nn.BatchNorm2d(c_out), nn.ReLU()

        plan = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]
        blocks, channels = [nn.Sequential(*unit(3, 32, 3, 1, 1))], 32
        for out, stride in plan:
            blocks.append(nn.Sequential(*unit(channels, channels, 3, stride, channels), *unit(channels, out, 1, 1, 1)))
            channels = out
        self.features = nn.Sequential(*blocks)
        self.out_dim = channels

    def forward(self, x):
        return F.adaptive_avg_pool2d(self.features(x), 1).flatten(1)


class Embedded(nn.Module):
    """A network with a linear map at its end."""

    def __init__(self, network, dimensions):
        super().__init__()
        self.network = network
        self.embedding = nn.Linear(network.out_dim, dimensions)

    def forward(self, x):
        return self.embedding(self.network(x))

    def state_dict(self):
        embedding = {f"embedding.{name}": tensor for name, tensor in self.embedding.state_dict().items()}
        return {**self.network.state_dict(), **embedding}


NETWORKS = {
    "conv4": Conv4,
    "resnet10": lambda **flags: ResNet((1, 1, 1, 1), **flags),
    "resnet12": ResNet12,
    "resnet18": lambda **flags: ResNet((2, 2, 2, 2), **flags),
    "resnet34": lambda **flags: ResNet((3, 4, 6, 3), **flags),
    "resnet50": lambda **flags: ResNet((3, 4, 6, 3), Bottleneck, 256, **flags),
    "wrn-28-10": WideResNet,
    "densenet121": DenseNet121,
    "mobilenet": MobileNet,
}


def first_convolutions(model):
    """Those that pictures go through."""
    found = [module for module in model.modules() if isinstance(module, nn.Conv2d) and module.in_channels == 3]
    assert found
    return found


def network(name, embedding=0, first_stride=1, **flags):
    if name == "wrn-28-10":
        flags["first_channels"] = 16 * first_stride**2
    plain = NETWORKS[name](**flags)
    if first_stride != 1:
        for convolution in first_convolutions(plain):
            convolution.stride = (first_stride, first_stride)
    return Embedded(plain, embedding) if embedding else plain


def with_random_statistics(model, seed):
    """Normalisations that do something, as after training."""
    torch.manual_seed(seed)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, 0, 0.2)
            nn.init.normal_(module.running_mean, 0, 0.2)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
    return model.eval()
