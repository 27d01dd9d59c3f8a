import { expect, it } from 'vitest';
import type { ChatRequest, ContentPart } from '../chat.ts';
import { estimatePrompt } from './estimate-prompt.ts';

const asking = (content: string | ContentPart[]): ChatRequest => ({
  model: 'm',
  messages: [{ role: 'user', content }],
});
const said = asking;

it('estimates one token per four bytes, including tools', () => {
  const empty = estimatePrompt(said(''));
  expect(estimatePrompt(said('x'.repeat(4_000))) - empty).toBe(1_000);
  expect(estimatePrompt(said('ü'.repeat(2_000))) - empty).toBe(1_000);
  const parameters = { type: 'object', description: 'x'.repeat(400) };
  const tools = [{ type: 'function' as const, function: { name: 'a', parameters } }];
  expect(estimatePrompt({ ...said(''), tools })).toBeGreaterThan(empty + 100);
});

const data = 'A'.repeat(1_000_000);
it.each<ContentPart>([
  { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } },
  { type: 'input_audio', input_audio: { data, format: 'wav' } },
  { type: 'file', file: { file_data: data, filename: 'a.pdf' } },
])('counts $type by the piece, not by its bytes', (part) => {
  expect(estimatePrompt(asking([part]))).toBeGreaterThan(1_000);
  expect(estimatePrompt(asking([part]))).toBeLessThan(1_100);
});

it('counts media-like text in the parameters of a tool as text', () => {
  const parameters = {
    properties: { file: { type: 'string' }, url: { type: 'string' }, data: { const: data } },
  };
  const tools = [{ type: 'function' as const, function: { name: 'a', parameters } }];
  expect(estimatePrompt({ ...asking('hi'), tools })).toBeGreaterThan(250_000);
});

it('counts the JSON of all messages, whatever members they have', () => {
  const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value)).length;
  const plain = asking('Größe "8" 🚀\n'.repeat(20));
  const named = { ...plain, messages: [{ role: 'user', name: 'x'.repeat(400), content: 'a' }] };
  for (const chat of [plain, named as ChatRequest])
    expect(estimatePrompt(chat)).toBe(Math.ceil(bytes([chat.messages, []]) / 4));
});
