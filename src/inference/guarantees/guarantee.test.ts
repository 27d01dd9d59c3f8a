import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chatRequest, chatResponse, createFakeEngine, usage } from '../../../test/support/fake-engine.ts';
import { createInlineSchemas } from '../../../test/support/inline-schemas.ts';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import { ApiError, permanent } from '../../core/errors.ts';
import type { Capabilities } from '../../engines/engines.ts';
import type { ChatRequest, ChatResponse, Tool } from '../../wire/chat/chat.ts';
import { createGuarantee } from './guarantee.ts';

const schemas = createInlineSchemas(createManualClock());
const call = { signal: new AbortController().signal, priority: 'batch' as const };

const place = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const count = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
const tool = (name: string, parameters?: Tool['function']['parameters']): Tool => ({
  type: 'function',
  function: { name, description: `does ${name}`, ...(parameters !== undefined && { parameters }) },
});
const tools = [tool('weather', place), tool('count', count), tool('now')];
const named = (name: string) => ({ type: 'function' as const, function: { name } });
const json: Partial<ChatRequest> = {
  response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema: place } },
};

/** Runs a request on an engine that gives these answers, one a try. */
async function run(
  capabilities: Partial<Capabilities>,
  more: Partial<ChatRequest>,
  answers: (ChatResponse | Error)[],
) {
  const engine = createFakeEngine(capabilities);
  engine.answers = [...answers];
  const request = chatRequest(more);
  const promised = await createGuarantee(request.value, schemas, 'org_1');
  let ids = 0;
  const missed: string[] = [];
  const asking = {
    engine,
    request,
    newCallId: () => `call_new${ids++}`,
    onMiss: ({ message }: ApiError) => void missed.push(message),
  };
  const running = promised.run(asking, call);
  const outcome = await running.catch((error: unknown) => error as ApiError);
  const asked = engine.calls.map(({ request: { value, text } }) => {
    expect(JSON.parse(text)).toEqual(value);
    return value;
  });
  expect(missed).toHaveLength(Math.max(0, asked.length - 1));
  return { outcome, asked, engine, request };
}

const callsOf = (outcome: ChatResponse | ApiError) => {
  if (outcome instanceof Error) throw outcome;
  const [{ message, finish_reason } = { message: undefined, finish_reason: undefined }] = outcome.choices;
  return {
    calls: message?.tool_calls?.map(({ function: { name, arguments: args } }) => [name, args]),
    content: message?.content,
    finish: finish_reason,
  };
};

/** Usage of two attempts together. */
const { total_tokens: _, ...billed } = usage(14, 10, 4);

const native = { jsonSchema: 'native', forcedTool: 'native' } as const;
const ollama = { jsonSchema: 'native', forcedTool: 'none' } as const;

describe('a request without guarantees', () => {
  it('is sent as it came, once, and answered as the engine answered', async () => {
    const answer = chatResponse('hi');
    const { outcome, engine, request } = await run(native, {}, [answer]);
    expect(outcome).toEqual(answer);
    expect(engine.calls).toEqual([{ request, call }]);
  });

  it('is not repeated when the engine fails', async () => {
    for (const error of [
      new ApiError('upstream_error', 'broken'),
      new ApiError('upstream_error', 'refused', { blame: permanent }),
      new ApiError('request_refused', 'refused'),
    ]) {
      const { outcome, asked } = await run(native, {}, [error]);
      expect(outcome).toBe(error);
      expect(asked).toHaveLength(1);
    }
  });

  it('does not mistake an internal error for a miss', async () => {
    const { outcome, asked } = await run(native, json, [new TypeError('a bug')]);
    expect(outcome).toBeInstanceOf(TypeError);
    expect(asked).toHaveLength(1);
  });
});

describe('a strict tool that the model chooses to call', () => {
  const strict: Tool[] = tools.map((each) => ({ ...each, function: { ...each.function, strict: true } }));
  const called = (args: string) =>
    chatResponse('Well.', { calls: [['weather', args]], finish: 'tool_calls' });
  const good = { calls: [['weather', '{"city":"Oslo"}']], finish: 'tool_calls' };

  it('is taken when its arguments fit, and so is an answer without a call', async () => {
    const { outcome, asked } = await run(native, { tools: strict }, [called('{"city":"Oslo"}')]);
    expect(callsOf(outcome)).toMatchObject(good);
    expect(asked).toHaveLength(1);
    const { outcome: text } = await run(native, { tools: strict }, [chatResponse('No need.')]);
    expect(callsOf(text)).toMatchObject({ content: 'No need.', finish: 'stop' });
  });

  it('is made of JSON where its arguments do not fit', async () => {
    const { outcome, asked } = await run(native, { tools: strict }, [
      called('{"town":"Oslo"}'),
      chatResponse('{"city":"Oslo"}'),
    ]);
    expect(callsOf(outcome)).toMatchObject(good);
    expect(asked[1]).not.toHaveProperty('tools');
    expect(asked[1]?.response_format).toMatchObject({ json_schema: { name: 'weather', strict: true } });
  });

  it('is forced on an engine that can force it', async () => {
    const exact = { jsonSchema: 'exact', forcedTool: 'exact' } as const;
    const { outcome, asked } = await run(exact, { tools: strict, ...json }, [
      called('{"city":7}'),
      called('{"city":"Oslo"}'),
    ]);
    expect(callsOf(outcome)).toMatchObject(good);
    expect(asked[1]).toMatchObject({ tools: strict, tool_choice: named('weather') });
    expect(asked[1]).not.toHaveProperty('response_format');
  });

  it('reports the first miss if the engine refuses the second form, which the client never sent', async () => {
    const refusal = new ApiError('request_refused', 'no response formats here');
    const { outcome, asked } = await run(native, { tools: strict }, [called('{}'), refusal]);
    expect(outcome).toMatchObject({ code: 'tool_not_called', status: 502 });
    expect(asked).toHaveLength(2);
  });

  it('is an error after a second miss; a tool that is not strict is called as it was', async () => {
    const bad = called('{"city":7}');
    const { outcome } = await run(native, { tools: strict }, [bad, chatResponse('{"city":8}')]);
    expect(outcome).toMatchObject({ code: 'tool_not_called', status: 502 });
    const { outcome: loose } = await run(native, { tools }, [bad]);
    expect(callsOf(loose).calls).toEqual([['weather', '{"city":7}']]);
  });
});

describe('a tool that must be called', () => {
  const forced = { tools, tool_choice: named('weather') };
  const good: [string, string][] = [['weather', '{"city":"Oslo"}']];

  it('is taken from an engine that calls it, whatever it says besides', async () => {
    for (const finish of ['tool_calls', 'stop'] as const) {
      const answer = chatResponse('I will look.', { calls: good, finish });
      const { outcome, asked, request } = await run(native, forced, [answer]);
      expect(callsOf(outcome)).toEqual({ calls: good, content: 'I will look.', finish: 'tool_calls' });
      expect(asked).toEqual([request.value]);
    }
  });

  it.each([
    ['ignores tool_choice', chatResponse('Sunny, I guess.')],
    ['calls another tool', chatResponse(null, { calls: [['count', '{"n":1}']], finish: 'tool_calls' })],
    ['writes bad JSON', chatResponse(null, { calls: [['weather', '{"city":']], finish: 'tool_calls' })],
    ['misses the schema', chatResponse(null, { calls: [['weather', '{"city":3}']], finish: 'tool_calls' })],
    ['refuses the request', new ApiError('upstream_error', 'needs a parser', { blame: permanent })],
  ])('is made of JSON under its parameters when the engine %s', async (_what, first) => {
    const { outcome, asked } = await run(native, { ...forced, stop: ['\n'] }, [
      first,
      chatResponse('{"city":"Oslo"}'),
    ]);
    expect(callsOf(outcome)).toEqual({ calls: good, content: null, finish: 'tool_calls' });
    expect((outcome as ChatResponse).choices[0]?.message.tool_calls?.[0]?.id).toBe('call_new0');
    const [, second] = asked;
    for (const name of ['tools', 'tool_choice', 'stop']) expect(second).not.toHaveProperty(name);
    expect(second?.response_format).toMatchObject({ json_schema: { name: 'weather', schema: place } });
    expect(second?.messages[0]).toMatchObject({
      role: 'system',
      content: expect.stringMatching(/"weather".*does weather/s),
    });
  });

  it('is emulated at once on an engine without forced calls', async () => {
    const { outcome, asked } = await run(ollama, forced, [chatResponse('```json\n{"city": "Oslo"}\n```')]);
    expect(callsOf(outcome)).toMatchObject({
      calls: [['weather', '{"city": "Oslo"}']],
      finish: 'tool_calls',
    });
    expect(asked).toHaveLength(1);
    expect(asked[0]).not.toHaveProperty('tools');
  });

  it('is only described in words on an engine without schemas', async () => {
    const { outcome, asked } = await run({}, forced, [chatResponse('{"city":"Oslo"}')]);
    expect(callsOf(outcome).calls).toEqual(good);
    expect(asked[0]).not.toHaveProperty('response_format');
  });

  it('is repeated without the response format if the engine refused that', async () => {
    const refusal = new ApiError('upstream_error', 'no formats here', { blame: permanent });
    const { outcome, asked } = await run(ollama, forced, [refusal, chatResponse('{"city":"Oslo"}')]);
    expect(callsOf(outcome).calls).toEqual(good);
    expect(asked.map((each) => 'response_format' in each)).toEqual([true, false]);
  });

  it('may be named again in the answer, unless its own parameters look so', async () => {
    const wrapped = '{"name":"weather","arguments":{"city":"Oslo"}}';
    expect(callsOf((await run(ollama, forced, [chatResponse(wrapped)])).outcome).calls).toEqual(good);
    const own = tool('run', { type: 'object', properties: { name: {}, arguments: {} } });
    const text = '{"name":"run","arguments":{}}';
    const { outcome } = await run(ollama, { tools: [own], tool_choice: 'required' }, [chatResponse(text)]);
    expect(callsOf(outcome).calls).toEqual([['run', text]]);
  });

  it('names the fault in the second attempt, and fails after it', async () => {
    const { outcome, asked } = await run(ollama, forced, [
      chatResponse('{"city":3}'),
      chatResponse('I would rather not.'),
    ]);
    expect(outcome).toMatchObject({ code: 'tool_not_called', status: 502 });
    expect(asked).toHaveLength(2);
    expect(asked[1]?.messages[0]?.content).toMatch(/not accepted: .*city must be string/);
  });

  it('reports the usage of the answer, and bills all attempts', async () => {
    const { outcome } = await run(native, forced, [chatResponse('no'), chatResponse('{"city":"Oslo"}')]);
    expect((outcome as ChatResponse).usage).toEqual({ ...usage(7, 5, 2), billed });
  });

  it('returns a truncated call with its finish reason', async () => {
    const cut = { finish: 'length' as const };
    const plain = await run(native, forced, [
      chatResponse('', { ...cut, calls: [['weather', '{"city":"Os']] }),
    ]);
    expect(callsOf(plain.outcome)).toMatchObject({ calls: [['weather', '{"city":"Os']], finish: 'length' });
    const made = await run(ollama, forced, [chatResponse('{"city":"Os', cut)]);
    expect(callsOf(made.outcome)).toEqual({
      calls: [['weather', '{"city":"Os']],
      content: null,
      finish: 'length',
    });
    expect([plain.asked.length, made.asked.length]).toEqual([1, 1]);
  });

  it('is repeated if the answer was truncated in plain text, or in a call of another tool', async () => {
    const talk = chatResponse('Well, let me', { finish: 'length' });
    const other = chatResponse(null, { finish: 'length', calls: [['now', '{}']] });
    for (const missed of [talk, other]) {
      const { outcome, asked } = await run(native, forced, [missed, chatResponse('{"city":"Oslo"}')]);
      expect(callsOf(outcome)).toMatchObject({ calls: good, finish: 'tool_calls' });
      expect(asked[1]?.response_format).toMatchObject({ json_schema: { name: 'weather' } });
    }
    const { outcome } = await run(native, forced, [talk, talk]);
    expect(outcome).toMatchObject({ code: 'tool_not_called', status: 502 });
  });

  it('is called once, and nothing else beside it', async () => {
    const calls: [string, string][] = [['count', '{"n":1}'], ...good, ['weather', '{"city":"Rome"}']];
    const { outcome } = await run(native, forced, [chatResponse(null, { calls, finish: 'tool_calls' })]);
    expect(callsOf(outcome).calls).toEqual(good);
  });

  it('is the only tool sent to an engine that cannot force a named one', async () => {
    const answer = chatResponse(null, { calls: good, finish: 'tool_calls' });
    const { asked } = await run({ ...native, forcedTool: 'filter' }, forced, [answer]);
    expect(asked[0]).toMatchObject({ tool_choice: 'required', tools: [tools[0]] });
  });

  it('alone is strict where an engine holds the parameters of strict tools only', async () => {
    const answer = chatResponse(null, { calls: good, finish: 'tool_calls' });
    const { asked } = await run({ ...native, forcedTool: 'strict' }, forced, [answer]);
    const wanted = forced.tool_choice.function.name;
    for (const { function: each } of asked[0]!.tools!)
      expect(each.strict).toBe(each.name === wanted ? true : undefined);
    expect(asked[0]).toMatchObject({ tool_choice: forced.tool_choice });
  });

  it('comes before a response format, which some engines would not take beside it', async () => {
    const answer = chatResponse(null, { calls: good, finish: 'tool_calls' });
    const ours = await run(native, { ...forced, ...json }, [answer]);
    expect(ours.asked[0]).not.toHaveProperty('response_format');
    const theirs = await run({ jsonSchema: 'exact', forcedTool: 'exact' }, { ...forced, ...json }, [answer]);
    expect(theirs.asked[0]).toEqual(theirs.request.value);
  });

  it('reports the first refusal if everything is refused', async () => {
    const refusal = (message: string) => new ApiError('upstream_error', message, { blame: permanent });
    const { outcome } = await run(native, forced, [refusal('first'), refusal('second')]);
    expect(outcome).toMatchObject({ message: 'first' });
    const { outcome: missed } = await run(native, forced, [chatResponse('no'), refusal('second')]);
    expect(missed).toMatchObject({ code: 'tool_not_called' });
  });

  it('reports the refusal of the first form beside the miss of the second', async () => {
    const refusal = new ApiError('request_refused', 'failed to parse grammar');
    const { outcome } = await run(native, json, [refusal, chatResponse('no')]);
    expect(outcome).toMatchObject({
      code: 'schema_not_met',
      message:
        'The answer is not JSON. The format was requested in words, because the engine rejected the form of the request: failed to parse grammar',
    });
  });

  it('leaves transient failures to the caller', async () => {
    const { outcome } = await run(native, forced, [
      chatResponse('no'),
      new ApiError('engine_overloaded', 'full', { retryAfter: 3 }),
    ]);
    expect(outcome).toMatchObject({ code: 'engine_overloaded', retryAfter: 3 });
  });
});

describe('any tool that must be called', () => {
  const required = { tools, tool_choice: 'required' as const };

  it('is chosen by the model, with arguments that keep every digit', async () => {
    const text = '{"name": "count", "arguments": {"n": 12345678901234567890}}';
    const { outcome, asked } = await run(ollama, required, [chatResponse(text)]);
    expect(callsOf(outcome).calls).toEqual([['count', '{"n": 12345678901234567890}']]);
    expect(asked[0]?.response_format).toMatchObject({
      json_schema: {
        name: 'tool_call',
        schema: { anyOf: [{ properties: { name: { const: 'weather' } } }, {}, {}] },
      },
    });
    for (const { function: each } of tools)
      expect(asked[0]?.messages[0]?.content).toContain(`does ${each.name}`);
  });

  it.each([
    ['{"name":"cou', undefined],
    ['{"name":"count","argu', undefined],
    ['{"name":"count","arguments":{"n":1', [['count', '{"n":1']]],
  ])('tells that %j was cut', async (text, calls) => {
    const { outcome } = await run(ollama, required, [chatResponse(text, { finish: 'length' })]);
    expect(callsOf(outcome)).toMatchObject({ calls, finish: 'length' });
  });

  it.each([
    ['an unheard-of tool', '{"name":"dance","arguments":{}}'],
    ['no arguments', '{"name":"count"}'],
    ['arguments of another tool', '{"name":"count","arguments":{"city":"Oslo"}}'],
    ['arguments in a list', '{"name":"now","arguments":[]}'],
    ['a list', '[{"name":"now","arguments":{}}]'],
    ['no JSON', 'now()'],
  ])('does not take %s for a call', async (_what, text) => {
    const { outcome } = await run(ollama, required, [chatResponse(text)]);
    expect(outcome).toMatchObject({ code: 'tool_not_called' });
  });

  it('accepts several calls, unless one at a time was requested', async () => {
    const calls: [string, string][] = [
      ['count', '{"n":1}'],
      ['now', '{}'],
    ];
    const answer = chatResponse(null, { calls, finish: 'tool_calls' });
    expect(callsOf((await run(native, required, [answer])).outcome).calls).toEqual(calls);
    const one = await run(native, { ...required, parallel_tool_calls: false }, [answer]);
    expect(callsOf(one.outcome).calls).toEqual([calls[0]]);
  });
});

describe('tools that need not be called', () => {
  it('are left out where none may be called, and calls with them', async () => {
    const none = { tools, tool_choice: 'none' as const };
    const answer = chatResponse('No need.', { calls: [['now', '{}']], finish: 'tool_calls' });
    const { outcome, asked } = await run(native, none, [answer]);
    expect(callsOf(outcome)).toEqual({ calls: undefined, content: 'No need.', finish: 'stop' });
    for (const name of ['tools', 'tool_choice']) expect(asked[0]).not.toHaveProperty(name);
    const exact = await run({ jsonSchema: 'exact', forcedTool: 'exact' }, none, [chatResponse('hi')]);
    expect(exact.asked[0]).toEqual(exact.request.value);
  });

  it('are called one at a time on request', async () => {
    const calls: [string, string][] = [
      ['now', '{}'],
      ['now', '{}'],
    ];
    const { outcome } = await run(native, { tools, parallel_tool_calls: false }, [
      chatResponse(null, { calls, finish: 'tool_calls' }),
    ]);
    expect(callsOf(outcome).calls).toEqual([calls[0]]);
  });

  it('are requested again if the model only calls another tool', async () => {
    const stray = chatResponse(null, { calls: [['dance', '{}']], finish: 'tool_calls' });
    const { outcome, asked } = await run(native, { tools }, [stray, chatResponse('Right.')]);
    expect(callsOf(outcome)).toMatchObject({ content: 'Right.', finish: 'stop' });
    expect(asked[1]?.messages[0]?.content).toMatch(/weather, count, now/);
    const never = await run(native, { tools, tool_choice: 'none' }, [stray]);
    expect(never.outcome).toMatchObject({ code: 'tool_not_called' });
    expect(never.asked[1]?.messages[0]?.content).toMatch(/without calling/);
  });
});

describe('guaranteed JSON', () => {
  const good = '{"city":"Oslo"}';

  it('is requested by the response format, then by the schema in words', async () => {
    const { outcome, asked, request } = await run(native, json, [
      chatResponse('Oslo, of course.'),
      chatResponse(good),
    ]);
    expect(callsOf(outcome)).toMatchObject({ content: good, finish: 'stop' });
    expect((outcome as ChatResponse).usage).toEqual({ ...usage(7, 5, 2), billed });
    expect(asked[0]).toEqual(request.value);
    expect(asked[1]).toMatchObject({ response_format: request.value.response_format });
    expect(asked[1]?.messages[0]?.content).toContain(JSON.stringify(place));
    expect(asked[1]?.messages[0]?.content).toMatch(/not accepted: The answer is not JSON/);
  });

  it('is requested in words alone if the engine lacks response formats, or refuses them', async () => {
    const unknown = await run({ jsonSchema: 'none' }, json, [chatResponse(good)]);
    const refused = await run(native, json, [
      new ApiError('upstream_error', 'what is a response_format?', { blame: permanent }),
      chatResponse(good),
    ]);
    expect(callsOf(unknown.outcome).content).toBe(good);
    expect(callsOf(refused.outcome).content).toBe(good);
    expect((refused.outcome as ChatResponse).usage).toEqual(usage(7, 5, 2));
    for (const asked of [unknown.asked[0], refused.asked[1]]) {
      expect(asked).not.toHaveProperty('response_format');
      expect(asked?.messages[0]?.content).toContain(JSON.stringify(place));
    }
  });

  it('is unwrapped from a code block', async () => {
    const { outcome, asked } = await run(native, json, [chatResponse(`\`\`\`json\n${good}\n\`\`\`\n`)]);
    expect(callsOf(outcome).content).toBe(good);
    expect(asked).toHaveLength(1);
  });

  it('fails after the second miss, and accepts a truncated answer', async () => {
    const { outcome, asked } = await run(native, json, [chatResponse('{"city":1}')]);
    expect(outcome).toMatchObject({ code: 'schema_not_met', message: expect.stringMatching(/city/) });
    expect(asked).toHaveLength(2);
    const cut = await run(native, json, [chatResponse('{"ci', { finish: 'length' })]);
    expect(callsOf(cut.outcome)).toMatchObject({ content: '{"ci', finish: 'length' });
  });

  it('is any object where no schema says more', async () => {
    const object: Partial<ChatRequest> = { response_format: { type: 'json_object' } };
    for (const text of ['[1]', 'null', '"text"', 'no']) {
      const { outcome, asked } = await run(native, object, [chatResponse(text), chatResponse('{"a":1}')]);
      expect(callsOf(outcome).content).toBe('{"a":1}');
      expect(asked[1]?.messages[0]?.content).toMatch(/one JSON object/);
    }
    expect((await run(native, object, [chatResponse('[1]')])).outcome).toMatchObject({
      code: 'schema_not_met',
    });
  });
});

describe('whatever an engine answers', () => {
  const toolSet = fc.uniqueArray(
    fc.record({
      name: fc.constantFrom('a', 'b', 'c', 'd'),
      parameters: fc.constantFrom(undefined, place, count, { $ref: '#/$defs/p', $defs: { p: place } }),
    }),
    { selector: ({ name }) => name, minLength: 1, maxLength: 4 },
  );
  const args = fc.constantFrom('{}', '{"city":"Oslo"}', '{"n":1}', '{"n":', '[]', '"x"', 'no JSON', '');
  const name = fc.constantFrom('a', 'b', 'c', 'd', 'e');
  const text = fc.oneof(
    args,
    args.map((made) => `\`\`\`\n${made}\n\`\`\``),
    fc.record({ name, args }).map((made) => `{"name":"${made.name}","arguments":${made.args}}`),
    fc.string({ maxLength: 20 }),
  );
  const answer = fc.record({
    content: fc.option(text),
    calls: fc.array(fc.tuple(name, args), { maxLength: 3 }),
    finish: fc.constantFrom('stop', 'length', 'tool_calls'),
  });
  const format = fc.constantFrom(null, json.response_format!, { type: 'json_object' as const });

  const scenario = fc.record({
    toolSet,
    wanted: fc.nat(5),
    parallel: fc.constantFrom(undefined, true, false),
    format,
    answers: fc.array(answer, { minLength: 1, maxLength: 2 }),
    forcedTool: fc.constantFrom('exact', 'native', 'strict', 'filter', 'none'),
    jsonSchema: fc.constantFrom('exact', 'native', 'none'),
  });

  it('the outcome conforms, was cut, or is an error', async () => {
    const kinds = new Set<string>();
    await fc.assert(
      fc.asyncProperty(scenario, async (given) => {
        const set = given.toolSet.map((each) => tool(each.name, each.parameters));
        const choices = ['none', 'auto', 'required'] as const;
        const choice =
          choices[given.wanted] ?? named(given.toolSet[given.wanted % given.toolSet.length]!.name);
        const more: Partial<ChatRequest> = {
          tools: set,
          tool_choice: choice,
          response_format: given.format,
          ...(given.parallel !== undefined && { parallel_tool_calls: given.parallel }),
        };
        const { outcome, asked } = await run(
          given,
          more,
          given.answers.map(({ content, calls, finish }) =>
            chatResponse(content, { finish: finish as 'stop', ...(calls.length > 0 && { calls }) }),
          ),
        );
        expect(asked.length).toBeLessThanOrEqual(2);
        if (outcome instanceof Error) {
          kinds.add('error');
          expect(['tool_not_called', 'schema_not_met']).toContain(outcome.code);
          return;
        }
        const { calls = [], content, finish } = callsOf(outcome);
        for (const [called] of calls) expect(given.toolSet.map((each) => each.name)).toContain(called);
        if (given.parallel === false) expect(calls.length).toBeLessThanOrEqual(1);
        if (choice === 'none') expect(calls).toEqual([]);
        if (typeof choice === 'object')
          expect(calls.filter(([called]) => called !== choice.function.name)).toEqual([]);
        if (finish === 'length') return void kinds.add('length');
        kinds.add(calls.length > 0 ? 'calls' : 'content');
        expect(finish).toBe(calls.length > 0 ? 'tool_calls' : 'stop');
        if (choice === 'required' || typeof choice === 'object') {
          expect(calls.length).toBeGreaterThan(0);
          for (const [called, written] of calls) {
            const value = JSON.parse(written!) as Record<string, unknown>;
            const { parameters } = given.toolSet.find((each) => each.name === called)!;
            if (parameters === count) expect(value['n']).toBeTypeOf('number');
            else if (parameters) expect(value['city']).toBeTypeOf('string');
          }
        } else if (given.format && calls.length === 0) {
          const value = JSON.parse(content!) as Record<string, unknown>;
          if (given.format.type === 'json_schema') expect(value['city']).toBeTypeOf('string');
          else expect(Array.isArray(value)).toBe(false);
        }
      }),
      { numRuns: 200 },
    );
    // The property is worth nothing unless all of it happens.
    expect([...kinds].toSorted()).toEqual(['calls', 'content', 'error', 'length']);
  });
});
