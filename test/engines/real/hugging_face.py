"""Converts the demo model to the Hugging Face format, for servers that read no GGUF: hugging_face.py MODEL.gguf FOLDER"""

import json
import os
import sys

import numpy
from gguf import GGUFReader
from gguf.quants import dequantize
from safetensors.numpy import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

file, folder = sys.argv[1:]
reader = GGUFReader(file)


def field(name):
    return reader.fields[name].contents()


heads = field("llama.attention.head_count")


def halves(weights):
    """Reorders rotary pairs: adjacent in GGUF, half a head apart in this format."""
    rows, columns = weights.shape
    return weights.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


names = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
}
tensors = {}
for tensor in reader.tensors:
    weights = dequantize(tensor.data, tensor.tensor_type).astype(numpy.float32)
    parts = tensor.name.removesuffix(".weight").split(".")
    if parts[-1] in ("attn_q", "attn_k"):
        weights = halves(weights)
    before = f"model.layers.{parts[1]}." if parts[0] == "blk" else ""
    tensors[f"{before}{names[parts[-1]]}.weight"] = numpy.ascontiguousarray(weights)

os.makedirs(folder, exist_ok=True)
save_file(tensors, f"{folder}/model.safetensors", metadata={"format": "pt"})

tokens = field("tokenizer.ggml.tokens")
control = [token for token, kind in zip(tokens, field("tokenizer.ggml.token_type")) if kind == 3]
merges = [tuple(merge.split(" ")) for merge in field("tokenizer.ggml.merges")]
tokenizer = Tokenizer(models.BPE({token: at for at, token in enumerate(tokens)}, merges))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
tokenizer.add_special_tokens([AddedToken(token, special=True) for token in control])
tokenizer.save(f"{folder}/tokenizer.json")

first, last, padding = (field(f"tokenizer.ggml.{name}_token_id") for name in ("bos", "eos", "padding"))


def write(name, value):
    with open(f"{folder}/{name}", "w") as out:
        json.dump(value, out, indent=2)


write(
    "tokenizer_config.json",
    {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": tokens[first],
        "eos_token": tokens[last],
        "pad_token": tokens[padding],
        "clean_up_tokenization_spaces": False,
        "chat_template": field("tokenizer.chat_template"),
    },
)
write(
    "config.json",
    {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "float32",
        "hidden_act": "silu",
        "hidden_size": field("llama.embedding_length"),
        "intermediate_size": field("llama.feed_forward_length"),
        "num_hidden_layers": field("llama.block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": field("llama.attention.head_count_kv"),
        "max_position_embeddings": field("llama.context_length"),
        "rms_norm_eps": field("llama.attention.layer_norm_rms_epsilon"),
        "rope_theta": field("llama.rope.freq_base"),
        "vocab_size": len(tokens),
        "bos_token_id": first,
        "eos_token_id": last,
        "pad_token_id": padding,
        "tie_word_embeddings": "lm_head.weight" not in tensors,
    },
)
