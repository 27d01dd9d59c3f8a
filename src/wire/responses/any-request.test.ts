import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { checkChatRequest } from '../chat/request.ts';
import { checkResponsesRequest } from './request.ts';
import { newResponse } from './response-body.ts';
import type { ResponsesRequest } from './responses.ts';
import { storedItems } from './stored-items.ts';
import { toChatRequest } from './to-chat-request.ts';

const id = `resp_${'0'.repeat(32)}`;

/** What careless clients send where something else belongs. */
const anything = fc.oneof(
  fc.constantFrom(
    null,
    '',
    'x',
    0,
    -1,
    true,
    [],
    {},
    [{}],
    ['x'],
    [null],
    { type: 'function' },
    { type: null },
  ),
  fc.jsonValue({ maxDepth: 2 }),
);

/** Mostly what belongs there. */
const mostly = (...good: unknown[]) =>
  fc.oneof({ weight: 24, arbitrary: fc.constantFrom(...good) }, { weight: 1, arbitrary: anything });

const some = (model: Record<string, fc.Arbitrary<unknown>>, requiredKeys: string[] = []) =>
  fc.oneof({ weight: 24, arbitrary: fc.record(model, { requiredKeys }) }, { weight: 1, arbitrary: anything });

const listOf = (each: fc.Arbitrary<unknown>) =>
  fc.oneof(
    { weight: 24, arbitrary: fc.array(each, { minLength: 1, maxLength: 3 }) },
    { weight: 1, arbitrary: anything },
  );

const parts = fc.oneof(
  fc.constant('said'),
  listOf(
    fc.oneof(
      some({ type: mostly('input_text', 'output_text', 'text'), text: mostly('a', '') }, ['type', 'text']),
      some({ type: fc.constant('refusal'), refusal: mostly('No.') }, ['type', 'refusal']),
      some({ type: fc.constant('input_image'), image_url: mostly('data:,x'), detail: mostly('low', null) }, [
        'type',
        'image_url',
      ]),
      some({ type: fc.constant('input_file'), file_data: mostly('data:,x') }, ['type', 'file_data']),
    ),
  ),
);

const item = fc.oneof(
  some({ type: mostly('message', null), role: mostly('user', 'assistant', 'system'), content: parts }, [
    'role',
    'content',
  ]),
  some(
    {
      type: fc.constant('function_call'),
      call_id: mostly('c'),
      name: mostly('f'),
      arguments: mostly('{}', '{'),
      id: mostly('fc_1', null),
    },
    ['type', 'call_id', 'name', 'arguments'],
  ),
  some(
    { type: fc.constant('reasoning'), summary: mostly([{ type: 'summary_text', text: 'hm' }], [], null) },
    ['type'],
  ),
  some({ type: fc.constant('reasoning'), content: mostly([{ text: 'hm' }], [{}], null) }, ['type']),
  some({ type: fc.constant('web_search_call'), content: anything, role: anything }, ['type']),
);

const named = {
  type: fc.constant('function'),
  name: mostly('f', 'g'),
  parameters: mostly({ type: 'object' }, null),
};
const request = fc.record(
  {
    input: listOf(item),
    instructions: mostly('Be kind.', '', null),
    tools: listOf(
      fc.oneof(
        some(named, ['type', 'name']),
        some({ type: fc.constant('function'), function: some(named, ['name']) }, ['type', 'function']),
        some({ type: mostly('web_search', 'custom'), name: anything, function: anything }, ['type']),
      ),
    ),
    tool_choice: mostly('auto', 'none', null, {
      type: 'allowed_tools',
      mode: 'auto',
      tools: [{ type: 'x' }],
    }),
    text: mostly(null, {}, { format: { type: 'json_object' }, verbosity: 'low' }, { format: null }),
    reasoning: mostly(null, {}, { effort: 'low' }),
    include: mostly([], null, ['message.output_text.logprobs']),
    top_logprobs: mostly(0, 3, null),
    metadata: mostly({}, null, { a: 'b' }),
    parallel_tool_calls: mostly(true, false, null),
    max_output_tokens: mostly(1, null),
  },
  { requiredKeys: ['input'] },
);

it('any request is refused with its faults, or becomes a chat request that our own door takes', () => {
  let taken = 0;
  fc.assert(
    fc.property(request, (more) => {
      const given = { model: 'm', ...more } as unknown as ResponsesRequest;
      const faults = checkResponsesRequest(given);
      for (const { param } of faults) expect(param).toMatch(/^[a-z]/);
      if (faults.length > 0) return;
      const items = storedItems(given.input, id).map((each, n) => ({ item: each, path: `input[${n}]` }));
      const { chat } = toChatRequest(given, items);
      newResponse(given, { id, createdAt: 1, model: 'm', status: 'in_progress' });
      // Whether anybody says anything is asked elsewhere, when what came before is known.
      if (chat.messages.length > 0) expect(checkChatRequest(chat), JSON.stringify(given)).toEqual([]);
      taken++;
    }),
    { numRuns: 2_000 },
  );
  expect(taken).toBeGreaterThan(200);
});
