"""
Trains the demo model and writes it as GGUF: `python train.py --minutes 60 --out ../offpeak-tiny.gguf`; with `--from` it
goes on with a model written before. Needs torch, tokenizers and numpy. Everything is drawn from the generators in
tasks.py, from a seed. The model is written every few minutes, so that a run that is cut short leaves the best it had.
"""

import argparse
import json
import pathlib
import random
import time

import torch
import torch.nn.functional as F

import gguf
import tasks
import tokenizer as tokens
import words
from model import Model, load

BATCH_TOKENS = 1024
IGNORED = -100
HELD_PER_TASK = 200


def encode(tokenizer, chat):
    """Tokens of a whole chat, and which of them the model has to say: the answer, and those of earlier turns."""
    made, messages, answer = chat
    parts = [(tasks.render_tools(made), False)]
    for role, content in [*messages, ("assistant", answer)]:
        mine = role == "assistant"
        parts += [(f"<|im_start|>{role}\n", False), (content, mine), ("<|im_end|>", mine), ("\n", False)]
    ids, said = [], []
    for text, mine in parts[:-1]:
        part = tokenizer.encode(text).ids
        ids += part
        said += [mine] * len(part)
    return ids, said


def batches(tokenizer):
    """Chats of like length together, about as many tokens each time, in random order."""
    while True:
        drawn = sorted((encode(tokenizer, tasks.draw()) for _ in range(768)), key=lambda pair: len(pair[0]))
        groups, group = [], []
        for pair in drawn:
            if group and (len(group) + 1) * len(pair[0]) > BATCH_TOKENS:
                groups.append(group)
                group = []
            group.append(pair)
        random.shuffle(groups)
        yield from groups


def tensors_of(group):
    """Inputs and targets; only what the model has to say counts."""
    # Few different lengths: the kernels are made for each shape.
    length = -(-max(len(ids) for ids, _ in group) // 8) * 8
    inputs = torch.full((len(group), length), tokens.PAD)
    targets = torch.full((len(group), length), IGNORED)
    for row, (ids, said) in enumerate(group):
        whole = torch.tensor(ids)
        inputs[row, : len(whole)] = whole
        targets[row, : len(whole) - 1] = whole[1:].where(torch.tensor(said[1:]), IGNORED)
    return inputs, targets


def last_only(said):
    """Marks the last answer alone."""
    start = len(said) - said[::-1].index(False)
    return [False] * start + said[start:]


@torch.no_grad()
def exact(net, tokenizer, chats):
    """Share of the chats whose last answer is said exactly: each of its tokens is the likeliest after the ones before it."""
    right = 0
    for start in range(0, len(chats), 16):
        encoded = [encode(tokenizer, chat) for chat in chats[start : start + 16]]
        inputs, targets = tensors_of([(ids, last_only(said)) for ids, said in encoded])
        says = net(inputs).argmax(-1)
        right += int(((says == targets) | (targets == IGNORED)).all(1).sum())
    return right / len(chats)


def held_out(per_task):
    drawn = random.getstate()
    random.seed(20_000)
    chats = {name: [make(True) for _ in range(per_task)] for name, make, _, _ in tasks.TASKS}
    random.setstate(drawn)
    return chats


def evaluate(net, tokenizer, per_task):
    return {name: exact(net, tokenizer, chats) for name, chats in held_out(per_task).items()}


def begin(path):
    """The network and tokenizer to train: those of a GGUF file, or new ones."""
    if not path:
        tokenizer = tokens.train()
        return Model(tokenizer.get_vocab_size()), tokenizer
    metadata, weights = gguf.read(path)
    vocabulary = {token: i for i, token in enumerate(metadata["tokenizer.ggml.tokens"])}
    net = Model(len(vocabulary))
    load(net, weights)
    return net, tokens.made_of(vocabulary, metadata["tokenizer.ggml.merges"])


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--minutes", type=float, default=60)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--from", dest="start", help="go on with this model and its tokenizer")
    options.add_argument("--rate", type=float, default=1.5e-3, help="peak learning rate")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--bf16", action="store_true", help="for a CPU that multiplies bfloat16 fast")
    options.add_argument("--out", default="../offpeak-tiny.gguf")
    options = options.parse_args()
    torch.set_num_threads(options.threads)
    random.seed(options.seed)
    torch.manual_seed(options.seed)
    here = pathlib.Path(__file__).parent
    template = (here / "template.jinja").read_text().strip()
    net, tokenizer = begin(options.start)
    words.TOKENS[:] = [token for token in tokenizer.get_vocab() if token.isascii() and token.isalpha() and len(token) > 1]
    print("parameters", sum(p.numel() for p in net.parameters()), "vocabulary", tokenizer.get_vocab_size(), flush=True)
    decay = [p for p in net.parameters() if p.ndim > 1]
    plain = [p for p in net.parameters() if p.ndim == 1]
    optimiser = torch.optim.AdamW([{"params": decay, "weight_decay": 0.02}, {"params": plain, "weight_decay": 0.0}],
                                  lr=options.rate, betas=(0.9, 0.98), fused=True)
    began, written, step, seen, smooth = time.time(), time.time(), 0, 0, None
    budget = options.minutes * 60
    for group in batches(tokenizer):
        done = (time.time() - began) / budget
        if done >= 1:
            break
        rate = options.rate * min(1, (step + 1) / 100) * (1 - 0.98 * done)
        inputs, targets = tensors_of(group)
        with torch.autocast("cpu", torch.bfloat16, enabled=options.bf16):
            logits = net(inputs, targets != IGNORED)
        loss = F.cross_entropy(logits.float(), targets[targets != IGNORED])
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        for parameters in optimiser.param_groups:
            parameters["lr"] = rate
        optimiser.step()
        step, seen = step + 1, seen + inputs.numel()
        smooth = loss.item() if smooth is None else 0.98 * smooth + 0.02 * loss.item()
        if step % 200 == 0:
            print(f"step {step} at {time.time() - began:.0f} s, loss {smooth:.4f}, {seen / (time.time() - began):.0f} tokens/s", flush=True)
        if time.time() - written > 600:
            gguf.write(options.out, net, tokenizer, template)
            print("so far", {k: round(v, 2) for k, v in evaluate(net, tokenizer, 50).items()}, flush=True)
            written = time.time()
    gguf.write(options.out, net, tokenizer, template)
    scores = evaluate(net, tokenizer, HELD_PER_TASK)
    report = {"steps": step, "tokens": seen, "held_out_per_task": HELD_PER_TASK, "exact_match": scores}
    print(json.dumps(report, indent=2))
    with open(here / "held-out.jsonl", "w") as file:
        for name, chats in held_out(100).items():
            for made, messages, answer in chats:
                file.write(json.dumps({"task": name, "tools": made, "messages": messages, "answer": answer}) + "\n")


if __name__ == "__main__":
    main()
