import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createAnswerText } from '../../../src/engines/llama/inference/answer/answer-text.ts';
import { createChoiceWriter } from '../../../src/engines/llama/inference/llama-inference.ts';
import { createConstraint } from '../../../src/engines/llama/inference/constraint.ts';
import { type Family, familyMarkers, detectFamily } from '../../../src/engines/llama/inference/families.ts';
import { createPrompts } from '../../../src/engines/llama/inference/prompt/prompt.ts';
import type {
  ChatChoice,
  ChatChunk,
  ChatDelta,
  ChatMessage,
  ChatRequest,
  Tool,
} from '../../../src/wire/chat/chat.ts';
import { addToChoice } from '../../../src/wire/chat/stream/fold-chunks.ts';
import { randomAnswer, seeded } from './random-json.ts';

const template = (name: string): string =>
  readFileSync(new URL(`fixtures/templates/${name}.jinja`, import.meta.url), 'utf8');

const tools: Tool[] = ['get_weather', 'get_time'].map((name) => ({
  type: 'function',
  function: {
    name,
    description: 'For a city.',
    strict: true,
    parameters: {
      type: 'object',
      properties: { city: { type: 'string', maxLength: 12 } },
      required: ['city'],
      additionalProperties: false,
    },
  },
}));

const toolCall = (id: string, name: string, city: string) => ({
  id,
  type: 'function' as const,
  function: { name, arguments: JSON.stringify({ city }) },
});
const question: ChatMessage[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Weather and time in Oslo?' },
];
const history: ChatMessage[] = [
  ...question,
  {
    role: 'assistant',
    content: null,
    reasoning: 'Two questions.',
    tool_calls: [toolCall('call_a', 'get_weather', 'Oslo'), toolCall('call_b', 'get_time', 'Oslo')],
  },
  { role: 'tool', tool_call_id: 'call_a', content: 'rain' },
  { role: 'tool', tool_call_id: 'call_b', content: '12:00' },
];

interface Case {
  file: string;
  family: string | null;
  /** Calls as the model writes them, and their number. */
  calls: string;
  count: number;
  /** Reasoning as the model writes it, followed by the answer `Rain.` */
  thinks?: string;
  /** Texts in the rendered history. */
  shows: string[];
}

const weather = '{"name": "get_weather", "arguments": {"city": "Oslo"}}';
const time = '{"name": "get_time", "arguments": {"city": "Oslo"}}';
const cases: Case[] = [
  {
    file: 'qwen-2.5',
    family: 'Qwen, Hermes',
    calls: `<tool_call>\n${weather}\n</tool_call>\n<tool_call>\n${time}\n</tool_call>`,
    count: 2,
    shows: ['<|im_start|>system\nBe brief.', `<tool_call>\n${weather}`, '<tool_response>\nrain'],
  },
  {
    file: 'qwen-3',
    family: 'Qwen, Hermes',
    calls: `<think>\nRain?\n</think>\n\n<tool_call>\n${weather}\n</tool_call>`,
    count: 1,
    thinks: '<think>\nIt is <tool_call> weather.\n</think>\n\nRain.',
    shows: [`<tool_call>\n${time}`],
  },
  {
    file: 'llama-3',
    family: 'Llama 3',
    calls: weather.replace('arguments', 'parameters'),
    count: 1,
    shows: [
      'system<|end_header_id|>\n\nBe brief.',
      '"parameters": {"city": "Oslo"}}<|eot_id|>',
      'ipython<|end_header_id|>\n\n12:00',
    ],
  },
  {
    file: 'mistral-nemo',
    family: 'Mistral',
    calls: `[TOOL_CALLS][${weather}, ${time}]`,
    count: 2,
    shows: [
      '[INST]Be brief.\n\nWeather',
      `[TOOL_CALLS][${weather.slice(0, -1)}, "id": "call00001"}`,
      '"call_id": "call00002"',
    ],
  },
  {
    file: 'gemma-2',
    family: null,
    calls: `<tool_call>${weather}</tool_call>`,
    count: 1,
    shows: [
      '<start_of_turn>user\nBe brief.',
      'You can call these functions',
      '<tool_call>',
      '<tool_response>\n12:00',
    ],
  },
  {
    file: 'phi-3',
    family: null,
    calls: `<tool_call>${weather}</tool_call><tool_call>${time}</tool_call>`,
    count: 2,
    shows: ['<|system|>\nBe brief.', 'You can call these functions', '<|user|>\n<tool_response>'],
  },
  {
    file: 'phi-4-mini',
    family: 'Phi',
    calls: `<|tool_call|>[${weather}, ${time}]<|/tool_call|>`,
    count: 2,
    shows: ['<|system|>Be brief.<|tool|>[{', `<|tool_call|>[${weather}, ${time}]`],
  },
  {
    file: 'gpt-oss',
    family: 'gpt-oss',
    calls:
      '<|channel|>analysis<|message|>Rain?<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather ' +
      '<|constrain|>json<|message|>{"city": "Oslo"}',
    count: 1,
    thinks:
      '<|channel|>analysis<|message|>It is weather.<|end|><|start|>assistant<|channel|>final<|message|>Rain.',
    shows: [
      'namespace functions',
      '<|message|>Two questions.<|end|>',
      'to=functions.get_time',
      '<|message|>"rain"',
    ],
  },
  {
    file: 'deepseek-r1',
    family: null,
    calls: `Rain?</think>\n\n<tool_call>${weather}</tool_call>`,
    count: 1,
    thinks: 'It is weather.\n</think>\n\nRain.',
    shows: ['Be brief.', '<｜User｜>Weather', 'You can call these functions', '<tool_response>\nrain'],
  },
];

function render(file: string, request: Partial<ChatRequest>): { text: string; isThinking: boolean } {
  const source = template(file);
  const pieces: string[] = [];
  const tokenizer = {
    controlTexts: [],
    bosText: '<bos>',
    eosText: '<eos>',
    bos: undefined,
    tokenize: (text: string) => [pieces.push(text) - 1],
  };
  const { tokens, isThinking } = createPrompts(
    source,
    tokenizer,
    detectFamily(source),
    Infinity,
  )({
    model: 'm',
    messages: question,
    ...request,
  });
  return { text: tokens.map((token) => pieces[token]).join(''), isThinking };
}

function read(
  family: Family,
  text: string,
  { isThinking = false, size = 1, maxCalls = Infinity, stops = [] as string[] } = {},
) {
  const deltas: ChatDelta[] = [];
  const choices: ChatChoice[] = [];
  addToChoice(choices, { index: 0, delta: {}, finish_reason: null });
  const names = new Set(tools.map((tool) => tool.function.name));
  let ids = 0;
  const reader = createAnswerText({
    family,
    isThinking,
    stops,
    tools: { names, maxCalls: maxCalls, newCallId: () => `call_${++ids}` },
    onDelta(delta) {
      deltas.push(delta);
      addToChoice(choices, { index: 0, delta, finish_reason: null });
    },
  });
  for (let at = 0; at < text.length; at += size) if (reader.push(text.slice(at, at + size))) break;
  reader.end();
  const { content, reasoning, tool_calls: calls = [] } = choices[0]!.message;
  const { raw, reasoningTokens } = reader;
  const functions = calls.map((call) => call.function);
  expect(calls.map(({ id }) => id)).toEqual(calls.map((_, i) => `call_${i + 1}`));
  const answer = {
    content: content ?? '',
    reasoning: reasoning ?? '',
    calls: functions,
    raw,
    reasoningTokens,
  };
  return { answer, deltas };
}

describe.each(cases)('$file', ({ file, family: name, calls, count, thinks, shows }) => {
  const family = detectFamily(template(file));

  test('is detected by its template', () => {
    expect(family.name).toBe(name);
    expect(family.thinking !== null || family.hasChannels).toBe(thinks !== undefined);
  });

  test('gets the whole conversation, with tools, calls and results', () => {
    const { text } = render(file, { messages: history, tools });
    for (const part of shows) expect(text).toContain(part);
    for (const said of ['Be brief.', 'Weather and time', 'get_weather', 'get_time', 'rain', '12:00']) {
      expect(text).toContain(said);
    }
    expect(render(file, { messages: history, tools, tool_choice: 'none' }).text).not.toContain('For a city.');
  });

  test('parses its calls, however they are split', () => {
    const { isThinking } = render(file, { tools });
    for (const size of [1, 4, calls.length]) {
      const { answer, deltas } = read(family, calls, { isThinking, size });
      expect(answer.calls.map((call) => call.name)).toEqual(['get_weather', 'get_time'].slice(0, count));
      for (const call of answer.calls) expect(JSON.parse(call.arguments)).toEqual({ city: 'Oslo' });
      expect(answer.content).toBe('');
      if (size === 1) expect(answer.reasoningTokens).toBe(answer.reasoning.length);
      // The head and the arguments of each call.
      expect(deltas.filter((delta) => delta.tool_calls)).toHaveLength(2 * count);
    }
    const { answer } = read(family, calls, { isThinking, maxCalls: 1 });
    expect(answer.calls).toHaveLength(1);
  });

  test('is constrained to calls that can be parsed', () => {
    for (const choice of ['required', { type: 'function', function: { name: 'get_time' } }] as const) {
      const request: ChatRequest = { model: 'm', messages: question, tools, tool_choice: choice };
      const constraint = createConstraint(request, family)!;
      for (let seed = 0; seed < 20; seed++) {
        const text = randomAnswer(constraint, 400, seeded(seed));
        const { answer } = read(family, text, { size: 3 });
        expect(answer.calls.length, text).toBeGreaterThan(0);
        if (choice !== 'required') expect(answer.calls.map((call) => call.name)).toEqual(['get_time']);
        if (!family.calls.isRepeatable) expect(answer.calls).toHaveLength(1);
        for (const call of answer.calls) {
          expect(Object.keys(JSON.parse(call.arguments) as object)).toEqual(['city']);
        }
        expect(answer.content.trim()).toBe('');
      }
    }
  });

  test('answers in the form of a schema without reasoning', () => {
    const schema = { type: 'object', properties: { a: { const: 'stop here' } }, required: ['a'] };
    const request: ChatRequest = {
      model: 'm',
      messages: question,
      response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } },
    };
    expect(render(file, request).isThinking).toBe(false);
    const text = randomAnswer(createConstraint(request, family)!, 400, seeded(1));
    expect(read(family, text).answer.content).toBe('{"a":"stop here"}');
    const stopped = read(family, text, { stops: ['here'] }).answer;
    expect(text.startsWith(stopped.raw)).toBe(true);
    expect(stopped.raw.endsWith('{"a":"stop ')).toBe(true);
  });
});

test.each(cases.filter(({ thinks }) => thinks !== undefined))(
  '$file separates reasoning from the answer',
  ({ file, thinks }) => {
    const family = detectFamily(template(file));
    const { isThinking } = render(file, {});
    for (const size of [1, 5, thinks!.length]) {
      const { answer, deltas } = read(family, thinks!, { isThinking, size, stops: ['is'] });
      expect(answer.content).toBe('Rain.');
      expect(answer.reasoning.trim()).toMatch(/^It is (<tool_call> )?weather\.$/);
      expect(answer.calls).toEqual([]);
      // One token per character: those of the reasoning, and at most the few held back for its end mark.
      if (size === 1) {
        expect(answer.reasoningTokens).toBeGreaterThanOrEqual(answer.reasoning.length - 1);
        expect(answer.reasoningTokens).toBeLessThanOrEqual(answer.reasoning.length + 1);
      }
      const order = deltas.map((delta) => (delta.reasoning === undefined ? 'content' : 'reasoning'));
      expect(order.indexOf('content')).toBe(order.filter((kind) => kind === 'reasoning').length);
    }
    // Truncated within the reasoning, the answer has no content.
    const cut = read(family, thinks!.slice(0, thinks!.indexOf('weather')), { isThinking }).answer;
    expect(cut.content).toBe('');
    expect(cut.reasoning).toContain('It is');
    expect(cut.reasoningTokens).toBe(cut.reasoning.length);
  },
);

test('calls and reasoning are counted for each choice', () => {
  const family = detectFamily(template('qwen-3'));
  let ids = 0;
  const pieces: ChatChunk['choices'] = [];
  const whole: ChatChoice[] = [];
  const readers = [0, 1].map((index) => {
    const writers = [
      createChoiceWriter(index, [], ({ choices }) => void pieces.push(...choices)),
      createChoiceWriter(index, whole, undefined),
    ];
    return createAnswerText({
      family,
      isThinking: false,
      stops: [],
      tools: {
        names: new Set(['get_weather', 'get_time']),
        maxCalls: Infinity,
        newCallId: () => `call_${++ids}`,
      },
      onDelta: (delta) => writers.forEach((writer) => writer.write({ delta })),
    });
  });
  const written = `<tool_call>\n${weather}\n</tool_call>\n`;
  readers[0]!.push(`<think>\nRain?\n</think>\n\n${written}`);
  for (const at of [1, 0]) readers[at]!.push(written);
  for (const reader of readers) reader.end();
  const heads = pieces.flatMap(({ index, delta: { tool_calls: calls = [] } }) =>
    calls.filter(({ id }) => id).map((call) => [index, call.index, call.id]),
  );
  expect(heads).toEqual([
    [0, 0, 'call_1'],
    [1, 0, 'call_2'],
    [0, 1, 'call_3'],
  ]);
  const thoughts = ['reasoning', 'reasoning_content'];
  const thoughtsOf = (said: object) => thoughts.filter((field) => field in said);
  expect(whole.map(({ message }) => thoughtsOf(message))).toEqual([thoughts, []]);
  expect(pieces.filter(({ index, delta }) => index === 1 && thoughtsOf(delta).length > 0)).toEqual([]);
});

test('reasoning is turned off on request', () => {
  for (const off of [
    { reasoning_effort: 'none' },
    { chat_template_kwargs: { enable_thinking: false } },
    { response_format: { type: 'json_object' as const } },
    { tools, tool_choice: 'required' as const },
  ]) {
    expect(render('qwen-3', off).text).toMatch(/<think>\s*<\/think>\s*$/);
    expect(render('deepseek-r1', off)).toMatchObject({ isThinking: false });
    expect(render('deepseek-r1', off).text).toMatch(/<think>\s*<\/think>\s*$/);
  }
  expect(render('qwen-3', {}).text).toMatch(/assistant\n$/);
  expect(render('deepseek-r1', {})).toMatchObject({ isThinking: true });
  expect(render('gpt-oss', { reasoning_effort: 'low' }).text).toContain('Reasoning: low');
});

test('a caller sets variables of the template, but not the conversation', () => {
  const { text } = render('gpt-oss', { chat_template_kwargs: { reasoning_effort: 'high', messages: [] } });
  expect(text).toContain('Reasoning: high');
  expect(text).toContain('Weather and time');
});

test('several system messages, and consecutive turns of one role, are joined', () => {
  const messages: ChatMessage[] = [
    { role: 'user', content: 'One.' },
    { role: 'system', content: 'S1' },
    { role: 'user', content: 'Two.' },
    { role: 'developer', content: 'S2' },
  ];
  expect(render('gemma-2', { messages }).text).toBe(
    '<bos><start_of_turn>user\nS1\n\nS2\n\nOne.\n\nTwo.<end_of_turn>\n<start_of_turn>model\n',
  );
});

test('markers of a family are kept if they are control tokens', () => {
  expect(familyMarkers(detectFamily(template('mistral-nemo')))).toEqual(['[TOOL_CALLS]']);
  expect(familyMarkers(detectFamily(template('qwen-3')))).toEqual([
    '<tool_call>',
    '</tool_call>',
    '<think>',
    '</think>',
  ]);
  expect(familyMarkers(detectFamily(template('gpt-oss')))).toContain('<|message|>');
});

test('tools that together need too many rules are rejected', () => {
  const parameters = { type: 'object', properties: { a: { type: 'string', maxLength: 2000 } } };
  const many = Array.from({ length: 40 }, (_, i): Tool => ({
    type: 'function',
    function: { name: `f${i}`, parameters },
  }));
  const request: ChatRequest = { model: 'm', messages: question, tools: many, tool_choice: 'required' };
  expect(() => createConstraint(request, detectFamily(undefined))).toThrow(
    expect.objectContaining({ code: 'schema_too_complex', status: 422 }),
  );
});
