import { expect, it } from 'vitest';
import { chatRequest, createFakeEngine } from '../../test/support/fake-engine.ts';
import { countPrompt, estimatePrompt } from './count-tokens.ts';

const said = (content: string) => chatRequest({ messages: [{ role: 'user', content }] }).value;

it("takes the engine's count, and estimates where it cannot tell", async () => {
  const engine = createFakeEngine();
  expect(await countPrompt(engine, said('hi'))).toBe(11);
  engine.countTokens = async () => undefined;
  expect(await countPrompt(engine, said('hi'))).toBe(estimatePrompt(said('hi')));
});

it('estimates a token for four bytes, tools among them', () => {
  const empty = estimatePrompt(said(''));
  expect(estimatePrompt(said('x'.repeat(4_000))) - empty).toBe(1_000);
  expect(estimatePrompt(said('ü'.repeat(2_000))) - empty).toBe(1_000);
  const parameters = { type: 'object', description: 'x'.repeat(400) };
  const tools = [{ type: 'function' as const, function: { name: 'a', parameters } }];
  expect(estimatePrompt({ ...said(''), tools })).toBeGreaterThan(empty + 100);
});

it('counts a picture by the piece, not by its bytes', () => {
  const image_url = { url: `data:image/png;base64,${'A'.repeat(1_000_000)}` };
  const request = chatRequest({
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url }] }],
  }).value;
  expect(estimatePrompt(request)).toBeGreaterThan(1_000);
  expect(estimatePrompt(request)).toBeLessThan(1_100);
});
