import { describe, expect, it } from 'vitest';
import {
  chatChunk,
  chatRequest,
  chatResponse,
  createFakeEngine,
  usage,
  usageChunk,
} from '../../../test/support/fake-engine.ts';
import { createInlineSchemas } from '../../../test/support/inline-schemas.ts';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import type { Capabilities } from '../../engines/engines.ts';
import type { ChatChunk, ChatDelta, ChatRequest, ChatResponse, ChatUsage } from '../../wire/chat/chat.ts';
import { createGuarantee } from './guarantee.ts';

const { signal } = new AbortController();
const schemas = createInlineSchemas(createManualClock());
const schema: Partial<ChatRequest> = {
  response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } },
};
const tools = ['f', 'g'].map((name) => ({ type: 'function' as const, function: { name } }));
const forced: Partial<ChatRequest> = { tools, tool_choice: 'required' };
const streamed = { stream: true, stream_options: { include_usage: true } };

const piece = (delta: ChatDelta, finish: 'stop' | 'tool_calls' | null = null, index = 0): ChatChunk => ({
  ...chatChunk(null),
  choices: [{ index, delta, finish_reason: finish }],
});
const begin = (index: number, name: string, id = `call_${index}`): ChatChunk =>
  piece({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] });
const more = (index: number, text: string): ChatChunk =>
  piece({ tool_calls: [{ index, function: { arguments: text } }] });

interface Scene {
  can?: Partial<Capabilities>;
  ask?: Partial<ChatRequest>;
  chunks?: (ChatChunk | Error)[];
  answers?: (ChatResponse | Error)[];
}

/** Streams one answer and takes down what came before it ended or failed. */
async function run({ can = {}, ask = {}, chunks = [], answers = [] }: Scene) {
  const engine = createFakeEngine(can);
  engine.answers = answers;
  engine.chunks = chunks;
  const request = chatRequest({ ...streamed, ...ask });
  const promised = await createGuarantee(request.value, schemas, 'org_1');
  const told: ChatUsage[] = [];
  const seen: ChatChunk[] = [];
  let error: unknown = null;
  const asking = { engine, request, newCallId: () => 'call_new', onMiss() {} };
  try {
    for await (const list of promised.stream(asking, { signal, priority: 'interactive' }, (each) =>
      told.push(each),
    ))
      seen.push(...list);
  } catch (thrown) {
    error = thrown;
  }
  const choices = seen.flatMap((chunk) => chunk.choices);
  return {
    asked: engine.calls.map(({ request: { value } }) => value),
    told,
    error,
    seen,
    text: choices.map(({ delta }) => delta.content ?? '').join(''),
    calls: choices.flatMap(({ delta }) => delta.tool_calls ?? []),
    finish: choices.map((choice) => choice.finish_reason).filter((reason) => reason !== null),
  };
}

describe('a strict tool that the model chooses to call', () => {
  const parameters = { type: 'object', required: ['a'] };
  const strict = [{ type: 'function' as const, function: { name: 'f', strict: true, parameters } }];
  const scene = (args: string): Scene => ({
    can: { forcedTool: 'native' },
    ask: { tools: strict },
    chunks: [begin(0, 'f'), more(0, args), piece({}, 'tool_calls')],
  });

  it('streams as it goes when its arguments fit', async () => {
    const { error, finish } = await run(scene('{"a":1}'));
    expect([error, finish]).toEqual([null, ['tool_calls']]);
  });

  it('ends with an error instead of a finish reason when they do not', async () => {
    const { error, finish } = await run(scene('{"b":1}'));
    expect(error).toMatchObject({ code: 'tool_not_called' });
    expect(finish).toEqual([]);
  });
});

describe('an answer without a guarantee', () => {
  it('passes as it comes, the very chunks', async () => {
    const chunks = [chatChunk('live'), chatChunk(null, 'stop'), usageChunk(1, 1)];
    const { seen, asked, told } = await run({ chunks });
    expect(seen).toHaveLength(3);
    seen.forEach((chunk, at) => expect(chunk).toBe(chunks[at]));
    expect(asked).toMatchObject([streamed]);
    expect(told).toEqual([]);
  });

  it('passes as it comes with tools the model may call, ended by its calls', async () => {
    const chunks = [begin(0, 'f'), more(0, '{}'), piece({}, 'stop'), usageChunk(1, 1)];
    const { calls, finish } = await run({ ask: { tools }, chunks });
    expect(calls).toHaveLength(2);
    expect(finish).toEqual(['tool_calls']);
  });

  it('loses calls beyond the first if one at a time was requested, and renumbers the others', async () => {
    const chunks = [
      begin(0, 'unheard-of'),
      more(0, '{"lost":1}'),
      begin(1, 'f'),
      begin(2, 'g'),
      more(2, '{"lost":2}'),
      more(1, '{"kept":1}'),
      piece({}, 'tool_calls'),
    ];
    const { calls, finish, seen } = await run({ ask: { tools, parallel_tool_calls: false }, chunks });
    expect(calls.map(({ index, function: called }) => [index, called?.name, called?.arguments])).toEqual([
      [0, 'f', ''],
      [0, undefined, '{"kept":1}'],
    ]);
    expect(finish).toEqual(['tool_calls']);
    expect(seen).toHaveLength(3);
  });

  it('is without calls where none may be made', async () => {
    const chunks = [chatChunk('No.'), begin(0, 'f'), more(0, '{}'), piece({}, 'tool_calls')];
    const { text, calls, finish, asked } = await run({ ask: { tools, tool_choice: 'none' }, chunks });
    expect([text, calls, finish]).toEqual(['No.', [], ['stop']]);
    expect(asked[0]).not.toHaveProperty('tools');
  });

  it('ends with an error where nothing of it is left', async () => {
    const chunks = [begin(0, 'unheard-of'), more(0, '{}'), piece({}, 'tool_calls')];
    const { error, finish } = await run({ ask: { tools }, chunks });
    expect(error).toMatchObject({ code: 'tool_not_called', message: expect.stringMatching(/unheard-of/) });
    expect(finish).toEqual([]);
  });
});

describe('a guaranteed answer of an engine that does not enforce it', () => {
  it('is generated and checked before the client sees it, and its usage reported', async () => {
    const { text, asked, told, seen } = await run({
      can: { jsonSchema: 'native' },
      ask: schema,
      answers: [chatResponse('bad'), chatResponse('{"good":1}')],
    });
    expect(text).toBe('{"good":1}');
    const { total_tokens: _, ...billed } = usage(14, 10, 4);
    expect(told).toEqual([{ ...usage(7, 5, 2), billed }]);
    expect(seen.at(-1)).toMatchObject({ choices: [], usage: told[0] });
    expect(asked).toHaveLength(2);
    for (const each of asked) {
      expect(each).not.toHaveProperty('stream');
      expect(each).not.toHaveProperty('stream_options');
    }
  });

  it('comes as the pieces of a call', async () => {
    const { calls, finish } = await run({
      ask: forced,
      answers: [chatResponse('{"name":"g","arguments":{}}')],
    });
    expect(calls).toEqual([
      { index: 0, id: 'call_new', type: 'function', function: { name: 'g', arguments: '' } },
      { index: 0, function: { arguments: '{}' } },
    ]);
    expect(finish).toEqual(['tool_calls']);
  });

  it('is an error before the first piece when it is missed twice', async () => {
    const { error, seen } = await run({ ask: forced, answers: [chatResponse('no')] });
    expect(error).toMatchObject({ code: 'tool_not_called' });
    expect(seen).toEqual([]);
  });
});

describe('a guaranteed answer of an engine that enforces it', () => {
  const exact = { jsonSchema: 'exact', forcedTool: 'exact' } as const;

  it('streams as it comes', async () => {
    const json = await run({
      can: exact,
      ask: schema,
      chunks: [chatChunk('{"a"'), chatChunk(':1}'), chatChunk(null, 'stop'), usageChunk(1, 1)],
    });
    expect([json.text, json.error, json.asked[0]?.stream]).toEqual(['{"a":1}', null, true]);
    const call = await run({
      can: exact,
      ask: forced,
      chunks: [begin(0, 'f'), more(0, '{'), more(0, '}'), piece({}, 'tool_calls'), usageChunk(1, 1)],
    });
    expect([call.calls.length, call.error]).toEqual([3, null]);
  });

  it('ends with an error, and without a finish reason, when it was missed all the same', async () => {
    for (const { ask, chunks, code } of [
      { ask: schema, chunks: [chatChunk('[1'), chatChunk(']')], code: 'schema_not_met' },
      { ask: forced, chunks: [chatChunk('no')], code: 'tool_not_called' },
      { ask: forced, chunks: [begin(0, 'f'), more(0, '{"a":')], code: 'tool_not_called' },
    ]) {
      const { error, finish } = await run({ can: exact, ask, chunks: [...chunks, piece({}, 'stop')] });
      expect(error).toMatchObject({ code });
      expect(finish).toEqual([]);
    }
  });

  it('depends on the guarantee', async () => {
    const answers = [chatResponse('{"name":"f","arguments":{}}')];
    const made = await run({ can: { jsonSchema: 'exact' }, ask: forced, answers });
    expect(made.calls).toHaveLength(2);
    const other = await run({ can: { forcedTool: 'exact' }, ask: schema, answers });
    expect(other.told).toHaveLength(1);
  });
});
