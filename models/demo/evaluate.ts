/**
 * Sends the held-out chats to a model through the embedded engine and prints the share of exact matches per task:
 *
 *   node models/demo/evaluate.ts [model.gguf]
 *
 * Exits with 1 when a task is below its floor. `train.py` writes `held-out.jsonl`, whose phrasings, names and sentences are not
 * in the training data.
 */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { silent } from '../../src/base/log.ts';
import { systemClock } from '../../src/base/system.ts';
import { createLlamaEngine } from '../../src/engines/llama/engine.ts';
import type { ChatMessage, ChatRequest } from '../../src/wire/chat/chat.ts';

interface HeldOut {
  task: string;
  tools: [name: string, parameters: string[]][];
  messages: [role: ChatMessage['role'], content: string][];
  answer: string;
}

/** Minimum share of exact matches for these tasks. Other tasks are only reported. */
const floors: Record<string, number> = {
  sentiment: 0.95,
  topic: 0.95,
  language: 0.95,
  capitals: 0.95,
  facts: 0.95,
  sums: 0.95,
  extraction: 0.9,
  'tool calls': 0.95,
  repeat: 0.7,
};

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const modelPath = process.argv[2] ?? here('../offpeak-tiny.gguf');
const chats = readFileSync(here('held-out.jsonl'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as HeldOut);

const engine = createLlamaEngine({
  modelPath,
  sequences: 8,
  contextSize: 'auto',
  threads: 1,
  flashAttention: false,
  log: silent,
  clock: systemClock,
});

function requestOf({ tools, messages }: HeldOut): ChatRequest {
  return {
    model: 'demo',
    temperature: 0,
    max_tokens: 96,
    messages: messages.map(([role, content]) => ({ role, content })),
    ...(tools.length > 0 && {
      tools: tools.map(([name, parameters]) => ({
        type: 'function' as const,
        function: {
          name,
          parameters: {
            type: 'object',
            properties: Object.fromEntries(parameters.map((key) => [key, {}])),
            required: parameters,
          },
        },
      })),
    }),
  };
}

/** Returns the model's answer as text, with a tool call in the form of the training data. */
async function answerTo(chat: HeldOut): Promise<string> {
  const value = requestOf(chat);
  const call = { signal: new AbortController().signal, priority: 'batch' as const };
  const body = await engine.generate({ value, text: JSON.stringify(value) }, call);
  const { content, tool_calls: calls } = body.choices[0]!.message;
  const [first] = calls ?? [];
  if (!first) return content ?? '';
  const { name, arguments: args } = first.function;
  return `<tool_call>{"name":${JSON.stringify(name)},"arguments":${args}}</tool_call>`;
}

await engine.start();
const scores = new Map<string, { right: number; all: number }>();
const wrong: string[] = [];
await Promise.all(
  chats.map(async (chat) => {
    const said = await answerTo(chat);
    const score = scores.get(chat.task) ?? { right: 0, all: 0 };
    scores.set(chat.task, score);
    score.all++;
    if (said === chat.answer) score.right++;
    else wrong.push(`${chat.task}: ${chat.messages.at(-1)?.[1]} => ${said} (expected ${chat.answer})`);
  }),
);
await engine.stop();

let failed = false;
for (const [task, { right, all }] of scores) {
  const floor = floors[task];
  const share = right / all;
  const missed = floor !== undefined && share < floor;
  failed ||= missed;
  const against = floor === undefined ? '' : ` (floor ${floor}${missed ? ', MISSED' : ''})`;
  console.log(`${task.padEnd(16)}${share.toFixed(3)} of ${all}${against}`);
}
for (const line of wrong.slice(0, 20)) console.log(`  ${line}`);
process.exitCode = failed ? 1 : 0;
