import { expect, it } from 'vitest';
import { chatRequest, createFakeEngine } from '../../test/support/fake-engine.ts';
import { createCountPrompt } from './count-tokens.ts';

const said = (content: string) => chatRequest({ messages: [{ role: 'user', content }] }).value;
const settle = () => new Promise((resolve) => setImmediate(resolve));

it("uses the engine's count, if it can count", async () => {
  const engine = createFakeEngine();
  const count = createCountPrompt(engine);
  expect(await count(said('hi'), 'a')).toBe(11);
  engine.countTokens = async () => undefined;
  expect(await count(said('hi'), 'a')).toBeUndefined();
});

it('rejects prompts that cannot fit the context, and no others', async () => {
  const engine = createFakeEngine();
  Object.assign(engine.capabilities, { contextLength: 10 });
  const count = createCountPrompt(engine);
  expect(await count(said(' '.repeat(1_280)), 'a')).toBe(11);
  await expect(count(said(' '.repeat(1_281)), 'a')).rejects.toMatchObject({
    code: 'context_length_exceeded',
    message: expect.stringMatching(/1281 bytes.*10 tokens.*at most 128 bytes/),
  });
});

it('counts embeddings inputs, which need not fit together', async () => {
  const engine = createFakeEngine();
  Object.assign(engine.capabilities, { contextLength: 10 });
  const count = createCountPrompt(engine);
  expect(await count({ model: 'm', input: [' '.repeat(1_280), ' '] }, 'a')).toBe(11);
  expect(await count({ model: 'm', input: 'x'.repeat(5_000_000) }, 'a')).toBeUndefined();
});

it('sends no megabytes to a server', async () => {
  const engine = createFakeEngine();
  Object.assign(engine.capabilities, { contextLength: null });
  const large = said('x'.repeat(5_000_000));
  expect(await createCountPrompt(engine)(large, 'a')).toBeUndefined();
});

it('counts a few at once, those of another org in between', async () => {
  const engine = createFakeEngine();
  const counting: (() => void)[] = [];
  engine.countTokens = () => new Promise((resolve) => void counting.push(() => resolve(1)));
  const count = createCountPrompt(engine);
  const done: string[] = [];
  const gone = new AbortController();
  const of = (org: string) => void count(said(org), org).then(() => done.push(org));
  for (let n = 0; n < 20; n++) of('a');
  const left = count(said('a'), 'a', gone.signal);
  of('b');
  await settle();
  expect(counting.length).toBe(3);
  counting[2]!();
  await settle();
  expect(done).toEqual(['b']);
  gone.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
  for (let n = 0; n < 20; n++) {
    for (const finish of counting.splice(0)) finish();
    await settle();
  }
  expect(done.length).toBe(21);
});
