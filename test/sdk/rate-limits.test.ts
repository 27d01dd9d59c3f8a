import Anthropic from '@anthropic-ai/sdk';
import { afterEach, describe, expect, it } from 'vitest';
import { type RunningServer, startServer } from '../server/support/start-server.ts';
import { createClient, sdks } from './clients.ts';

// A limit of 30 per minute admits the next request after 2 s. The back-off that the clients choose by themselves is shorter: both
// retries would be refused.

let app: RunningServer;
afterEach(() => app.stop());

const messages = [{ role: 'user' as const, content: 'hello' }];

function counted() {
  const answers: { status: number; headers: Headers }[] = [];
  const counting: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    answers.push(response);
    return response;
  };
  return { answers, fetch: counting };
}

async function useUp() {
  app = await startServer({ requestLimits: { org: { requestsPerMinute: 30 } } });
  const all = Array.from({ length: 30 }, () =>
    app.call('POST', '/v1/chat/completions', { json: { model: 'tiny', messages } }),
  );
  for (const { status } of await Promise.all(all)) expect(status).toBe(200);
}

describe('a limit that is used up', () => {
  it.each(sdks)('makes $name wait as told, once', async ({ sdk }) => {
    await useUp();
    const { answers, fetch } = counted();
    const client = createClient(sdk, { url: app.url, key: app.keys.a, maxRetries: 2, fetch });
    const { data, response } = await client.chat.completions
      .create({ model: 'tiny', messages })
      .withResponse();
    expect(data.choices[0]!.message.content).toBe('Echo: hello');
    expect(answers.map(({ status }) => status)).toEqual([429, 200]);
    expect(Number(answers[0]!.headers.get('retry-after-ms'))).toBeLessThanOrEqual(2_000);
    expect(response.headers.get('x-ratelimit-limit-requests')).toBe('30');
  });

  it('is a RateLimitError that names the limit', async () => {
    await useUp();
    const [{ sdk }] = sdks as [(typeof sdks)[0]];
    const client = createClient(sdk, { url: app.url, key: app.keys.a });
    const error = await client.responses
      .create({ model: 'tiny', input: 'hello' })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(sdk.RateLimitError);
    expect(String(error)).toContain('30 requests per minute (requests_per_minute), is used up: 30 used');
  });

  it('makes the Anthropic client wait as told, once', async () => {
    await useUp();
    const { answers, fetch } = counted();
    const client = new Anthropic({
      baseURL: app.url,
      apiKey: null,
      authToken: app.keys.a,
      maxRetries: 2,
      fetch,
    });
    const message = await client.messages.create({ model: 'tiny', max_tokens: 50, messages });
    expect(message.content).toMatchObject([{ type: 'text', text: 'Echo: hello' }]);
    expect(answers.map(({ status }) => status)).toEqual([429, 200]);
    expect(answers[1]!.headers.get('anthropic-ratelimit-requests-limit')).toBe('30');
  });
});
