import { silent } from '../src/base/log.ts';
import { systemClock } from '../src/base/system.ts';
import { type LlamaEngine, createLlamaEngine } from '../src/engines/llama/engine.ts';
import type { ChatRequest } from '../src/wire/chat/chat.ts';
import { randomModelFile } from '../test/engines/llama/random-model.ts';
import { median } from './support/report.ts';
import type { Report, Workload } from './support/report.ts';

const size = 152_000;
const sequences = 32;
const maxTokens = 12;
const rounds = 3;

const schema = {
  type: 'object',
  properties: { text: { type: 'string' } },
  required: ['text'],
  additionalProperties: false,
};

/** Requests by name, and the numbers that each sampled token passes from llama.cpp to JavaScript. */
const cases: Record<string, { request: Partial<ChatRequest>; numbers: number }> = {
  'free text': { request: {}, numbers: 1 },
  'top_k 40': { request: { top_k: 40 }, numbers: 1 },
  'top_p 0.95': { request: { top_p: 0.95 }, numbers: 1 },
  json_schema: {
    request: {
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema, strict: true } },
    },
    numbers: 1,
  },
  logprobs: { request: { logprobs: true }, numbers: 2 },
  'top_logprobs 5': { request: { logprobs: true, top_logprobs: 5, max_tokens: 3 }, numbers: 2 * size },
};

/** Cost of sampling from a large vocabulary. */
export const vocabulary: Workload = {
  name: 'vocabulary',
  about: `${sequences} chats of ${maxTokens} tokens (3 with \`top_logprobs\`) at once on the embedded engine, with a tiny model whose vocabulary has ${size} tokens: time of a step, in which each chat gets a token, and the numbers that pass from llama.cpp to JavaScript.`,

  async run(): Promise<Report> {
    const words = Array.from({ length: size - 288 }, (_, n) => `w${n.toString(36)}`);
    const model = randomModelFile({ contextLength: 256, width: 64, layers: 1, words });
    const engine = createLlamaEngine({
      modelPath: model.path,
      sequences,
      contextSize: 256,
      threads: 1,
      flashAttention: false,
      log: silent,
      clock: systemClock,
    });
    const times = new Map(Object.keys(cases).map((name) => [name, [] as number[]]));
    try {
      await engine.start();
      await stepMs(engine, {});
      for (let round = 0; round < rounds; round++)
        for (const [name, { request }] of Object.entries(cases))
          times.get(name)!.push(await stepMs(engine, request));
    } finally {
      await engine.stop();
      model.remove();
    }
    return {
      figures: Object.entries(cases).flatMap(([name, { numbers }]) => [
        { name: `step, ${name}`, value: median(times.get(name)!), unit: 'ms' },
        { name: `numbers in a step, ${name}`, value: numbers * sequences },
      ]),
      notes: [
        `Medians of ${rounds} alternating rounds. A step evaluates the model, which is little but its output layer, and then samples on one thread.`,
      ],
    };
  },
};

/** Time of a step, with prompts so short that they are one step of their own. */
async function stepMs(engine: LlamaEngine, request: Partial<ChatRequest>): Promise<number> {
  const call = { signal: new AbortController().signal, priority: 'batch' } as const;
  const start = systemClock.monotonic();
  const answers = await Promise.all(
    Array.from({ length: sequences }, (_, n) => {
      const value: ChatRequest = {
        model: 'bench',
        messages: [{ role: 'user', content: String(n) }],
        max_tokens: maxTokens,
        temperature: 1,
        seed: n,
        ...request,
      };
      return engine.generate({ value, text: '' }, call);
    }),
  );
  const longest = Math.max(...answers.map(({ usage }) => usage.completion_tokens));
  return (systemClock.monotonic() - start) / longest;
}
