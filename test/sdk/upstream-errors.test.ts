import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { send, startFakeUpstream } from '../support/fake-upstream.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';
import { createMessagesClient, messagesSdks } from './anthropic-clients.ts';
import { createClient, sdks } from './clients.ts';

// Errors that clients see when an upstream rejects requests: Offpeak's own, with sensible retries.

const tooLong = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.";
const noModel = "The model 'x' does not exist";
const secret = 'sk-of-the-operator';
const refusal = `The key ${secret} is not good`;

const table = [
  // Upstream status and message; our status and code; whether clients retry; our message.
  [400, tooLong, 400, 'context_length_exceeded', false, /4096.*5000/],
  [400, 'top_k is unknown', 400, 'request_refused', false, /refused the request .*top_k is unknown/],
  [401, refusal, 502, 'upstream_error', false, /refuses this service/],
  [402, refusal, 502, 'upstream_error', false, /refuses this service/],
  [403, refusal, 502, 'upstream_error', false, /refuses this service/],
  [404, noModel, 404, 'model_not_found', false, /does not have the model \(status 404\)\.$/],
  [408, 'slow', 504, 'upstream_timeout', true, /gave up waiting/],
  [409, 'no', 502, 'upstream_error', false, /refused the request/],
  [413, 'large', 400, 'request_refused', false, /refused the request/],
  [422, 'no', 400, 'request_refused', false, /refused the request/],
  [429, 'busy', 503, 'engine_overloaded', true, /takes no more requests/],
  [500, 'broken', 502, 'upstream_error', true, /status 500/],
  [502, 'broken', 502, 'upstream_error', true, /status 502/],
  [503, 'busy', 503, 'engine_overloaded', true, /takes no more requests/],
  [504, 'slow', 504, 'upstream_timeout', true, /gave up waiting/],
  [529, 'busy', 503, 'engine_overloaded', true, /takes no more requests/],
] as const;

const rows = table.map(([theirs, says, status, code, retried, message], n) => ({
  n,
  theirs,
  says,
  status,
  code,
  retried,
  message,
  title: `its ${theirs} is our ${status} ${code}`,
}));
type Row = (typeof rows)[number];

let upstream: FakeUpstream;
let running: RunningApp;

beforeAll(async () => {
  upstream = await startFakeUpstream((response, { text }) => {
    const [, index] = /row (\d+)/.exec(text)!;
    const { theirs, says } = rows[Number(index)]!;
    send(response, theirs, { error: { message: says, type: 'x', code: null } }, { 'retry-after': '1' });
  });
  // One model per row, because a model that failed permanently rejects the next request as well.
  const model = testModel(upstreamEngine(upstream.url, 1000));
  const names = [...sdks, ...messagesSdks].flatMap(({ name }) => rows.map((row) => modelOf(row, name)));
  running = await startApp({ models: names.map((id) => ({ ...model, id, aliases: [] })) });
});

afterAll(async () => {
  await running?.stop();
  await upstream?.close();
});

function modelOf(row: Row, sdk: string): string {
  return `${sdk.replaceAll(' ', '-')}-${row.n}`;
}

interface Raised {
  status: number;
  message: string;
  requestID: string;
  error: object;
}

async function expectRow(row: Row, prompt: string, call: Promise<unknown>): Promise<void> {
  const error = (await call.catch((thrown: unknown) => thrown)) as Raised;
  expect(error.status).toBe(row.status);
  expect(error.message).toMatch(row.message);
  expect(error.requestID).toMatch(/^req_/);
  expect(JSON.stringify(error.error)).toContain(`"code":"${row.code}"`);
  expect(JSON.stringify(error.error)).not.toContain(secret);
  const attempts = upstream.received.filter(({ text }) => text.includes(prompt));
  expect(attempts).toHaveLength(row.retried ? 2 : 1);
}

describe.each(sdks)('upstream rejections through $name', ({ name, sdk }) => {
  it.concurrent.for(rows)('$title', async (row) => {
    const client = createClient(sdk, { ...running, maxRetries: 1 });
    const content = `row ${row.n} ${name}`;
    const messages = [{ role: 'user' as const, content }];
    await expectRow(row, content, client.chat.completions.create({ model: modelOf(row, name), messages }));
  });
});

describe.each(messagesSdks)('upstream rejections through $name', ({ name, sdk }) => {
  it.concurrent.for(rows)('$title', async (row) => {
    const client = createMessagesClient(sdk, { ...running, maxRetries: 1 });
    const content = `row ${row.n} ${name}`;
    const messages = [{ role: 'user' as const, content }];
    await expectRow(
      row,
      content,
      client.messages.create({ model: modelOf(row, name), max_tokens: 5, messages }),
    );
  });
});
