import { afterAll, beforeAll, expect, it } from 'vitest';
import { fileURLToPath } from 'node:url';
import { createIds } from '../../../src/base/ids.ts';
import { silent } from '../../../src/base/log.ts';
import { systemClock, systemRandom } from '../../../src/base/system.ts';
import type { Engine } from '../../../src/engines/engines.ts';
import { createLlamaEngine } from '../../../src/engines/llama/engine.ts';

const rounds = 150;
/** Facts that the tiny model was trained on. */
const known: [string, string][] = [
  ['Capital of France?', 'Paris'],
  ['Capital of Sweden?', 'Stockholm'],
  ['What is the capital of Poland?', 'Warsaw'],
  ['Tell me the capital of Italy.', 'Rome'],
  ['7 + 8 = ?', '15'],
  ['Sentiment of: This movie is great.', 'positive'],
  ['Classify the sentiment: The meal was awful!', 'negative'],
  ['What is 2 plus 3?', '5'],
];

let engine: Engine;

beforeAll(async () => {
  engine = createLlamaEngine({
    modelPath: fileURLToPath(new URL('../../../models/offpeak-tiny.gguf', import.meta.url)),
    contextSize: 'auto',
    sequences: 8,
    threads: 1,
    flashAttention: false,
    clock: systemClock,
    ids: createIds(systemClock, systemRandom),
    log: silent,
  });
  await engine.start();
});

afterAll(() => engine.stop());

async function ask(content: string): Promise<string | null> {
  const value = {
    model: 'm',
    messages: [{ role: 'user' as const, content }],
    temperature: 0,
    max_tokens: 16,
  };
  const call = { signal: new AbortController().signal, priority: 'batch' as const };
  const body = await engine.generate({ value, text: JSON.stringify(value) }, call);
  return body.choices[0]?.message.content ?? null;
}

it('answers each request with its own tokens, however many run side by side', async () => {
  // Each worker sends requests at its own pace, so that prompts and answers of all lengths share batches.
  const wrong: string[] = [];
  const worker = async (start: number) => {
    for (let i = 0; i < rounds; i++) {
      const [prompt, expected] = known[(start + i * (start + 1)) % known.length] ?? ['', ''];
      const answer = await ask(prompt);
      if (answer !== expected) wrong.push(`${prompt} ${answer ?? ''}`);
    }
  };
  await Promise.all(known.map((_, start) => worker(start)));
  expect(wrong).toEqual([]);
});
