#!/usr/bin/env python3
"""Writes resnet8.onnx: ResNet-8 in the shape of MLPerf Tiny's image classification.

    python3 resnet8.py [FOLDER]

One image of 3 x 32 x 32 (CIFAR-10), a convolution, three residual blocks of 16, 32 and 64 channels,
the mean over the image, ten scores.  BatchNorm is folded into the convolutions.  Weights are random
by a fixed seed, so the file is always the same; the scores say nothing about pictures.

Where onnxruntime and numpy are installed it also writes resnet8.npz: an image, and the scores that
onnxruntime computes for it.  Otherwise only Python itself is needed.
"""
import os
import random
import struct
import sys

OPSET = 13
RANDOM = random.Random(8)


# --- Protocol buffers: a message is a list of fields, each a key and a value -----------------------

def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def field(number, value):
    """An integer, or bytes: text or a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(number, values):
    return b"".join(field(number, v) for v in values)


# --- Messages of onnx.proto ------------------------------------------------------------------------

def tensor(name, dims, values):
    data = struct.pack("<%df" % len(values), *values)
    return fields(1, dims) + field(2, 1) + field(8, name) + field(9, data)


def value_info(name, dims):
    shape = fields(1, [field(1, d) for d in dims])
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def attribute(name, value):
    if isinstance(value, list):
        return field(1, name) + fields(8, value) + field(20, 7)
    return field(1, name) + field(3, value) + field(20, 2)


def node(op, inputs, output, **attributes):
    return (fields(1, inputs) + field(2, output) + field(3, output) + field(4, op)
            + fields(5, [attribute(n, v) for n, v in sorted(attributes.items())]))


# --- The network -----------------------------------------------------------------------------------

class Network:
    def __init__(self):
        self.nodes, self.constants = [], []

    def add(self, op, inputs, output, **attributes):
        self.nodes.append(node(op, inputs, output, **attributes))
        return output

    def constant(self, name, dims, scale):
        n = 1
        for d in dims:
            n *= d
        values = [RANDOM.uniform(-scale, scale) for _ in range(n)]
        self.constants.append(tensor(name, dims, values))
        return name

    def conv(self, x, name, i, o, k, stride):
        """Weights keep the variance of what a ReLU left."""
        w = self.constant(name + ".weight", [o, i, k, k], (6 / (i * k * k)) ** 0.5)
        b = self.constant(name + ".bias", [o], 0.1)
        return self.add("Conv", [x, w, b], name, dilations=[1, 1], group=1, kernel_shape=[k, k],
                        pads=4 * [k // 2], strides=2 * [stride])

    def block(self, x, name, i, o, stride):
        y = self.add("Relu", [self.conv(x, name + ".conv1", i, o, 3, stride)], name + ".relu1")
        y = self.conv(y, name + ".conv2", o, o, 3, 1)
        if i != o:
            x = self.conv(x, name + ".shortcut", i, o, 1, stride)
        return self.add("Relu", [self.add("Add", [y, x], name + ".add")], name + ".relu2")


def model():
    net = Network()
    x = net.add("Relu", [net.conv("image", "stem.conv", 3, 16, 3, 1)], "stem.relu")
    x = net.block(x, "block1", 16, 16, 1)
    x = net.block(x, "block2", 16, 32, 2)
    x = net.block(x, "block3", 32, 64, 2)
    x = net.add("Flatten", [net.add("GlobalAveragePool", [x], "pool")], "features", axis=1)
    w = net.constant("dense.weight", [10, 64], (3 / 64) ** 0.5)
    b = net.constant("dense.bias", [10], 0.1)
    x = net.add("Gemm", [x, w, b], "dense", transB=1)
    net.add("Softmax", [x], "scores", axis=1)
    graph = (fields(1, net.nodes) + field(2, "resnet8") + fields(5, net.constants)
             + field(11, value_info("image", [1, 3, 32, 32]))
             + field(12, value_info("scores", [1, 10])))
    return field(1, 7) + field(2, "resnet8.py") + field(7, graph) + field(8, field(2, OPSET))


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    path = os.path.join(folder, "resnet8.onnx")
    with open(path, "wb") as f:
        f.write(model())
    try:
        import numpy
        import onnxruntime
    except ImportError:
        return
    values = [RANDOM.uniform(-1, 1) for _ in range(3 * 32 * 32)]
    image = numpy.array(values, dtype=numpy.float32).reshape(1, 3, 32, 32)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    scores, = session.run(["scores"], {"image": image})
    numpy.savez(os.path.join(folder, "resnet8.npz"), image=image, scores=scores)


main()
