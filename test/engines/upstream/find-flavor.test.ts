import { afterEach, describe, expect, it } from 'vitest';
import { createManualClock } from '../../support/manual-clock.ts';
import { complete, send, startFakeUpstream } from '../../support/fake-upstream.ts';
import type { Responder, FakeUpstream } from '../../support/fake-upstream.ts';
import { ask, call, engineAt } from './setup.ts';

const open: { close?(): Promise<void>; stop?(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await (one.stop?.() ?? one.close?.());
});

/** Server with these models. */
const serving =
  (...data: unknown[]): Responder =>
  (response, received) =>
    received.path === '/v1/models'
      ? send(response, 200, { object: 'list', data })
      : complete()(response, received);

/** Server that records requests for its models, too. */
async function serverOf(answer: Responder): Promise<FakeUpstream> {
  const fake = await startFakeUpstream(answer);
  fake.models = (response, received) => fake.answer(response, received);
  return fake;
}

async function found(answer: Responder) {
  const fake = await serverOf(answer);
  const engine = engineAt(fake.url, { flavor: 'auto' });
  open.push(fake, engine);
  await engine.start();
  return { fake, engine };
}

/** Traits that identify a flavor. */
const traitsOf = { vllm: 'strict', 'llama-server': 'filter', ollama: 'none' } as const;

describe('an upstream whose flavor is not configured', () => {
  it.each([
    ['vllm', traitsOf.vllm, 'shared'],
    ['sglang', 'native', 'shared'],
    ['llamacpp', traitsOf['llama-server'], 'slot'],
    ['library', traitsOf.ollama, 'slot'],
    ['offpeak', 'exact', 'shared'],
    ['unknown-owner', 'native', 'shared'],
    ['toString', 'native', 'shared'],
  ])('is detected by the owner of its models: %s', async (owned_by, forcedTool, prefixCache) => {
    const { fake, engine } = await found(
      serving({ id: 'other', owned_by: 'x' }, { id: 'real-name', owned_by }),
    );
    expect(engine.capabilities).toMatchObject({ forcedTool, prefixCache });
    expect(fake.received.map(({ path, headers }) => [path, headers['authorization']])).toEqual([
      ['/v1/models', 'Bearer secret-upstream-key'],
    ]);
    await engine.stop();
    await engine.start();
    expect(fake.received).toHaveLength(1);
    // The same response has its state, so one request suffices.
    const requests = () => fake.received.filter(({ path }) => path === '/v1/models').length;
    await engine.probe().catch(() => undefined);
    expect(requests()).toBe(1);
    await engine.probe().catch(() => undefined);
    expect(requests()).toBe(forcedTool === 'filter' || forcedTool === 'none' ? 1 : 2);
  });

  it('is treated by its flavor once that is detected', async () => {
    const { fake, engine } = await found(serving({ id: 'alias', owned_by: 'vllm' }));
    await engine.generate(ask({ reasoning_effort: 'none' }), call());
    expect(JSON.parse(fake.received.at(-1)!.text)).toHaveProperty('chat_template_kwargs');
  });

  it.each<[string, Responder]>([
    ['has no such list', (response) => send(response, 404, 'nothing')],
    ['wants another key', (response) => send(response, 401, {})],
    ['lists nothing', serving()],
    ['lists nonsense', serving(null, 5)],
  ])('is generic if it %s', async (_, answer) => {
    const { engine } = await found(answer);
    expect(engine.capabilities).toMatchObject({ inputs: ['image', 'audio', 'file'], forcedTool: 'native' });
  });

  it.each([
    ['is not ready', 503],
    ['is too busy', 429],
  ])('is probed again later when it %s', async (_, code) => {
    const clock = createManualClock();
    const fake = await serverOf((response) => send(response, code, {}));
    const engine = engineAt(fake.url, { flavor: 'auto', clock });
    open.push(fake, engine);
    await engine.start();
    expect(engine.capabilities.forcedTool).toBe('native');
    fake.answer = serving({ id: 'real-name', owned_by: 'llamacpp' });
    await clock.advance(30_000);
    await expect.poll(() => engine.capabilities.forcedTool).toBe('filter');
  });

  it('delays the start by at most three seconds if it does not reply', async () => {
    const clock = createManualClock();
    const fake = await serverOf(() => {});
    const engine = engineAt(fake.url, { flavor: 'auto', clock });
    open.push(fake, engine);
    const starting = engine.start();
    await expect.poll(() => fake.received.length).toBe(1);
    await clock.advance(3_000);
    await starting;
    expect(engine.capabilities.forcedTool).toBe('native');
  });

  it('is not probed after a stop, even in the middle of an answer', async () => {
    const clock = createManualClock();
    const fake = await serverOf(() => {});
    const engine = engineAt(fake.url, { flavor: 'auto', clock });
    open.push(fake, engine);
    const starting = engine.start();
    await expect.poll(() => fake.received.length).toBe(1);
    await engine.stop();
    await starting;
    expect(clock.pending).toBe(0);
  });

  it('is not probed where its flavor is configured', async () => {
    const fake = await startFakeUpstream();
    const engine = engineAt(fake.url, { flavor: 'ollama' });
    open.push(fake, engine);
    await engine.start();
    expect(fake.received).toEqual([]);
  });
});
