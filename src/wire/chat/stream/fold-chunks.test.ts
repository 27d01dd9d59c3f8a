import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { chatResponse } from '../../../../test/support/fake-engine.ts';
import type { ChatChunk, ChatResponse, TokenLogprob } from '../chat.ts';
import { toChunks } from './to-chunks.ts';
import { foldChunks } from './fold-chunks.ts';

async function* together(chunks: ChatChunk[], size: number) {
  for (let at = 0; at < chunks.length; at += size) yield chunks.slice(at, at + size);
}

const token = fc
  .string()
  .map((text): TokenLogprob => ({ token: text, logprob: -0.5, bytes: null, top_logprobs: [] }));
const answer = fc.record({
  content: fc.string(),
  reasoning: fc.option(fc.string({ minLength: 1 })),
  calls: fc.array(fc.tuple(fc.string({ minLength: 1 }), fc.json()), { maxLength: 3 }),
  logprobs: fc.option(fc.array(token, { minLength: 1 })),
  stop: fc.option(fc.constant('END')),
  finish: fc.constantFrom('stop', 'length', 'tool_calls'),
});

it('equals the answer that was cut into chunks', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(answer, { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 1, max: 9 }),
      async (list, size) => {
        const choices = list.map(({ content, reasoning, calls, logprobs, stop, finish }, index) => {
          const [choice] = chatResponse(content, { calls, finish: finish as 'stop' }).choices;
          if (calls.length === 0) delete choice!.message.tool_calls;
          if (reasoning !== null) choice!.message.reasoning = choice!.message.reasoning_content = reasoning;
          // Chunks that were made of an answer carry them with its text.
          choice!.logprobs = logprobs && content ? { content: logprobs, refusal: null } : null;
          return { ...choice!, index, ...(stop !== null && { stop_reason: stop }) };
        });
        const whole: ChatResponse = { ...chatResponse(''), choices };
        expect(await foldChunks(together([...toChunks(whole)], size))).toEqual(whole);
      },
    ),
  );
});
