#!/bin/sh
# node-llama-cpp with `topK: 0` ("all tokens") asks llama.cpp for as many tokens as the vocabulary has, which sorts it for each
# token of an answer. llama.cpp itself takes 0 for no step at all; so does node-llama-cpp with null, which its types lack.
# With a vocabulary of 152,000 entries, topK 0 takes several times as long for a token as 40, or as null.
# Exits non-zero when that changes. Needs Node 24 or later and npm, on Linux x64; the model maker of this repository makes the model.
set -eu
maker=$(cd "$(dirname "$0")/.." && pwd)/test/engines/llama/random-model.ts
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --omit=optional --prefix . node-llama-cpp@3.21.1 @node-llama-cpp/linux-x64@3.21.1
npm ls --prefix . node-llama-cpp
cat >measure.mjs <<'JS'
import { getLlama, LlamaLogLevel } from 'node-llama-cpp';

const { writeRandomModel } = await import(process.argv[2]);
const words = Array.from({ length: 152_000 - 288 }, (_, n) => `w${n.toString(36)}`);
writeRandomModel('model.gguf', { contextLength: 512, width: 64, layers: 1, words });
const llama = await getLlama({ gpu: false, build: 'never', logLevel: LlamaLogLevel.error });
const model = await llama.loadModel({ modelPath: 'model.gguf' });
const context = await model.createContext({ contextSize: 512, threads: 1 });
const sequence = context.getSequence();

async function msPerToken(topK) {
  await sequence.clearHistory();
  const times = [];
  let before = performance.now();
  for await (const _ of sequence.evaluate(model.tokenize('Count.'), { temperature: 1, topP: 1, topK, seed: 1 })) {
    times.push(performance.now() - before);
    before = performance.now();
    if (times.length === 40) break;
  }
  return times.toSorted((a, b) => a - b)[20];
}

await msPerToken(40);
const ms = {};
for (const topK of [0, 40, null]) ms[topK] = await msPerToken(topK);
for (const [topK, time] of Object.entries(ms)) console.log(`topK ${topK}: ${time.toFixed(1)} ms a token`);
process.exit(ms[0] > 2 * ms[40] && ms[0] > 2 * ms.null ? 0 : 1);
JS
node measure.mjs "$maker"
