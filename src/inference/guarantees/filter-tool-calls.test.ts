import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chatResponse } from '../../../test/support/fake-engine.ts';
import type { ChatChunks, ChatResponse } from '../../wire/chat/chat.ts';
import { toChunks } from '../../wire/chat/stream/to-chunks.ts';
import { filterToolCalls, filterStreamedToolCalls } from './filter-tool-calls.ts';

const outcomeOf = async <T>(work: () => Promise<T> | T) => {
  try {
    return await work();
  } catch (error) {
    return (error as Error).message;
  }
};

/** The message that a client assembles from a stream. */
async function collected(lists: ChatChunks) {
  const choices: { content: string; calls: [string, string][]; finish: string }[] = [];
  for await (const chunks of lists) {
    for (const { index, delta, finish_reason: finish } of chunks.flatMap((chunk) => chunk.choices)) {
      const choice = (choices[index] ??= { content: '', calls: [], finish: '' });
      choice.content += delta.content ?? '';
      choice.finish = finish ?? choice.finish;
      for (const { index: at, function: piece } of delta.tool_calls ?? []) {
        const call = (choice.calls[at] ??= ['', '']);
        call[0] += piece?.name ?? '';
        call[1] += piece?.arguments ?? '';
      }
    }
  }
  return choices;
}

const plain = ({ choices }: ChatResponse) =>
  choices.map(({ message, finish_reason: finish }) => ({
    content: message.content ?? '',
    calls: (message.tool_calls ?? []).map((call) => [call.function.name, call.function.arguments]),
    finish,
  }));

async function* stream(response: ChatResponse) {
  yield [...toChunks(response)];
}

describe('the calls that are kept', () => {
  const answer = fc.record({
    content: fc.constantFrom(null, '', 'text'),
    calls: fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('{}', '{"n":1}')), {
      maxLength: 4,
    }),
    finish: fc.constantFrom('stop' as const, 'length' as const, 'tool_calls' as const),
  });
  const rule = fc.record({
    names: fc.constantFrom(null, new Set(['a']), new Set(['a', 'b']), new Set<string>()),
    maxCalls: fc.constantFrom(0, 1, 2, Infinity),
  });

  it('are the same in a stream, and as many as the rule allows', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(answer, { minLength: 1, maxLength: 3 }), rule, async (answers, given) => {
        const response = chatResponse(null);
        response.choices = answers.map(({ content, calls, finish }, index) => ({
          ...chatResponse(content, { finish, ...(calls.length > 0 && { calls }) }).choices[0]!,
          index,
        }));
        const whole = await outcomeOf(() => plain(filterToolCalls(response, given)));
        const live = await outcomeOf(() => collected(filterStreamedToolCalls(stream(response), given)));
        expect(live).toEqual(whole);
        if (typeof whole === 'string') return;
        for (const { calls, content, finish } of whole) {
          expect(calls.length).toBeLessThanOrEqual(given.maxCalls);
          for (const [name] of calls) expect(given.names?.has(name!) ?? true).toBe(true);
          if (finish !== 'length') expect(finish).toBe(calls.length > 0 ? 'tool_calls' : 'stop');
          expect(content).toMatch(/^(text)?$/);
        }
      }),
      { numRuns: 300 },
    );
  });
});
