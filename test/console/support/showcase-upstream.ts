import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import { setTimeout as wait } from 'node:timers/promises';
import type { Hours } from '../../../src/core/hours.ts';
import type { ModelConfig, OpenAiEngineConfig } from '../../../src/core/config.ts';
import { testModel, upstreamEngine } from '../../support/app.ts';
import { completion, type FakeUpstream, send, startFakeUpstream } from '../../support/fake-upstream.ts';

/** Servers of the showcase have names below this one, which is the machine itself. */
const domain = '.example';

/** Lets names of the showcase's servers resolve in this process. */
export function resolveNames(): void {
  const original = dns.lookup;
  const lookup = (host: string, ...rest: unknown[]) =>
    (original as (...all: unknown[]) => void)(host.endsWith(domain) ? '127.0.0.1' : host, ...rest);
  dns.lookup = Object.assign(lookup, original);
  syncBuiltinESMExports();
}

/** Starts the server of all models. @param realMs machine's time for a time of the showcase */
export function startUpstream(realMs: (ms: number) => number): Promise<FakeUpstream> {
  return startFakeUpstream((response, { path, text }) => {
    if (!path.endsWith('/chat/completions')) return send(response, 200, {});
    void answer(response, text, realMs);
  });
}

/** Models in all states: served, slow, unreachable, refused, drained, and outside of their hours. */
export function showcaseModels({ port }: FakeUpstream): ModelConfig[] {
  const server = (name: string, slots: number, at = port) => ({
    url: `http://${name}${domain}:${at}/v1`,
    apiKey: null,
    slots,
    weight: 1,
    drain: false,
  });
  const model = (
    id: string,
    price: number,
    replicas: OpenAiEngineConfig['replicas'],
    hours?: Hours,
  ): ModelConfig => ({
    ...testModel({ ...upstreamEngine(''), model: id, replicas, timeouts }),
    id,
    aliases: [],
    prices: { input: price, cachedInput: price / 4, output: 4 * price },
    ...(hours && { hours }),
  });
  return [
    model('qwen3-32b', 200_000_000, [server('gpu-1', 16), server('gpu-2', 16)]),
    model('llama-3.1-8b', 50_000_000, [server('gpu-3', 32)]),
    model('gemma-3-12b', 80_000_000, [server('gpu-4', 8)]),
    model('deepseek-r1', 550_000_000, [server('gpu-5', 16)], nightHours()),
    model('mistral-large', 800_000_000, [server('gpu-6', 16, 9)]),
    model('gpt-oss-120b', 150_000_000, [server('gpu-7', 8)]),
    model('phi-4', 70_000_000, [server('gpu-8', 8)]),
  ];
}

/** As long as the showcase runs fast, a slow machine looks slower. */
const timeouts = { connectMs: 200_000, firstByteMs: 600_000, idleMs: 600_000, totalMs: 1_200_000 };

/** Hours that begin three hours from now, in UTC. */
function nightHours(): Hours {
  const from = ((Math.floor(Date.now() / 3_600_000) + 3) % 24) * 60;
  return { from, to: (from + 480) % 1_440, zone: 'UTC', share: 0 };
}

/** Duration of an answer in milliseconds. */
const answerMs: Readonly<Record<string, number>> = { 'llama-3.1-8b': 2_600, 'gemma-3-12b': 30_000 };

interface ChatBody {
  model: string;
  messages: { content: string }[];
  response_format?: object;
}

/** Prompts that were answered before, rightly or not. */
const answered = new Set<string>();

async function answer(
  response: Parameters<typeof send>[0],
  text: string,
  realMs: (ms: number) => number,
): Promise<void> {
  const body = JSON.parse(text) as ChatBody;
  const prompt = body.messages.at(-1)!.content;
  const size = prompt.length % 7;
  await wait(realMs((answerMs[body.model] ?? 4_000) * (0.7 + size / 10)));
  if (response.destroyed) return;
  if (body.model === 'gpt-oss-120b')
    return send(response, 401, { error: { message: 'Incorrect API key provided.' } });
  const failure = failures.find(({ mark }) => prompt.startsWith(mark));
  const isRepeated = answered.has(prompt);
  answered.add(prompt);
  // A model decides at the second time.
  if (failure && !(isRepeated && failure.mark === 'Undecided: '))
    return send(response, failure.status, { error: failure.error });
  const content = body.response_format
    ? JSON.stringify(decisions[prompt.length % decisions.length])
    : (answers.find(({ to }) => prompt.includes(to))?.text ?? 'It was sent yesterday.');
  const cached = prompt.length % 3 > 0 ? 288 : 0;
  const usage = {
    prompt_tokens: 400 + 9 * size,
    completion_tokens: 80 + 7 * size,
    total_tokens: 480 + 16 * size,
    prompt_tokens_details: { cached_tokens: cached },
  };
  send(response, 200, completion(content, { usage }));
}

/** Failures of prompts that begin with a mark. */
export const failures = [
  {
    mark: 'No labels: ',
    status: 400,
    error: { message: 'The transcript has no speaker labels.', type: 'invalid_request_error' },
  },
  {
    mark: 'Too long: ',
    status: 400,
    error: {
      message: "This model's maximum context length is 32768 tokens. However, you requested 41230 tokens.",
      code: 'context_length_exceeded',
      type: 'invalid_request_error',
    },
  },
  {
    mark: 'Undecided: ',
    status: 502,
    error: { message: 'The answer has no member "team".', code: 'schema_not_met' },
  },
] as const;

/** Answers by a word of the prompt. */
const answers = [
  {
    to: 'Describe',
    text: 'A light jacket that keeps rain out and lets warmth escape. Its hood folds into the collar.',
  },
  { to: 'Summarise', text: 'The customer asks for a corrected invoice and was promised one by Friday.' },
  { to: 'Translate', text: 'Retours gratuits sous 30 jours.' },
  { to: 'keywords', text: 'merino, base layer, women' },
  { to: 'Which team', text: 'Billing' },
];

const decisions = [
  { team: 'Billing', priority: 2, reason: 'Wrong address on the invoice', refund: false },
  { team: 'Shipping', priority: 1, reason: 'Parcel lost for two weeks', refund: true },
  { team: 'Accounts', priority: 3, reason: 'Wants to change the email address', refund: false },
];
