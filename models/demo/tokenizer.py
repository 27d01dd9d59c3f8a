"""
The tokenizer: byte-level BPE with the pre-tokenizer of GPT-2, as llama.cpp has it. Merges never join a space or a digit
with anything: a word is then the same tokens wherever it stands, which makes copying easy for a small model, and a number
is its digits.
"""

import json

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

import tasks

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|pad|>"]
END, PAD = 2, 3


def train(vocabulary=1024, chats=12000):
    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex("[ \\n]"), "isolated"), pre_tokenizers.Digits(individual_digits=True),
         pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    trainer = trainers.BpeTrainer(vocab_size=vocabulary, special_tokens=SPECIAL, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())

    def corpus():
        for _ in range(chats):
            tools, messages, answer = tasks.draw()
            yield " ".join([", ".join(f"{n}({', '.join(p)})" for n, p in tools), *(c for _, c in messages), answer])

    learner.train_from_iterator(corpus(), trainer)
    learned = json.loads(learner.to_str())["model"]
    return made_of(learned["vocab"], learned["merges"])


def made_of(vocabulary, merges):
    """The tokenizer of these tokens with their numbers, and these merges in their order."""
    pairs = [tuple(m) if isinstance(m, list) else tuple(m.split(" ")) for m in merges]
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=pairs))
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True), decoders.ByteLevel()
    return tokenizer
