// Runs many answers at once with the model at the given path and prints, as JSON, the number of sequences in each llama.cpp
// batch. Runs as its own process, because the library needs a single thread for sampling.
import { createIds } from '../../../src/base/ids.ts';
import { systemClock, systemRandom } from '../../../src/base/system.ts';
import { createLlamaInference } from '../../../src/engines/llama/inference/llama-inference.ts';
import { loadModel } from '../../../src/engines/llama/inference/loading/load.ts';

const [modelPath = ''] = process.argv.slice(2);
const sequences = 4;
const requests = 12;
const maxTokens = 32;

const loaded = await loadModel(
  { modelPath, sequences, contextSize: 512, threads: 1, flashAttention: false },
  { clock: systemClock },
);
const batches: number[] = [];
const context = await loaded.model.createContext({
  sequences,
  contextSize: 512,
  batchSize: loaded.context.batchSize,
  threads: 1,
  flashAttention: false,
  batching: {
    // Called before each batch with all waiting sequences.
    itemPrioritizationStrategy({ items, size }) {
      batches.push(items.length);
      if (items.reduce((sum, { tokens }) => sum + tokens.length, 0) > size)
        throw new Error('too much for a batch');
      return items.map((item) => ({ item, processAmount: item.tokens.length }));
    },
  },
});
const inference = createLlamaInference(
  { ...loaded, context },
  createIds(systemClock, systemRandom),
  systemRandom,
);

const onlyLetters = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`${69 + n}`, 100]));
const answers = Array.from({ length: requests }, (_, n) =>
  inference.generate(
    {
      model: 'random',
      messages: [{ role: 'user', content: `What came in on day ${n}?` }],
      max_tokens: maxTokens,
      logit_bias: onlyLetters,
    },
    {
      priority: 'batch',
      prefix: '',
      signal: new AbortController().signal,
      onDelta: undefined,
    },
  ),
);
await Promise.all(answers);
process.stdout.write(JSON.stringify(batches));
process.exit(0);
