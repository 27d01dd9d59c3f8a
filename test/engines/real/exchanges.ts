/** Requests sent to every server directly, to record its answers. */

export interface Exchange {
  /** Name of the recording's file. */
  name: string;
  /** Path below the root of the server, including `/v1`. */
  path: string;
  /** Body of a POST request; absent for a GET request. */
  body?: Record<string, unknown>;
  /** Flavors that support the request; all if absent. */
  only?: readonly string[];
}

/** Exchange with the server's answer. */
export interface Recording extends Exchange {
  status: number;
  type: string;
  /** Answer as received. */
  answer: string;
}

const model = 'offpeak-tiny';
const user = (content: unknown) => ({ model, messages: [{ role: 'user', content }] });
const chat = (name: string, body: Record<string, unknown>): Exchange => ({
  name,
  path: '/v1/chat/completions',
  body: { temperature: 0, seed: 1, ...body },
});
export const pixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
export const long = 'a word '.repeat(600);
export const weather = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string', maxLength: 12 } },
      required: ['city'],
      additionalProperties: false,
    },
  },
};
const schema = {
  type: 'object',
  properties: { sentiment: { enum: ['positive', 'negative'] } },
  required: ['sentiment'],
  additionalProperties: false,
};
/** Prompt in the template of the model. */
const raw = '<|im_start|>user\nSay hello.<|im_end|>\n<|im_start|>assistant\n';
const completion = (name: string, body: Record<string, unknown>): Exchange => ({
  name: `completion-${name}`,
  path: '/v1/completions',
  body: { model, prompt: raw, max_tokens: 3, temperature: 0, seed: 1, ...body },
});
const calling = { ...user('Weather in Paris?'), tools: [weather], max_tokens: 100 };

export const exchanges: readonly Exchange[] = [
  { name: 'models', path: '/v1/models' },
  { name: 'props', path: '/props', only: ['llama-server'] },
  { name: 'metrics', path: '/metrics', only: ['vllm', 'sglang'] },
  { name: 'show', path: '/api/show', body: { model }, only: ['ollama'] },
  chat('answer', { ...user('Say hello.'), max_tokens: 12 }),
  chat('stream', {
    ...user('Say hello.'),
    max_tokens: 8,
    stream: true,
    stream_options: { include_usage: true },
  }),
  {
    ...chat('progress', {
      ...user('Say hello.'),
      max_tokens: 2,
      stream: true,
      stream_options: { include_usage: true },
      return_progress: true,
    }),
    only: ['llama-server'],
  },
  chat('stop', { ...user('Say hello.'), max_tokens: 30, stop: ['m'] }),
  chat('logprobs', { ...user('Say hello.'), max_tokens: 2, logprobs: true }),
  chat('call', { ...calling, tool_choice: 'required' }),
  chat('call-strict', {
    ...calling,
    tools: [{ ...weather, function: { ...weather.function, strict: true } }],
    tool_choice: 'required',
  }),
  chat('call-stream', {
    ...calling,
    tool_choice: 'required',
    stream: true,
    stream_options: { include_usage: true },
  }),
  chat('too-long', user(long)),
  chat('many-tokens', { ...user('Say hello.'), max_tokens: 100_000, stop: ['m'] }),
  chat('image', user([{ type: 'image_url', image_url: { url: pixel } }])),
  chat('unknown-model', { ...user('Say hello.'), model: 'nobody', max_tokens: 2 }),
  chat('call-named', {
    ...calling,
    tools: [weather, { type: 'function', function: { ...weather.function, name: 'get_time' } }],
    tool_choice: { type: 'function', function: { name: 'get_time' } },
  }),
  // Not at temperature 0, which vLLM rejects together with it.
  chat('n', { ...user('Say hello.'), max_tokens: 3, n: 2, temperature: 0.01 }),
  chat('n-greedy', { ...user('Say hello.'), max_tokens: 3, n: 2 }),
  chat('schema', {
    ...user('I love it. Sentiment?'),
    max_tokens: 100,
    response_format: { type: 'json_schema', json_schema: { name: 'review', strict: true, schema } },
  }),
  chat('effort-none', { ...user('Say hello.'), max_tokens: 2, reasoning_effort: 'none' }),
  chat('effort-high', { ...user('Say hello.'), max_tokens: 2, reasoning_effort: 'high' }),
  chat('role-developer', {
    model,
    messages: [
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: 'Say hello.' },
    ],
    max_tokens: 2,
  }),
  completion('text', {}),
  completion('stream', { stream: true, stream_options: { include_usage: true } }),
  completion('tokens', { prompt: [918, 4] }),
  completion('lists', { prompt: [raw, 'Hello'] }),
  completion('n', { n: 2, temperature: 0.01 }),
  completion('best-of', { best_of: 2 }),
  completion('echo', { echo: true, logprobs: 1, max_tokens: 1 }),
  completion('logprobs', { logprobs: 1, max_tokens: 2 }),
  completion('suffix', { suffix: ' I am' }),
  chat('usage-first', {
    ...user('Say hello.'),
    max_tokens: 2,
    stream: true,
    stream_options: { include_usage: true, continuous_usage_stats: true },
  }),
  { name: 'messages', path: '/v1/messages', body: { ...user('Say hello.'), max_tokens: 2, temperature: 0 } },
  {
    name: 'responses',
    path: '/v1/responses',
    body: { model, input: 'Say hello.', max_output_tokens: 2, temperature: 0 },
  },
  {
    name: 'tokenize',
    path: '/tokenize',
    body: { ...user('Say hello.'), add_generation_prompt: true },
    only: ['vllm'],
  },
  {
    name: 'input-tokens',
    path: '/v1/responses/input_tokens',
    body: { model, input: 'Say hello.' },
    only: ['llama-server', 'vllm'],
  },
  { name: 'embeddings', path: '/v1/embeddings', body: { model, input: 'Hello' } },
  { name: 'embeddings-too-long', path: '/v1/embeddings', body: { model, input: long } },
];
