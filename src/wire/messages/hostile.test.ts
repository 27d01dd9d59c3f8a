import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { checkChatRequest } from '../chat/request.ts';
import type { MessagesRequest } from './messages.ts';
import { checkMessagesRequest } from './request.ts';
import { toChatRequest } from './to-chat-request.ts';

/** A request that uses everything there is. */
const whole = {
  model: 'tiny',
  max_tokens: 10,
  system: [{ type: 'text', text: 'be kind', cache_control: { type: 'ephemeral' } }],
  messages: [
    { role: 'system', content: 'and brief' },
    { role: 'user', content: 'hi' },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm', signature: 'x' },
        { type: 'text', text: 'let me see' },
        { type: 'tool_use', id: 't1', name: 'look', input: { at: [1, { deep: null }] } },
      ],
    },
    {
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: 't1',
          is_error: false,
          content: [
            { type: 'text', text: 'seen' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } },
          ],
        },
        { type: 'document', title: 't', source: { type: 'text', data: 'd' } },
        { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'c' }] } },
        { type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'r' }] },
        { type: 'image', source: { type: 'url', url: 'data:image/png;base64,aGk=' } },
      ],
    },
  ],
  tools: [
    { name: 'look', description: 'd', input_schema: { type: 'object' }, strict: true },
    { type: 'web_search_20250305', name: 'web_search' },
  ],
  tool_choice: { type: 'tool', name: 'look', disable_parallel_tool_use: true },
  thinking: { type: 'enabled', budget_tokens: 1024, display: 'omitted' },
  output_config: { effort: 'low', format: { type: 'json_schema', schema: { type: 'object' } } },
  output_format: { type: 'json_schema', schema: { type: 'object' } },
  stop_sequences: ['END'],
  temperature: 1,
  top_p: 1,
  top_k: 1,
  stream: false,
  metadata: { user_id: 'u' },
};

type Path = (string | number)[];

function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, each]) => pathsOf(each, [...path, key]))];
}

const paths = pathsOf(whole).filter((path) => path.length > 0);

/** A copy with the value at `path` replaced; without one it is taken out. */
function damaged(path: Path, junk: unknown): unknown {
  const copy = structuredClone(whole) as unknown as Record<string | number, unknown>;
  let at = copy;
  for (const key of path.slice(0, -1)) at = at[key] as typeof copy;
  const last = path.at(-1)!;
  if (junk !== undefined) at[last] = junk;
  else if (Array.isArray(at)) at.splice(Number(last), 1);
  else delete at[last];
  return copy;
}

it('is read when nothing is wrong', () => {
  expect(checkMessagesRequest(whole)).toEqual([]);
  expect(checkChatRequest(toChatRequest(whole as unknown as MessagesRequest).chat)).toEqual([]);
});

it('with one thing missing, of another kind or in another place, is refused with a place or becomes a chat', () => {
  const elsewhere = fc
    .constantFrom(...paths)
    .map((path) => path.reduce<unknown>((at, key) => (at as never)[key], whole));
  const junk = fc.oneof(
    fc.constantFrom(
      undefined,
      null,
      '',
      'text',
      0,
      -1,
      Number.MAX_VALUE,
      true,
      [],
      {},
      [null],
      [[]],
      { type: 'text' },
      { type: 'image' },
    ),
    elsewhere,
    fc.jsonValue({ maxDepth: 2 }),
  );
  let refused = 0;
  let read = 0;
  fc.assert(
    fc.property(fc.constantFrom(...paths), junk, (path, value) => {
      const request = damaged(path, value);
      const faults = checkMessagesRequest(request);
      if (faults.length > 0) {
        refused += 1;
        for (const fault of faults) {
          expect(fault.code).toBe('validation_error');
          expect(fault.message.length).toBeLessThan(300);
        }
        return;
      }
      read += 1;
      const { chat } = toChatRequest(request as MessagesRequest);
      expect(checkChatRequest(JSON.parse(JSON.stringify(chat)))).toEqual([]);
    }),
    { numRuns: 1500 },
  );
  expect(Math.min(refused, read)).toBeGreaterThan(100);
});
