import { describe, expect, it } from 'vitest';
import { chatResponse } from '../../../../test/support/fake-engine.ts';
import type { ChatChunk } from '../chat.ts';
import { toChunks } from './to-chunks.ts';

describe('chunksOf', () => {
  const deltas = (chunks: ChatChunk[]) => chunks.map((chunk) => chunk.choices[0]?.delta);

  it('has the pieces and the order of a stream, with the usage last', () => {
    const response = chatResponse('hi', {
      calls: [
        ['f', '{}'],
        ['g', '[]'],
      ],
      finish: 'tool_calls',
    });
    const [{ message } = { message: undefined }] = response.choices;
    message!.reasoning = message!.reasoning_content = 'because';
    message!.refusal = 'no';
    const chunks = [...toChunks(response)];
    expect(deltas(chunks)).toEqual([
      { role: 'assistant', content: '' },
      { reasoning: 'because', reasoning_content: 'because' },
      { content: 'hi' },
      { refusal: 'no' },
      { tool_calls: [{ index: 0, id: 'call_0', type: 'function', function: { name: 'f', arguments: '' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{}' } }] },
      { tool_calls: [{ index: 1, id: 'call_1', type: 'function', function: { name: 'g', arguments: '' } }] },
      { tool_calls: [{ index: 1, function: { arguments: '[]' } }] },
      {},
      undefined,
    ]);
    expect(chunks.map((chunk) => chunk.choices[0]?.finish_reason).slice(-3)).toEqual([
      null,
      'tool_calls',
      undefined,
    ]);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 12 } });
    expect(chunks.every((chunk) => chunk.object === 'chat.completion.chunk')).toBe(true);
  });

  it('has the pieces of every choice, and log probabilities with the text', () => {
    const response = chatResponse('hi');
    const logprobs = { content: [], refusal: null };
    response.choices[0] = { ...response.choices[0]!, logprobs, stop_reason: 'END' };
    response.choices.push({ ...response.choices[0], index: 1 });
    const choices = [...toChunks(response)].flatMap((chunk) => chunk.choices);
    expect(choices.map(({ index }) => index)).toEqual([0, 0, 0, 1, 1, 1]);
    expect(choices.map((choice) => choice.logprobs)).toEqual([
      undefined,
      logprobs,
      undefined,
      undefined,
      logprobs,
      undefined,
    ]);
    expect(choices.map((choice) => choice.stop_reason)).toContain('END');
  });
});
