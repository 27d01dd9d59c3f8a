import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { startApp } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';
import { allFences } from './fences.ts';

// Runs the configurations of docs/engines with one fake server in place of every host, and checks that requests have
// the path, the key and the model that the API of each provider expects.

const root = fileURLToPath(new URL('../..', import.meta.url));
const configs = allFences(root).filter(
  ({ page, language, text }) =>
    page.startsWith('docs/engines/') && language === 'yaml' && text.includes('kind: openai'),
);

/** Path, key header and model of a request at the upstream. */
type UpstreamRequest = [path: string, key: Record<string, string>, model: string];

const bearer = (name: string) => ({ authorization: `Bearer ${secret(name)}` });
const secret = (name: string) => `${name}-0123456789`;
const chat = '/v1/chat/completions';

/** Expected chat completion requests, by page and model. */
const chats: Record<string, UpstreamRequest> = {
  'anthropic claude': ['/v1/messages', { 'x-api-key': secret('ANTHROPIC_API_KEY') }, 'claude-sonnet-5'],
  'azure gpt-4.1-mini': [
    '/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21',
    { 'api-key': secret('AZURE_OPENAI_API_KEY') },
    'my-deployment',
  ],
  'gateways qwen3-8b': [chat, {}, 'gateways qwen3-8b'],
  'gateways qwen3-30b': [chat, {}, 'gateways qwen3-30b'],
  'llama-server qwen3-8b': [chat, {}, 'qwen3-8b'],
  'ollama qwen3-8b': [chat, {}, 'qwen3:8b'],
  'openai gpt-4.1-mini': [chat, bearer('OPENAI_API_KEY'), 'gpt-4.1-mini'],
  'openrouter llama-70b': [
    '/api/v1/chat/completions',
    bearer('OPENROUTER_API_KEY'),
    'meta-llama/llama-3.3-70b-instruct',
  ],
  'others gemini': ['/v1beta/openai/chat/completions', bearer('GEMINI_API_KEY'), 'gemini-2.5-flash'],
  'others mistral': [chat, bearer('MISTRAL_API_KEY'), 'mistral-small-latest'],
  'others deepseek': [chat, bearer('DEEPSEEK_API_KEY'), 'deepseek-chat'],
  'others glm': ['/api/paas/v4/chat/completions', bearer('ZAI_API_KEY'), 'glm-5'],
  'others grok': [chat, bearer('XAI_API_KEY'), 'grok-4'],
  // Without `model`, the id is sent.
  'others qwen3-32b': [chat, bearer('OTHER_KEY'), 'others qwen3-32b'],
  'sglang qwen3-32b': [chat, {}, 'Qwen/Qwen3-32B'],
  'vllm qwen3-32b': [chat, {}, 'Qwen/Qwen3-32B'],
};

const keyHeaders = ['authorization', 'api-key', 'x-api-key'];

let upstream: FakeUpstream;
let offpeak: RunningApp;
let ids: string[];

beforeAll(async () => {
  upstream = await startFakeUpstream();
  const models = configs.flatMap(({ page, text }) => {
    const here = text.replaceAll(/https?:\/\/[^/\s]+/g, new URL(upstream.url).origin);
    const names = Array.from(text.matchAll(/\$\{(\w+)\}/g), ([, name = '']) => name);
    const config = loadConfig({
      env: Object.fromEntries(names.map((name) => [name, secret(name)])),
      cwd: root,
      exists: () => true,
      readFile: () => here,
    });
    return config.models.map((model) => ({ ...model, id: `${basename(page, '.md')} ${model.id}` }));
  });
  ids = models.map(({ id }) => id);
  offpeak = await startApp({ models });
});

afterAll(async () => {
  await offpeak?.stop();
  await upstream.close();
});

/** Upstream requests caused by this request. */
async function requestsFor(path: string, body: object): Promise<UpstreamRequest[]> {
  const before = upstream.received.length;
  await offpeak.api.post(path, body);
  return upstream.received
    .slice(before)
    .filter(({ text }) => text.includes('Rome'))
    .map(({ path: came, headers, text }) => [
      came,
      Object.fromEntries(
        Object.entries(headers).filter(([name]) => keyHeaders.includes(name)),
      ) as UpstreamRequest[1],
      (JSON.parse(text) as { model: string }).model,
    ]);
}

describe('the configurations of docs/engines', () => {
  it('are all tested', () => {
    expect(ids.toSorted()).toEqual(Object.keys(chats).toSorted());
  });

  it.each(Object.entries(chats))('send a chat completion: %s', async (model, expected) => {
    const messages = [{ role: 'user', content: 'Rome' }];
    expect(await requestsFor('/v1/chat/completions', { model, messages })).toEqual([expected]);
  });

  it('pass requests on natively where the page says so', async () => {
    const response = await requestsFor('/v1/responses', { model: 'openai gpt-4.1-mini', input: 'Rome' });
    expect(response).toEqual([['/v1/responses', ...chats['openai gpt-4.1-mini']!.slice(1)]]);
    const messages = [{ role: 'user', content: 'Rome' }];
    const message = { model: 'anthropic claude', max_tokens: 9, messages };
    expect(await requestsFor('/v1/messages', message)).toEqual([chats['anthropic claude']]);
  });
});
