// node-llama-cpp alone in a process: no template, protocol or supervision. Its argument is a JSON object with the model
// path, sequences and context. The parent sends a list of prompts and gets the number of generated tokens.
import { getLlama, LlamaLogLevel, TokenBias } from 'node-llama-cpp';
import type { LlamaContextSequence, Token } from 'node-llama-cpp';

export interface BareOptions {
  path: string;
  sequences: number;
  context: number;
  /** Letter tokens that never end an answer, so that each answer has the maximum length. */
  onlyLetters: number[];
}

export interface BareWork {
  prompts: string[];
  maxTokens: number;
}

const {
  path,
  sequences,
  context: contextSize,
  onlyLetters,
} = JSON.parse(process.argv[2] ?? '') as BareOptions;
const llama = await getLlama({
  gpu: false,
  build: 'never',
  progressLogs: false,
  maxThreads: 0,
  logLevel: LlamaLogLevel.error,
});
const model = await llama.loadModel({ modelPath: path, gpuLayers: 0, ignoreMemorySafetyChecks: true });
const context = await model.createContext({
  sequences,
  contextSize,
  threads: 1,
  batchSize: 512 + sequences,
  flashAttention: false,
  ignoreMemorySafetyChecks: true,
});
const tokenBias = new TokenBias(model.tokenizer);
for (const letter of onlyLetters) tokenBias.set(letter as Token, { logit: 100 });
const free = Array.from({ length: sequences }, () => context.getSequence());

async function generate(sequence: LlamaContextSequence, prompt: Token[], maxTokens: number): Promise<number> {
  await sequence.clearHistory();
  // Equal to the engine; the library has another default for top-p.
  const options = { temperature: 1, topK: 40, topP: 1, seed: 7, tokenBias };
  let text = '';
  let count = 0;
  for await (const token of sequence.evaluate(prompt, options)) {
    text += model.detokenize([token]);
    if (++count >= maxTokens) break;
  }
  if (text.length === 0) throw new Error('no text');
  return count;
}

process.on('message', ({ prompts, maxTokens }: BareWork) => {
  const left = prompts.map((prompt) => model.tokenize(prompt, true)).values();
  let tokens = 0;
  const work = async (sequence: LlamaContextSequence) => {
    for (const prompt of left) {
      const count = await generate(sequence, prompt, maxTokens);
      tokens += count;
    }
  };
  void Promise.all(free.map(work)).then(() => process.send?.(tokens));
});
console.log('ready');
