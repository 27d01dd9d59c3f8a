import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMessagesClient, messagesSdks } from './anthropic-clients.ts';
import { createClient, sdks } from './clients.ts';
import { errorRows, retryHeaderRows, messageFor } from './errors/error-rows.ts';
import type { ErrorRow } from './errors/error-rows.ts';
import { startRaisingServer } from './errors/raising-server.ts';
import type { RaisingServer } from './errors/raising-server.ts';

// Every error as unmodified clients see it: class, message, request ID and automatic retries.

const rows = [...errorRows, ...retryHeaderRows];
const named = rows.map((row, n) => ({
  ...row,
  n,
  title: `${row.status} ${row.code}${retryHeaderRows.includes(row) ? ', not to be tried again' : ''}`,
}));

let server: RaisingServer;

beforeAll(async () => void (server = await startRaisingServer(rows)));
afterAll(() => server?.stop());

interface Raised {
  status: number;
  message: string;
  requestID: string;
  code: string;
  type: string;
  param: string | null;
  errorCode: string;
  error: { error: { code: string } };
}

/** Error of the call, and the number of times that it reached the model. */
async function failing(prompt: string, call: Promise<unknown>) {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return { error: error as Raised, attempts: server.attempts(prompt) };
}

function expectRaised({ error, attempts }: Awaited<ReturnType<typeof failing>>, row: ErrorRow): void {
  expect(error.status).toBe(row.status);
  expect(error.message).toBe(`${row.status} ${messageFor(row)}`);
  expect(error.requestID).toMatch(/^req_/);
  expect(attempts).toBe(row.retried ? 2 : 1);
}

describe.each(sdks)('errors in $name', ({ name, sdk }) => {
  const classes = sdk as unknown as Record<string, new () => Error>;

  it.concurrent.for(named)('$title', async (row) => {
    const client = createClient(sdk, { ...server, maxRetries: 1 });
    const prompt = (how: string) => `${row.n} ${name} ${how}`;
    const chat = (how: string, more: object = {}) =>
      failing(
        prompt(how),
        client.chat.completions.create({
          model: 'tiny',
          messages: [{ role: 'user', content: prompt(how) }],
          ...more,
        }),
      );
    const respond = (how: string, more: object = {}) =>
      failing(prompt(how), client.responses.create({ model: 'tiny', input: prompt(how), ...more }));
    const raised = await Promise.all([
      chat('chat'),
      chat('chat stream', { stream: true }),
      respond('responses'),
      respond('responses stream', { stream: true }),
    ]);
    for (const each of raised) {
      expectRaised(each, row);
      expect(each.error.constructor).toBe(classes[row.openai]);
      const { code, type } = each.error;
      expect({ code, type }).toEqual({ code: row.code, type: row.type });
    }
    expect(raised[0].error.param).toBe(row.options?.param ?? null);
  });
});

describe.each(messagesSdks)('errors in $name', ({ name, sdk, isOld }) => {
  const classes = sdk as unknown as Record<string, new () => Error>;
  const general = (status: number) => (status < 500 ? sdk.APIError : sdk.InternalServerError);

  it.concurrent.for(named)('$title', async (row) => {
    const client = createMessagesClient(sdk, { ...server, maxRetries: 1 });
    const ask = (how: string, more: object = {}) => {
      const content = `${row.n} ${name} ${how}`;
      const asked = { model: 'tiny', max_tokens: 5, messages: [{ role: 'user' as const, content }] };
      return failing(content, client.messages.create({ ...asked, ...more }));
    };
    for (const each of await Promise.all([ask('plain'), ask('stream', { stream: true })])) {
      expectRaised(each, row);
      expect(each.error.constructor).toBe(classes[row.anthropic] ?? general(row.status));
      expect(each.error.type).toBe(row.messagesType ?? row.type);
      expect(each.error.error.error.code).toBe(row.code);
      if (!isOld) expect(each.error.errorCode).toBe(row.code);
    }
  });
});
