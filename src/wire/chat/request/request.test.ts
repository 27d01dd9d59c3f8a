import { describe, expect, it } from 'vitest';
import type { ApiError } from '../../../core/errors.ts';
import { checkChatRequest, parseChatRequest } from './request.ts';

const user = { role: 'user', content: 'hi' };
const base = { model: 'tiny', messages: [user] };
const weather = { type: 'function', function: { name: 'weather', parameters: { type: 'object' } } };
const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } };

/** `param: message` of every fault. */
const faultsOf = (value: unknown): string[] =>
  checkChatRequest(value).map(({ param, message }) => `${param ?? ''}: ${message}`);
const paramsOf = (value: unknown): (string | undefined)[] =>
  checkChatRequest(value).map(({ param }) => param);

describe('a chat request', () => {
  it('accepts what real clients send, including unknown fields and nulls', () => {
    const sent = [
      { ...base, stream: false, store: true, metadata: { a: 1 }, user: 'u', service_tier: 'auto' },
      {
        ...base,
        prompt_cache_key: 'k',
        safety_identifier: 's',
        verbosity: 'low',
        prediction: { type: 'content' },
      },
      { ...base, stream: true, stream_options: { include_usage: true, include_obfuscation: true } },
      { ...base, modalities: ['text'], audio: { voice: 'a', format: 'wav' }, web_search_options: {} },
      { ...base, prompt_cache_retention: '24h', moderation: { model: 'm' }, reasoning_effort: 'xhigh' },
      { ...base, functions: [{ name: 'weather' }], function_call: 'auto' },
      { ...base, tools: [{ type: 'custom', custom: { name: 'sh' } }, { type: 'web_search' }, weather] },
      {
        ...base,
        tools: [weather],
        tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [weather] } },
      },
      {
        ...base,
        messages: [
          user,
          // As the client's types have it when it is sent back.
          {
            role: 'assistant',
            content: 'x',
            refusal: null,
            annotations: [],
            audio: null,
            function_call: null,
          },
          { role: 'user', name: 'Ann', content: [{ type: 'file', file: { file_data: 'data:,x' } }] },
        ],
      },
      {
        ...base,
        max_tokens: null,
        stop: null,
        tools: null,
        tool_choice: null,
        response_format: null,
        n: null,
      },
      {
        ...base,
        temperature: 0,
        top_p: 1,
        top_k: -1,
        seed: 7,
        stop: 'END',
        logprobs: true,
        top_logprobs: 20,
      },
      { ...base, stop: ['a', 'b', 'c', 'd'], logit_bias: { '50256': -100 }, presence_penalty: -2 },
      { ...base, tools: [weather], tool_choice: 'required', parallel_tool_calls: false },
      { ...base, tools: [weather], tool_choice: { type: 'function', function: { name: 'weather' } } },
      { ...base, tools: [], tool_choice: 'auto' },
      { ...base, response_format: { type: 'json_object' } },
      { ...base, response_format: { type: 'json_schema', json_schema: { schema: {}, name: 'answer' } } },
      { ...base, messages: [{ role: 'developer', content: 'be kind' }, user] },
      { ...base, messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] },
      {
        ...base,
        messages: [
          user,
          { role: 'assistant', content: null, tool_calls: [call] },
          { role: 'tool', tool_call_id: 'call_1', content: '{}' },
        ],
      },
      {
        ...base,
        messages: [user, { role: 'assistant', content: 'x', reasoning_content: 'y', tool_calls: null }],
      },
      { ...base, messages: [user, { role: 'assistant', content: null, refusal: 'no' }] },
    ];
    for (const request of sent) expect(faultsOf(request), JSON.stringify(request)).toEqual([]);
  });

  it('keeps the text byte for byte beside the value', () => {
    const text =
      '{"model":"tiny","messages":[{"role":"user","content":"hi"}],"seed":12345678901234567890,"x":1.10}';
    const { body } = parseChatRequest(text);
    expect(body.text).toBe(text);
    expect(body.value.model).toBe('tiny');
  });

  it('answers 422 with every fault, the first in the message', () => {
    let thrown: unknown;
    try {
      parseChatRequest('{"model":"","messages":[{"role":"user","content":5}],"temperature":3}');
    } catch (error) {
      thrown = error;
    }
    const error = thrown as ApiError;
    expect([error.status, error.code, error.param]).toEqual([422, 'validation_error', 'model']);
    expect(error.message).toBe('model: must not be empty (and 2 more)');
    expect(error.faults.map((fault) => fault.param)).toEqual(['model', 'messages[0].content', 'temperature']);
  });

  it.each([
    [[], ': expected an object, got an empty array'],
    [null, ': expected an object, got null'],
    ['text', ': expected an object, got "text"'],
    [{ messages: [user] }, 'model: required, but missing'],
    [{ model: 'm' }, 'messages: required, but missing'],
  ])('%j is no request', (value, expected) => {
    expect(faultsOf(value)).toEqual([expected]);
  });

  it.each([
    [{ n: 1_000_000 }, 'n: expected at most 16, got 1000000'],
    [{ n: 0 }, 'n: expected at least 1, got 0'],
    [{ max_tokens: -1 }, 'max_tokens: expected at least 1, got -1'],
    [{ max_tokens: 1e12 }, 'max_tokens: expected at most 2147483647, got 1000000000000'],
    [{ max_tokens: '5' }, 'max_tokens: expected an integer, got "5"'],
    [{ max_completion_tokens: 1.5 }, 'max_completion_tokens: expected an integer, got 1.5'],
    [{ temperature: 1e308 }, 'temperature: expected at most 2, got 1e+308'],
    [{ temperature: JSON.parse('1e400') }, 'temperature: expected at most 2, got a number that is too large'],
    [{ top_p: 1.1 }, 'top_p: expected at most 1, got 1.1'],
    [{ stop: ['a', ''] }, 'stop[1]: must not be empty'],
    [{ stop: 5 }, 'stop: expected a string or an array of strings, got 5'],
    [{ logit_bias: { '1': 1e9 } }, 'logit_bias["1"]: expected at most 100, got 1000000000'],
    [{ logit_bias: { 'a b': 1 } }, 'logit_bias["a b"]: expected a token id, got "a b"'],
    [{ top_logprobs: 21, logprobs: true }, 'top_logprobs: expected at most 20, got 21'],
    [{ top_logprobs: 2 }, 'top_logprobs: requires logprobs: true'],
    [
      { modalities: ['text', 'audio'] },
      'modalities[1]: expected "text" (answers are text only), got "audio"',
    ],
    [{ stream: 'yes' }, 'stream: expected a boolean, got "yes"'],
  ])('B21: refuses %j', (extra, expected) => {
    expect(faultsOf({ ...base, ...extra })).toEqual([expected]);
  });

  it('B21: refuses ten thousand stops by their number alone', () => {
    expect(faultsOf({ ...base, stop: Array.from({ length: 10_000 }, () => 5) })).toEqual([
      'stop: expected at most 4 items, got 10000',
    ]);
  });

  it('B21: refuses a thousand and one biases by their number alone', () => {
    const biases = Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [`${at}`, 'bad']));
    expect(faultsOf({ ...base, logit_bias: biases })).toEqual([
      'logit_bias: expected at most 1000 fields, got 1001',
    ]);
  });

  it.each([
    [[], 'messages: must not be empty'],
    ['hi', 'messages: expected an array, got "hi"'],
    [
      [{ role: 'usr', content: 'x' }],
      'messages[0].role: expected one of "system", "developer", "user", "assistant", "tool" or "function", got "usr"',
    ],
    [[{ role: 'function', content: 'x' }], 'messages[0].name: required, but missing'],
    [
      [{ role: 'function', name: 'f', content: 'x' }],
      'messages[0].name: no earlier assistant message calls "f"',
    ],
    [
      [user, { role: 'assistant', tool_calls: [call], function_call: { name: 'f', arguments: '{}' } }],
      'messages[1].function_call: cannot be combined with tool_calls',
    ],
    [[{ content: 'x' }], 'messages[0].role: required, but missing'],
    [[{ role: 'user' }], 'messages[0].content: required, but missing'],
    [
      [{ role: 'user', content: null }],
      'messages[0].content: expected a string or an array of parts, got null',
    ],
    [[{ role: 'system', content: 5 }], 'messages[0].content: expected a string or an array of parts, got 5'],
    [[{ role: 'user', content: [] }], 'messages[0].content: must not be empty'],
    [[{ role: 'user', content: [{ type: 'text' }] }], 'messages[0].content[0].text: required, but missing'],
    [[{ role: 'user', content: ['x'] }], 'messages[0].content[0]: expected an object, got "x"'],
    [
      [{ role: 'user', content: [{ type: 'video' }] }],
      'messages[0].content[0].type: expected one of "text", "refusal", "image_url", "input_audio" or "file", got "video"',
    ],
    [
      [user, { role: 'assistant', content: null }],
      'messages[1].content: an assistant message needs content, tool_calls or a refusal',
    ],
    [
      [user, { role: 'assistant', tool_calls: [] }],
      'messages[1].content: an assistant message needs content, tool_calls or a refusal',
    ],
    [[{ role: 'tool', content: 'x' }], 'messages[0].tool_call_id: required, but missing'],
    [
      [user, { role: 'tool', content: 'x', tool_call_id: 'call_9' }],
      'messages[1].tool_call_id: no earlier assistant message has the tool call "call_9"',
    ],
    [
      [user, { role: 'assistant', tool_calls: [{ ...call, function: { name: 'f', arguments: {} } }] }],
      'messages[1].tool_calls[0].function.arguments: expected a string, got an object',
    ],
  ])('B43: refuses the messages %j', (messages, expected) => {
    expect(faultsOf({ ...base, messages })).toEqual([expected]);
  });

  it('B43: refuses too many messages by their number alone', () => {
    const messages = Array.from({ length: 100_000 }, () => ({ role: 'nobody' }));
    expect(faultsOf({ ...base, messages })).toEqual(['messages: expected at most 10000 items, got 100000']);
  });

  it('B42: tools have legal, distinct names, and the forced one is among them', () => {
    const named = (name: string) => ({ type: 'function', function: { name } });
    expect(paramsOf({ ...base, tools: [named('a b')] })).toEqual(['tools[0].function.name']);
    expect(paramsOf({ ...base, tools: [named('x'.repeat(128))] })).toEqual([]);
    expect(paramsOf({ ...base, tools: [named('x'.repeat(129))] })).toEqual(['tools[0].function.name']);
    expect(paramsOf({ ...base, tools: [named('a'), named('b'), named('a')] })).toEqual([
      'tools[2].function.name',
    ]);
    expect(paramsOf({ ...base, tools: Array.from({ length: 10_000 }, () => 5) })).toEqual(['tools']);
    const forced = { type: 'function', function: { name: 'b' } };
    expect(paramsOf({ ...base, tools: [named('a')], tool_choice: forced })).toEqual([
      'tool_choice.function.name',
    ]);
    expect(paramsOf({ ...base, tool_choice: forced })).toEqual(['tool_choice.function.name']);
    expect(paramsOf({ ...base, tool_choice: 'required' })).toEqual(['tool_choice']);
    expect(paramsOf({ ...base, tools: [named('a')], tool_choice: 'sometimes' })).toEqual(['tool_choice']);
    expect(paramsOf({ ...base, tools: [named('a')], tool_choice: { type: 'function' } })).toEqual([
      'tool_choice.function',
    ]);
    expect(paramsOf({ ...base, tools: [named('a')], tool_choice: { type: 'custom' } })).toEqual([
      'tool_choice.custom',
    ]);
    const custom = (name: string, more = {}) => ({ type: 'custom', custom: { name, ...more } });
    expect(paramsOf({ ...base, tools: [named('a')], tool_choice: custom('a') })).toEqual([
      'tool_choice.custom.name',
    ]);
    expect(paramsOf({ ...base, tools: [named('a'), custom('a')] })).toEqual(['tools[1].custom.name']);
    const grammar = { type: 'grammar', grammar: { syntax: 'gbnf', definition: 'root ::= "x"' } };
    expect(paramsOf({ ...base, tools: [custom('a', { format: grammar })] })).toEqual([
      'tools[0].custom.format.grammar.syntax',
    ]);
    const lark = { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "x"' } };
    expect(paramsOf({ ...base, tools: [custom('a', { format: lark })] })).toEqual([]);
    expect(paramsOf({ ...base, tools: [{ type: 'custom' }] })).toEqual(['tools[0].custom']);
    expect(paramsOf({ ...base, tools: [named('a')], tool_choice: { type: 'allowed_tools' } })).toEqual([
      'tool_choice.allowed_tools',
    ]);
    const allowed = (mode: string, ...names: string[]) => ({
      type: 'allowed_tools',
      allowed_tools: { mode, tools: names.map(named) },
    });
    expect(paramsOf({ ...base, tools: [named('a')], tool_choice: allowed('required', 'b') })).toEqual([
      'tool_choice.allowed_tools.tools',
    ]);
    expect(paramsOf({ ...base, tools: [named('a')], tool_choice: allowed('required', 'b', 'a') })).toEqual(
      [],
    );
    // A tool of another type is another tool.
    const apart = [custom('a'), named('b')];
    expect(paramsOf({ ...base, tools: apart, tool_choice: allowed('required', 'a') })).toEqual([
      'tool_choice.allowed_tools.tools',
    ]);
  });

  it('a json_schema format has a name and a schema', () => {
    const format = (json_schema: unknown) => ({
      ...base,
      response_format: { type: 'json_schema', json_schema },
    });
    expect(paramsOf(format(undefined))).toEqual(['response_format.json_schema']);
    expect(paramsOf(format({ name: 'a' }))).toEqual(['response_format.json_schema.schema']);
    expect(paramsOf(format({ schema: {} }))).toEqual(['response_format.json_schema.name']);
    expect(paramsOf(format({ name: 'a', schema: [] }))).toEqual(['response_format.json_schema.schema']);
    expect(paramsOf({ ...base, response_format: { type: 'xml' } })).toEqual(['response_format.type']);
  });

  it('B44: images are inline, or URLs that the model accepts or rejects', () => {
    const image = (url: string) => ({
      ...base,
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
    });
    for (const url of ['data:image/png;base64,AAAA', 'http://h/a', 'HTTPS://example.com/a.png'])
      expect(paramsOf(image(url))).toEqual([]);
    for (const url of [
      'file:///etc/passwd',
      'ftp://h/a',
      'http:',
      'https:///',
      '//h/a',
      'DATA',
      ' https://h',
    ])
      expect(paramsOf(image(url))).toEqual(['messages[0].content[0].image_url.url']);
  });

  it('B44: so are audio and files', () => {
    const parts = (data: string, file: object) => ({
      ...base,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'input_audio', input_audio: { data, format: 'wav' } },
            { type: 'file', file },
          ],
        },
      ],
    });
    const long = 'AAAA'.repeat(100);
    for (const data of ['', 'AA==', long, `data:audio/wav;base64,${long}`])
      expect(paramsOf(parts(data, { file_data: data, filename: 'a: b' }))).toEqual([]);
    const at = 'messages[0].content';
    for (const url of ['http://169.254.169.254/', `file:///${long}`, 'https://example.com/a.pdf'])
      expect(paramsOf(parts(url, { file_data: url }))).toEqual([
        `${at}[0].input_audio.data`,
        `${at}[1].file.file_data`,
      ]);
    expect(paramsOf(parts('AA==', { file_id: 'file-of-another' }))).toEqual([`${at}[1].file.file_id`]);
  });

  it('reports at most a hundred faults', () => {
    const messages = Array.from({ length: 5_000 }, () => ({ role: 'nobody', content: 5 }));
    expect(checkChatRequest({ ...base, messages })).toHaveLength(100);
  });

  it('B25: a __proto__ in the body is data and pollutes nothing', () => {
    const text = '{"model":"m","messages":[{"role":"user","content":"x"}],"__proto__":{"polluted":1}}';
    expect(parseChatRequest(text).body.text).toBe(text);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
});
