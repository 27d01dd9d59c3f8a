import { describe, expect, it } from 'vitest';
import { ApiError, unavailable, permanent } from '../core/errors.ts';
import { createCatalog, type Model } from '../core/model.ts';
import type { Caller } from '../core/org.ts';
import { withFallbacks } from './fallbacks.ts';
import type { Capacity } from './capacity.ts';
import type { Inference, InteractiveCall } from './inference.ts';

const gone = new ApiError('upstream_unreachable', 'It is gone.', { blame: unavailable });
const refused = new ApiError('request_refused', 'No such field.', { blame: permanent });
const call = {
  caller: { orgId: 'org_1', keyId: 'key_1', scopes: [], models: null } satisfies Caller,
  signal: new AbortController().signal,
} as unknown as InteractiveCall;

/** Answers of each model in pieces; an error among them is thrown. */
type Script = Readonly<Record<string, readonly (string | Error)[]>>;

function made(script: Script) {
  const asked: string[] = [];
  const models = ['a', 'b', 'c'].map((id): Model => {
    const prices = { input: 0, cachedInput: 0, output: 0 };
    const fallbacks = id === 'a' ? ['b', 'c'] : [];
    return { id, aliases: [], serves: ['chat', 'completions'], prices, createdAt: 0, fallbacks };
  });
  async function* stream({ value }: { value: { model: string } }) {
    asked.push(value.model);
    for (const piece of script[value.model] ?? [])
      if (piece instanceof Error) throw piece;
      else yield piece;
  }
  const whole = async (request: { value: { model: string } }) => {
    let text = '';
    for await (const piece of stream(request)) text += piece;
    return text;
  };
  const scripted = { chat: whole, completions: whole, chatStream: stream, completionsStream: stream };
  const inference = withFallbacks({
    inference: scripted as unknown as Inference,
    capacity: {} as Capacity,
    catalog: createCatalog(models),
  });
  return { inference, asked };
}

const request = { value: { model: 'a' }, text: '{"model":"a"}' } as never;

async function read(pieces: AsyncIterable<unknown>) {
  const told: unknown[] = [];
  try {
    for await (const piece of pieces) told.push(piece);
    return { told, error: null };
  } catch (error) {
    return { told, error };
  }
}

describe('the fallbacks of a model', () => {
  it.each(['chatStream', 'completionsStream'] as const)(
    'are asked before the first piece of a %s, and never after it',
    async (way) => {
      const early = made({ a: [gone], b: [gone], c: ['all', ' of it'] });
      expect(await read(early.inference[way](request, call))).toEqual({
        told: ['all', ' of it'],
        error: null,
      });
      expect(early.asked).toEqual(['a', 'b', 'c']);

      const late = made({ a: ['begun', gone], b: ['another'] });
      expect(await read(late.inference[way](request, call))).toEqual({ told: ['begun'], error: gone });
      expect(late.asked).toEqual(['a']);

      const second = made({ a: [gone], b: ['begun', gone], c: ['another'] });
      expect(await read(second.inference[way](request, call))).toEqual({ told: ['begun'], error: gone });
      expect(second.asked).toEqual(['a', 'b']);
    },
  );

  it.each(['chat', 'completions'] as const)(
    'answer a %s in turn, or its first error is told',
    async (way) => {
      const answered = made({ a: [gone], b: ['fine'] });
      expect(await answered.inference[way](request, call)).toBe('fine');
      const other = new ApiError('upstream_error', 'It failed.', { blame: unavailable });
      const failed = made({ a: [gone], b: [other], c: [other] });
      await expect(failed.inference[way](request, call)).rejects.toBe(gone);
      expect(failed.asked).toEqual(['a', 'b', 'c']);
    },
  );

  it('are not used for a fault of the request', async () => {
    const { inference, asked } = made({ a: [refused], b: ['fine'] });
    await expect(inference.chat(request, call)).rejects.toBe(refused);
    expect(await read(inference.chatStream(request, call))).toEqual({ told: [], error: refused });
    expect(asked).toEqual(['a', 'a']);
  });
});
