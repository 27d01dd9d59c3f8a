import * as fc from 'fast-check';
import { word } from './words.ts';

// One conversation in each of the three formats.

// An image in a URL that is never fetched.
const image = 'data:image/png;base64,aGk=';

/** Text that messages can hold in a block of their own and other formats cannot. */
const notes = {
  document: {
    text: 'Notes\nn',
    block: {
      type: 'document',
      title: 'Notes',
      source: { type: 'text', media_type: 'text/plain', data: 'n' },
    },
  },
  blocks: {
    text: 'Notes\nof ann\nn\nm',
    block: {
      type: 'document',
      title: 'Notes',
      context: 'of ann',
      source: { type: 'content', content: ['n', 'm'].map((text) => ({ type: 'text', text })) },
    },
  },
  found: {
    text: 'Notes\nhttps://example.com\nn',
    block: {
      type: 'search_result',
      title: 'Notes',
      source: 'https://example.com',
      content: [{ type: 'text', text: 'n' }],
    },
  },
};

interface Call {
  name: string;
  arguments: string;
  result: string | null;
  isError: boolean | null;
  /** True if the result has an image beside its text. */
  shows: boolean;
}

interface Exchange {
  asks: { text: string; image: boolean }[];
  reasoning: string | null;
  says: string | null;
  calls: Call[];
  /** Text of the user beside the results. */
  notes: keyof typeof notes | null;
  /** Final text of the assistant, as a refusal where the format has them. */
  closes: string | null;
}

export interface Story {
  system: string | null;
  exchanges: Exchange[];
  /** Message of the operator in the middle of the conversation. */
  reminder: string | null;
  /** Null if the assistant is still calling tools. */
  asks: string | null;
}

/** Directive for the scripted engine; usually none. */
const directive = fc.constantFrom(...Array<string>(9).fill(''), ' [[tokens 0]]', ' [[tokens 40]]');

const call = fc.record<Call>({
  name: fc.constantFrom('get_weather', 'look', 'gone'),
  arguments: fc.constantFrom(
    '{}',
    '{"city":"Oslo"}',
    '{"n":12345678901234567890,"m":1.10}',
    '{"a":{"b":[null]}}',
  ),
  result: fc.option(word, { freq: 3 }),
  isError: fc.constantFrom(true, false, null),
  shows: fc.boolean(),
});

const exchange = fc
  .record<Exchange>({
    asks: fc.array(fc.record({ text: word, image: fc.boolean() }), { minLength: 1, maxLength: 2 }),
    reasoning: fc.option(word, { freq: 2 }),
    says: fc.option(word, { freq: 2 }),
    calls: fc.array(call, { maxLength: 2 }),
    notes: fc.constantFrom('document', 'blocks', 'found', null),
    closes: fc.option(word, { freq: 2 }),
  })
  .map((each) => ({ ...each, says: each.says ?? (each.calls.length === 0 ? 'ok' : null) }));

export const stories: fc.Arbitrary<Story> = fc
  .record({
    system: fc.option(word, { freq: 2 }),
    reminder: fc.option(word, { freq: 2 }),
    exchanges: fc.array(exchange, { maxLength: 2 }),
    asks: word,
    directive,
    isWorking: fc.boolean(),
  })
  .map(({ directive: does, isWorking, ...story }) => {
    const last = story.exchanges.at(-1);
    if (!isWorking || !last || last.calls.length === 0) return { ...story, asks: story.asks + does };
    const working = { ...last, closes: null, notes: null };
    return { ...story, exchanges: [...story.exchanges.slice(0, -1), working], reminder: null, asks: null };
  });

const callId = (exchangeAt: number, at: number) => `call_${exchangeAt}_${at}`;

/** Result in the formats without a failure flag. */
function resultText({ result, isError }: Call): string {
  if (isError !== true) return result ?? '';
  return result === null ? 'Error' : `Error: ${result}`;
}

const hasPicture = ({ result, shows }: Call) => shows && result !== null;

export function chatMessages({ system, reminder, exchanges, asks }: Story): Record<string, unknown>[] {
  const picture = { type: 'image_url', image_url: { url: image, detail: 'low' } };
  return [
    ...only(system, (text) => ({ role: 'developer', content: [{ type: 'text', text }] })),
    ...exchanges.flatMap((each, e) => [
      {
        role: 'user',
        name: 'ann',
        content: each.asks.flatMap(({ text, image: shown }) => [
          { type: 'text', text },
          ...(shown ? [picture] : []),
        ]),
      },
      {
        role: 'assistant',
        content: each.says,
        ...(each.reasoning !== null && { reasoning: each.reasoning, reasoning_content: each.reasoning }),
        ...(each.calls.length > 0 && {
          refusal: null,
          tool_calls: each.calls.map(({ name, arguments: json }, c) => ({
            id: callId(e, c),
            type: 'function',
            function: { name, arguments: json },
          })),
        }),
      },
      ...each.calls.map((made, c) => ({
        role: 'tool',
        tool_call_id: callId(e, c),
        content: resultText(made),
      })),
      ...(each.calls.some(hasPicture)
        ? [{ role: 'user', content: each.calls.filter(hasPicture).map(() => picture) }]
        : []),
      ...only(each.notes, (kind) => ({ role: 'user', content: notes[kind].text })),
      ...only(each.closes, (refusal) => ({ role: 'assistant', content: [{ type: 'refusal', refusal }] })),
    ]),
    ...only(reminder, (content) => ({ role: 'system', content })),
    ...only(asks, (content) => ({ role: 'user', content })),
  ];
}

export function responseItems({ system, reminder, exchanges, asks }: Story): object[] {
  const picture = { type: 'input_image', image_url: image, detail: 'auto' };
  return [
    ...only(system, (content) => ({ role: 'developer', content })),
    ...exchanges.flatMap((each, e) => [
      {
        type: 'message',
        role: 'user',
        content: each.asks.flatMap(({ text, image: shown }) => [
          { type: 'input_text', text },
          ...(shown ? [picture] : []),
        ]),
      },
      ...only(each.reasoning, (text) => ({
        type: 'reasoning',
        id: `rs_${e}`,
        summary: [{ type: 'summary_text', text }],
        content: [],
        encrypted_content: 'opaque',
      })),
      ...only(each.says, (text) => ({
        type: 'message',
        id: `msg_${e}`,
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
      })),
      ...each.calls.map(({ name, arguments: json }, c) => ({
        type: 'function_call',
        id: `fc_${e}_${c}`,
        call_id: callId(e, c),
        name,
        arguments: json,
      })),
      ...each.calls.map((made, c) => ({
        type: 'function_call_output',
        call_id: callId(e, c),
        output: hasPicture(made)
          ? [{ type: 'input_text', text: resultText(made) }, picture]
          : resultText(made),
      })),
      ...only(each.notes, (kind) => ({ role: 'user', content: notes[kind].text })),
      { type: 'web_search_call', id: `ws_${e}`, status: 'completed' },
      ...only(each.closes, (refusal) => ({ role: 'assistant', content: [{ type: 'refusal', refusal }] })),
    ]),
    ...only(reminder, (content) => ({ role: 'system', content })),
    ...only(asks, (text) => ({ role: 'user', content: [{ type: 'input_text', text }] })),
  ];
}

export function messageTurns({ system, reminder, exchanges, asks }: Story): {
  messages: object[];
  system?: unknown;
} {
  const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } };
  const linked = { type: 'image', source: { type: 'url', url: image } };
  const turns = exchanges.flatMap((each, e): { role: string; content: unknown }[] => [
    {
      role: 'user',
      content: each.asks.flatMap(({ text, image: shown }) => [
        { type: 'text', text, cache_control: { type: 'ephemeral' } },
        ...(shown ? [e === 0 ? picture : linked] : []),
      ]),
    },
    {
      role: 'assistant',
      content: [
        ...only(each.reasoning, (thinking) => ({ type: 'thinking', thinking, signature: 'sig' })),
        ...only(each.reasoning, (data) => ({ type: 'redacted_thinking', data })),
        ...only(each.says, (text) => ({ type: 'text', text, citations: null })),
        ...each.calls.map(({ name, arguments: json }, c) => ({
          type: 'tool_use',
          id: callId(e, c),
          name,
          input: JSON.parse(json) as unknown,
        })),
      ],
    },
    {
      role: 'user',
      content: [
        ...each.calls.map((made, c) => ({
          type: 'tool_result',
          tool_use_id: callId(e, c),
          ...resultContent(made, picture),
          ...(made.isError !== null && { is_error: made.isError }),
        })),
        ...only(each.notes, (kind) => notes[kind].block),
      ],
    },
    ...(each.closes === null ? [] : [{ role: 'assistant', content: each.closes }]),
  ]);
  return {
    messages: [
      ...turns.filter(({ role, content }) => role !== 'user' || (content as unknown[]).length > 0),
      ...only(reminder, (content) => ({ role: 'system', content })),
      ...only(asks, (content) => ({ role: 'user', content })),
    ],
    ...(system !== null && { system: [{ type: 'text', text: system }] }),
  };
}

function resultContent({ result, shows }: Call, picture: object): object {
  if (result === null) return shows ? { content: [] } : {};
  return { content: shows ? [{ type: 'text', text: result }, picture] : result };
}

function only<T>(value: T | null, make: (value: T) => Record<string, unknown>): Record<string, unknown>[] {
  return value === null ? [] : [make(value)];
}
