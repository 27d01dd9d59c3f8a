import { expect, it } from 'vitest';
import { chatRequest, createFakeEngine } from '../../test/support/fake-engine.ts';
import { estimatePrompt } from '../wire/chat/estimate-prompt.ts';
import { countPrompt } from './count-tokens.ts';

const said = (content: string) => chatRequest({ messages: [{ role: 'user', content }] }).value;

it("takes the engine's count, and estimates where it cannot tell", async () => {
  const engine = createFakeEngine();
  expect(await countPrompt(engine, said('hi'))).toBe(11);
  engine.countTokens = async () => undefined;
  expect(await countPrompt(engine, said('hi'))).toBe(estimatePrompt(said('hi')));
});
