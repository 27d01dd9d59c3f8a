import { describe, expect, it } from 'vitest';
import { chatRequest, chatResponse, createFakeEngine } from '../../test/support/fake-engine.ts';
import { ApiError } from '../core/errors.ts';
import type { Promised } from './conformity.ts';
import { runPromised } from './enforce.ts';

const call = { signal: new AbortController().signal, priority: 'batch' as const };
const good = chatResponse('good');
const bad = chatResponse('bad');
const promised: Promised = {
  async check(response) {
    if (response.choices[0]?.message.content === 'bad') throw new ApiError('schema_not_met', 'bad');
  },
};

describe('runPromised', () => {
  it('gives the first answer that keeps the promise', async () => {
    const engine = createFakeEngine();
    engine.answers = [good, bad];
    expect(await runPromised(engine, chatRequest(), promised, call)).toBe(good);
    expect(engine.asked).toHaveLength(1);
    expect(engine.asked[0]?.call).toBe(call);
  });

  it('tries once more, and no more', async () => {
    const engine = createFakeEngine();
    engine.answers = [bad, good];
    expect(await runPromised(engine, chatRequest(), promised, call)).toBe(good);
    engine.answers = [bad];
    await expect(runPromised(engine, chatRequest(), promised, call)).rejects.toMatchObject({
      code: 'schema_not_met',
    });
    expect(engine.asked).toHaveLength(4);
  });

  it('does not ask again where nothing was promised, or where the engine failed', async () => {
    const engine = createFakeEngine();
    engine.answers = [bad];
    expect(await runPromised(engine, chatRequest(), null, call)).toBe(bad);
    engine.answers = [new ApiError('upstream_error', 'broken')];
    await expect(runPromised(engine, chatRequest(), promised, call)).rejects.toMatchObject({
      code: 'upstream_error',
    });
    expect(engine.asked).toHaveLength(2);
  });

  it('does not take a fault of its own for a broken promise', async () => {
    const engine = createFakeEngine();
    engine.answers = [bad];
    const broken: Promised = {
      async check() {
        throw new TypeError('a bug');
      },
    };
    await expect(runPromised(engine, chatRequest(), broken, call)).rejects.toThrow('a bug');
    expect(engine.asked).toHaveLength(1);
  });

  const forced = chatRequest({
    tools: ['a', 'b'].map((name) => ({ type: 'function', function: { name } })),
    tool_choice: { type: 'function', function: { name: 'b' } },
  });

  it('sends only the forced tool where an engine cannot be told which one', async () => {
    const engine = createFakeEngine({ forcedTool: 'filter' });
    engine.answers = [good];
    await runPromised(engine, forced, null, call);
    const { request } = engine.asked[0]!;
    expect(request.value).toMatchObject({ tool_choice: 'required', tools: [{ function: { name: 'b' } }] });
    expect(JSON.parse(request.text)).toEqual(request.value);
  });

  it('forwards every other request as it came', async () => {
    for (const [capability, request] of [
      ['native', forced],
      ['filter', chatRequest({ tool_choice: 'auto' })],
      ['filter', chatRequest()],
    ] as const) {
      const engine = createFakeEngine({ forcedTool: capability });
      engine.answers = [good];
      await runPromised(engine, request, null, call);
      expect(engine.asked[0]?.request).toBe(request);
    }
  });
});
