import { describe, expect, it } from 'vitest';
import type { TestContext } from 'vitest';
import { startApp, testModel } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { createApi } from '../support/api.ts';
import { chatLine, chatLines, endings, parseLines } from '../support/batch-lines.ts';
import { completion, send, startFakeUpstream } from '../support/fake-upstream.ts';
import type { Responder, FakeUpstream } from '../support/fake-upstream.ts';
import { until } from '../support/until.ts';

// Upstreams that reject requests, fail and recover: no org pays for faults that are not its own.

const timeouts = { connectMs: 10_000, firstByteMs: 30_000, idleMs: 30_000, totalMs: 60_000 };
const prompts = (text: string) =>
  (JSON.parse(text) as { messages: { content: string }[] }).messages.at(-1)!.content;

async function serverOf(answer: Responder, { onTestFinished }: TestContext): Promise<FakeUpstream> {
  const fake = await startFakeUpstream(answer);
  onTestFinished(() => fake.close());
  return fake;
}

async function appOver(servers: FakeUpstream[], { onTestFinished }: TestContext): Promise<RunningApp> {
  const replicas = servers.map(({ url }) => ({ url, apiKey: null, slots: 8, weight: 1, drain: false }));
  const model = testModel({ kind: 'openai', flavor: 'openai', replicas, model: 'real-name', timeouts });
  const running = await startApp({ models: [model], keys: [{ org: 'Other' }] });
  onTestFinished(() => running.stop());
  return running;
}

describe.concurrent('a line that its upstream always rejects', () => {
  it.concurrent('ends as an error, while lines of another org continue', async (context) => {
    const server = await serverOf((response, { text }) => {
      if (prompts(text).startsWith('forbidden')) return send(response, 403, { error: { message: 'no' } });
      send(response, 200, completion('fine'));
    }, context);
    const running = await appOver([server], context);
    const other = createApi(running.url, running.keys[0]!);
    const refused = await running.api.createBatch({ requests: [chatLine('x', 'forbidden')] });
    const good = await other.createBatch({ requests: chatLines(400) });
    expect((await other.finished(good.id)).request_counts).toEqual({ total: 400, completed: 400, failed: 0 });
    expect((await running.api.finished(refused.id)).request_counts).toMatchObject({ failed: 1 });
    const [line] = parseLines((await running.api.results(refused.id, 'errors')).text);
    expect(line!.error).toMatchObject({ code: 'upstream_error' });
  });

  it.concurrent.for([401, 429, 503])(
    'F20: waits alone on a global status (%i), while lines of another org continue',
    async (status, context) => {
      const server = await serverOf((response, { text }) => {
        if (prompts(text).startsWith('forbidden'))
          return send(response, status, { error: { message: 'no' } });
        setTimeout(() => send(response, 200, completion('fine')), 5);
      }, context);
      const running = await appOver([server], context);
      const other = createApi(running.url, running.keys[0]!);
      await running.api.createBatch({ requests: [chatLine('x', 'forbidden')] });
      const good = await other.createBatch({ requests: chatLines(400) });
      const counts = { total: 400, completed: 400, failed: 0 };
      expect((await other.finished(good.id)).request_counts).toEqual(counts);
      const refused = server.received.filter(({ text }) => prompts(text).startsWith('forbidden'));
      expect(refused.length).toBeLessThan(12);
    },
  );
});

describe.concurrent('a single line on which its upstream fails', () => {
  const words = 'No available workers (all circuits open or unhealthy)';

  it.concurrent.for([
    [503, 'engine_overloaded', 5],
    [500, 'upstream_error', 3],
  ] as const)(
    "with %i ends with the upstream's message, while other chats are answered",
    async ([status, code, most], context) => {
      const server = await serverOf((response, { text }) => {
        if (prompts(text).startsWith('forbidden'))
          return send(response, status, { error: { message: words } });
        send(response, 200, completion('fine'));
      }, context);
      const running = await appOver([server], context);
      const { id } = await running.api.createBatch({
        requests: [...chatLines(19), chatLine('x', 'forbidden')],
      });
      const statuses = new Set<number>();
      const messages = [{ role: 'user', content: 'hello' }];
      const over = new AbortController();
      const chats = (async () => {
        while (!over.signal.aborted)
          statuses.add(
            (await running.api.send('/v1/chat/completions', { json: { model: 'default', messages } })).status,
          );
      })();
      const batch = await running.api.finished(id);
      over.abort();
      await chats;
      expect(batch.request_counts).toEqual({ total: 20, completed: 19, failed: 1 });
      const [line] = parseLines((await running.api.results(id, 'errors')).text);
      expect(line!.error).toMatchObject({ code, retryable: true });
      expect(line!.error!.message).toContain(`(status ${status}). It says: ${words}`);
      expect([...statuses]).toEqual([200]);
      const asked = server.received.filter(({ text }) => prompts(text).startsWith('forbidden'));
      expect(asked).toHaveLength(most);
    },
  );

  it.concurrent('without other traffic, ends after probes with one token', async (context) => {
    const server = await serverOf((response, { text }) => {
      if (prompts(text) === 'Hi') return send(response, 200, completion('H'));
      send(response, 503, { error: { message: words } });
    }, context);
    const running = await appOver([server], context);
    const { id } = await running.api.createBatch({ requests: [chatLine('x', 'forbidden')] });
    expect((await running.api.finished(id)).request_counts).toMatchObject({ failed: 1 });
    const told = server.received.map(({ text }) => JSON.parse(text) as Record<string, unknown>);
    expect(
      told.filter((each) => each['max_completion_tokens'] === 1 || each['max_tokens'] === 1),
    ).toHaveLength(5);
    expect(told).toHaveLength(10);
  });

  it.concurrent('ends at once if the upstream filters it and returns no choices', async (context) => {
    const server = await serverOf((response, { text }) => {
      if (!prompts(text).startsWith('forbidden')) return send(response, 200, completion('fine'));
      send(response, 200, { object: 'chat.completion', choices: [], usage: { prompt_tokens: 7 } });
    }, context);
    const running = await appOver([server], context);
    const filtered = Array.from({ length: 20 }, (_, n) => chatLine(`x${n}`, `forbidden ${n}`));
    const { id } = await running.api.createBatch({ requests: [...filtered, ...chatLines(20)] });
    const batch = await running.api.finished(id);
    expect(batch).toMatchObject({ waiting: null, request_counts: { total: 40, completed: 40, failed: 0 } });
    expect(server.received).toHaveLength(40);
    const lines = parseLines((await running.api.results(id, 'output')).text);
    const ends = lines.map(
      ({ response }) =>
        (response!.body as unknown as { choices: [{ finish_reason: string }] }).choices[0].finish_reason,
    );
    expect(ends.filter((finish) => finish === 'content_filter')).toHaveLength(20);
  });
});

describe.concurrent('an upstream with only embeddings', () => {
  it.concurrent('ends chat lines and their batch at once', async (context) => {
    const server = await serverOf((response, { path }) => {
      if (path.endsWith('/embeddings'))
        return send(response, 200, { data: [{ index: 0, embedding: [1, 0] }] });
      send(response, 404, { detail: 'Not Found' });
    }, context);
    const running = await appOver([server], context);
    const { id } = await running.api.createBatch({ requests: chatLines(3) });
    expect((await running.api.finished(id)).request_counts).toMatchObject({ failed: 3 });
    const lines = parseLines((await running.api.results(id, 'errors')).text);
    expect(lines.map(({ error }) => error?.code)).toEqual(Array(3).fill('model_not_found'));
  });
});

describe.concurrent('an upstream with an outage', () => {
  const outages: [string, Responder][] = [
    ['answers 404 during a deployment', (response) => send(response, 404, 'no such path')],
    ['answers 405', (response) => send(response, 405, '')],
    ['answers 502', (response) => send(response, 502, '<html>Bad Gateway</html>')],
    ['loads its model', (response) => send(response, 503, { error: { message: 'Loading model' } })],
    ['rejects the API key', (response) => send(response, 401, { error: { message: 'Incorrect API key' } })],
    [
      'does not have the model',
      (response) => send(response, 404, { error: { message: 'The model `x` does not exist' } }),
    ],
    ['resets connections', (response) => void response.socket?.resetAndDestroy()],
  ];

  // Each waits until its upstream is probed again.
  it.concurrent.for(outages)('costs no line an attempt: it %s', async ([, outage], context) => {
    const server = await serverOf(outage, context);
    server.models = outage;
    const running = await appOver([server], context);
    const { id } = await running.api.createBatch({ requests: chatLines(60) });
    // Long enough for each line to fail three times if it were sent.
    await until('some tries', () => server.received.length >= 3);
    const asked = server.received.filter(({ path }) => path.endsWith('/chat/completions')).length;
    expect(asked).toBeLessThan(40);
    server.answer = (response) => send(response, 200, completion('fine'));
    server.models = null;
    const batch = await running.api.finished(id);
    expect(batch.request_counts).toEqual({ total: 60, completed: 60, failed: 0 });
  });
});

describe('one of two upstreams', () => {
  it('F33: may fail and recover: no line fails, no single request notices, and it is used again', async (context) => {
    let isAway = false;
    const slow: Responder = (response) => void setTimeout(() => send(response, 200, completion('fine')), 5);
    const steady = await serverOf(slow, context);
    const other = await serverOf(
      (response, received) => (isAway ? response.socket?.resetAndDestroy() : slow(response, received)),
      context,
    );
    const running = await appOver([steady, other], context);
    const { id } = await running.api.createBatch({ requests: chatLines(600) });
    await until('both at work', () => other.received.length > 50);
    isAway = true;
    const messages = [{ role: 'user', content: 'row 1' }];
    const ask = () => running.api.send('/v1/chat/completions', { json: { model: 'default', messages } });
    const single = await Promise.all(Array.from({ length: 8 }, ask));
    expect(single.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
    isAway = false;
    const seen = other.received.length;
    const batch = await running.api.finished(id);
    expect(batch.request_counts).toEqual({ total: 600, completed: 600, failed: 0 });
    const { output, errors } = {
      output: (await running.api.results(id, 'output')).text,
      errors: (await running.api.results(id, 'errors')).text,
    };
    expect(endings(output, errors).distinct.size).toBe(600);
    await until('the other is used again', async () => {
      await ask();
      return other.received.length > seen;
    });
  });
});
