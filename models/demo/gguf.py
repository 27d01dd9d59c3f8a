"""Writes the model as GGUF version 3: metadata, tokenizer, chat template, and weights as Q8_0 (norms stay float32)."""

import json
import struct

import numpy as np

import model as shapes
from tokenizer import SPECIAL

F32, Q8_0 = 0, 8
_U32, _I32, _FLOAT, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9


def _string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value):
    if isinstance(value, bool):
        return struct.pack("<I?", _BOOL, value)
    if isinstance(value, int):
        return struct.pack("<II", _U32, value)
    if isinstance(value, float):
        return struct.pack("<If", _FLOAT, value)
    if isinstance(value, str):
        return struct.pack("<I", _STRING) + _string(value)
    if isinstance(value[0], str):
        return struct.pack("<IIQ", _ARRAY, _STRING, len(value)) + b"".join(map(_string, value))
    return struct.pack("<IIQ", _ARRAY, _I32, len(value)) + np.asarray(value, "<i4").tobytes()


def _q8_0(weights):
    """Blocks of 32 values: a float16 scale and 32 signed bytes."""
    blocks = weights.reshape(-1, 32)
    scale = np.abs(blocks).max(1, keepdims=True) / 127
    whole = np.round(np.divide(blocks, scale, out=np.zeros_like(blocks), where=scale > 0)).astype(np.int8)
    return np.concatenate([scale.astype("<f2").view(np.uint8), whole.view(np.uint8)], 1).tobytes()


def _padded(data, to=32):
    return data + b"\0" * (-len(data) % to)


def write(path, net, tokenizer, template):
    parsed = json.loads(tokenizer.to_str())["model"]
    tokens = [token for token, _ in sorted(tokenizer.get_vocab().items(), key=lambda pair: pair[1])]
    dim, heads = shapes.SHAPE["dim"], shapes.SHAPE["heads"]
    metadata = {
        "general.architecture": "llama", "general.type": "model", "general.name": "offpeak-tiny",
        "general.license": "apache-2.0", "general.file_type": 7, "general.quantization_version": 2,
        "llama.context_length": shapes.SHAPE["context"], "llama.embedding_length": dim,
        "llama.block_count": shapes.SHAPE["layers"], "llama.feed_forward_length": shapes.SHAPE["ff"],
        "llama.attention.head_count": heads, "llama.attention.head_count_kv": heads,
        "llama.attention.layer_norm_rms_epsilon": 1e-5, "llama.rope.dimension_count": dim // heads,
        "llama.rope.freq_base": 10000.0, "llama.vocab_size": len(tokens),
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2", "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3 if token in SPECIAL else 1 for token in tokens],
        "tokenizer.ggml.merges": [" ".join(m) if isinstance(m, list) else m for m in parsed["merges"]],
        "tokenizer.ggml.bos_token_id": 0, "tokenizer.ggml.eos_token_id": 2, "tokenizer.ggml.padding_token_id": 3,
        "tokenizer.ggml.add_bos_token": False, "tokenizer.ggml.add_eos_token": False, "tokenizer.chat_template": template,
    }
    head = b"".join(_string(key) + _value(value) for key, value in metadata.items())
    infos, data = [], []
    offset = 0
    for name, weight in shapes.tensors(net):
        array = weight.detach().float().contiguous().numpy()
        kind, packed = (F32, array.tobytes()) if array.ndim == 1 else (Q8_0, _q8_0(array))
        sizes = array.shape[::-1]
        infos.append(_string(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, kind, offset))
        data.append(_padded(packed))
        offset += len(data[-1])
    start = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(metadata)) + head + b"".join(infos)
    with open(path, "wb") as file:
        file.write(_padded(start) + b"".join(data))


def _read_value(file, kind=None):
    def plain(code):
        return struct.unpack("<" + code, file.read(struct.calcsize("<" + code)))[0]

    kind = plain("I") if kind is None else kind
    if kind == _ARRAY:
        of, count = plain("I"), plain("Q")
        return [_read_value(file, of) for _ in range(count)]
    if kind == _STRING:
        return file.read(plain("Q")).decode()
    return plain({_U32: "I", _I32: "i", _FLOAT: "f", _BOOL: "?"}[kind])


def read(path):
    """Metadata and float32 weights by name, of a file that `write` has written."""
    with open(path, "rb") as file:
        _, _, count, keys = struct.unpack("<4sIQQ", file.read(24))
        metadata = {_read_value(file, _STRING): _read_value(file) for _ in range(keys)}
        infos = []
        for _ in range(count):
            name = _read_value(file, _STRING)
            (rank,) = struct.unpack("<I", file.read(4))
            *sizes, kind, offset = struct.unpack(f"<{rank}QIQ", file.read(8 * rank + 12))
            infos.append((name, sizes[::-1], kind, offset))
        start = -(-file.tell() // 32) * 32
        weights = {}
        for name, sizes, kind, offset in infos:
            file.seek(start + offset)
            values = int(np.prod(sizes))
            if kind == F32:
                array = np.frombuffer(file.read(4 * values), "<f4")
            else:
                blocks = np.frombuffer(file.read(values // 32 * 34), np.uint8).reshape(-1, 34)
                array = blocks[:, :2].copy().view("<f2").astype(np.float32) * blocks[:, 2:].view(np.int8)
            weights[name] = array.reshape(sizes)
    return metadata, weights
