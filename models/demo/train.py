"""
Trains the demo model and writes it as GGUF: `python train.py --minutes 60 --out ../offpeak-tiny.gguf`.
Needs torch, tokenizers and numpy. Everything is drawn from the generators in tasks.py, with a fixed seed.
The model is written every few minutes, so that a run that is cut short leaves the best it had.
"""

import argparse
import json
import math
import pathlib
import random
import time

import torch
import torch.nn.functional as F

import gguf
import tasks
import tokenizer as tokens
from model import Model

BATCH_TOKENS = 3072
HELD_PER_TASK = 200


def encode(tokenizer, chat):
    made, messages, answer = chat
    return tokenizer.encode(tasks.render(made, messages)).ids, tokenizer.encode(answer).ids + [tokens.END]


def batches(tokenizer):
    """Chats of like length together, about as many tokens each time, in random order."""
    while True:
        drawn = sorted((encode(tokenizer, tasks.draw()) for _ in range(768)), key=lambda pair: len(pair[0]) + len(pair[1]))
        groups, group = [], []
        for pair in drawn:
            if group and (len(group) + 1) * (len(pair[0]) + len(pair[1])) > BATCH_TOKENS:
                groups.append(group)
                group = []
            group.append(pair)
        random.shuffle(groups)
        yield from groups


def tensors_of(group):
    """Inputs and targets; the answer counts fully, a tenth of the prompt helps to learn the language."""
    # Few different lengths: the kernels are made for each shape.
    length = -(-max(len(prompt) + len(answer) for prompt, answer in group) // 16) * 16
    inputs = torch.full((len(group), length), tokens.PAD)
    targets = torch.full((len(group), length), -100)
    for row, (prompt, answer) in enumerate(group):
        whole = torch.tensor(prompt + answer)
        inputs[row, : len(whole)] = whole
        targets[row, len(prompt) - 1 : len(whole) - 1] = whole[len(prompt) :]
        some = torch.rand(len(prompt) - 1) < 0.1
        targets[row, : len(prompt) - 1][some] = whole[1 : len(prompt)][some]
    return inputs, targets


@torch.no_grad()
def answers(net, tokenizer, chats, limit=96):
    """Greedy answers of chats, one after the other."""
    said = []
    for made, messages, _ in chats:
        ids = tokenizer.encode(tasks.render(made, messages)).ids
        start = len(ids)
        while len(ids) - start < limit:
            token = int(net(torch.tensor([ids]))[0, -1].argmax())
            if token == tokens.END:
                break
            ids.append(token)
        said.append(tokenizer.decode(ids[start:]))
    return said


def held_out(per_task):
    random.seed(20_000)
    return {name: [make(True) for _ in range(per_task)] for name, make, _, _ in tasks.TASKS}


def evaluate(net, tokenizer, per_task):
    net.eval()
    scores = {}
    for name, chats in held_out(per_task).items():
        right = sum(said == chat[2] for said, chat in zip(answers(net, tokenizer, chats), chats))
        scores[name] = right / len(chats)
    net.train()
    return scores


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--minutes", type=float, default=60)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--out", default="../offpeak-tiny.gguf")
    options = options.parse_args()
    torch.set_num_threads(options.threads)
    random.seed(1)
    torch.manual_seed(1)
    here = pathlib.Path(__file__).parent
    template = (here / "template.jinja").read_text().strip()
    tokenizer = tokens.train()
    net = Model(tokenizer.get_vocab_size())
    print("parameters", sum(p.numel() for p in net.parameters()), "vocabulary", tokenizer.get_vocab_size(), flush=True)
    decay = [p for p in net.parameters() if p.ndim > 1]
    plain = [p for p in net.parameters() if p.ndim == 1]
    peak = 3e-3
    optimiser = torch.optim.AdamW([{"params": decay, "weight_decay": 0.05}, {"params": plain, "weight_decay": 0.0}],
                                  lr=peak, betas=(0.9, 0.98), fused=True)
    began, written, step, seen, smooth = time.time(), time.time(), 0, 0, None
    budget = options.minutes * 60
    for group in batches(tokenizer):
        done = (time.time() - began) / budget
        if done >= 1:
            break
        rate = peak * min(1, (step + 1) / 200) * (0.5 * (1 + math.cos(math.pi * done)) * 0.98 + 0.02)
        for parameters in optimiser.param_groups:
            parameters["lr"] = rate
        inputs, targets = tensors_of(group)
        with torch.autocast("cpu", torch.bfloat16):
            logits = net(inputs, targets != -100)
        loss = F.cross_entropy(logits.float(), targets[targets != -100])
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        step, seen = step + 1, seen + inputs.numel()
        smooth = loss.item() if smooth is None else 0.98 * smooth + 0.02 * loss.item()
        if step % 100 == 0:
            print(f"step {step} at {time.time() - began:.0f} s, loss {smooth:.3f}, {seen / (time.time() - began):.0f} tokens/s", flush=True)
        if time.time() - written > 600:
            gguf.write(options.out, net, tokenizer, template)
            print("so far", {k: round(v, 2) for k, v in evaluate(net, tokenizer, 20).items()}, flush=True)
            written = time.time()
    gguf.write(options.out, net, tokenizer, template)
    scores = evaluate(net, tokenizer, HELD_PER_TASK)
    report = {"steps": step, "tokens": seen, "held_out_per_task": HELD_PER_TASK, "exact_match": scores}
    print(json.dumps(report, indent=2))
    with open(here / "held-out.jsonl", "w") as file:
        for name, chats in held_out(60).items():
            for made, messages, answer in chats:
                file.write(json.dumps({"task": name, "tools": made, "messages": messages, "answer": answer}) + "\n")


if __name__ == "__main__":
    main()
