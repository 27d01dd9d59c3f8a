import { afterEach, describe, expect, it } from 'vitest';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { chatLine } from '../support/batch-lines.ts';
import { complete, send, startFakeUpstream } from '../support/fake-upstream.ts';
import type { Responder, FakeUpstream } from '../support/fake-upstream.ts';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/until.ts';

// Metrics on a port of their own.

let running: RunningApp;
let upstream: FakeUpstream;
let at: string;

afterEach(async () => {
  await running?.stop();
  await upstream?.close();
});

async function start(answer: Responder = complete(), orgs = 0) {
  upstream = await startFakeUpstream(answer);
  const port = await freePort();
  at = `http://127.0.0.1:${port}`;
  running = await startApp({
    models: [testModel(upstreamEngine(upstream.url, 4))],
    metrics: { host: '127.0.0.1', port, orgs },
  });
}

/** Returns the metrics by name and labels, as written. */
async function scrape(): Promise<Map<string, number>> {
  const answer = await fetch(`${at}/metrics`);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([
    200,
    expect.stringMatching(/^text\/plain; version=0\.0\.4/),
  ]);
  const rows = (await answer.text()).split('\n').filter((row) => row !== '' && !row.startsWith('#'));
  return new Map(
    rows.map((row) => [row.slice(0, row.lastIndexOf(' ')), Number(row.slice(row.lastIndexOf(' ')))]),
  );
}

const chat = (more: object = {}) => ({
  json: { model: 'tiny', messages: [{ role: 'user', content: 'Hello?' }], ...more },
});
const requests = (route: string, status: number, method = 'POST') =>
  `offpeak_http_request_duration_seconds_count{method="${method}",route="${route}",status="${status}"}`;

describe('/metrics', () => {
  it('counts requests, tokens and finished batches', async () => {
    await start((response, request) =>
      request.text.includes('bad')
        ? send(response, 400, { error: { message: 'no' } })
        : complete()(response, request),
    );
    const lines = [chatLine('a'), chatLine('b'), chatLine('c', 'bad')];
    const { id } = await running.api.createBatch({ requests: lines });
    await running.api.finished(id);
    for (let n = 0; n < 2; n++) await running.api.send('/v1/chat/completions', chat());
    // The charge is written after the answer is sent.
    const figures = await until('both are counted', async () => {
      const seen = await scrape();
      return seen.get(requests('/v1/chat/completions', 200)) === 2 ? seen : undefined;
    });
    expect(Object.fromEntries(figures)).toMatchObject({
      [requests('/v1/batches', 201)]: 1,
      'offpeak_batch_lines_total{model="tiny",result="completed"}': 2,
      'offpeak_batch_lines_total{model="tiny",result="failed"}': 1,
      'offpeak_batch_line_errors_total{model="tiny",code="request_refused"}': 1,
      'offpeak_tokens_total{model="tiny",tier="batch",type="input"}': 18,
      'offpeak_tokens_total{model="tiny",tier="batch",type="output"}': 6,
      'offpeak_tokens_total{model="tiny",tier="interactive",type="input"}': 18,
      'offpeak_tokens_total{model="tiny",tier="interactive",type="output"}': 6,
      'offpeak_request_queue_seconds_count{model="tiny"}': 2,
      'offpeak_request_first_answer_seconds_count{model="tiny"}': 2,
      [`offpeak_server_slots{model="tiny",server="127.0.0.1:${upstream.port}/v1"}`]: 4,
      offpeak_database_up: 1,
    });
    expect([...figures.keys()].filter((name) => name.startsWith('offpeak_open_batches'))).toEqual([]);
    expect([...figures.keys()].some((name) => name.startsWith('process_resident_memory_bytes'))).toBe(true);
  });

  it('counts by org where configured', async () => {
    await start(complete(), 5);
    const { id } = await running.api.createBatch({ requests: [chatLine('a'), chatLine('b')] });
    await running.api.finished(id);
    await running.api.send('/v1/chat/completions', chat());
    const ofOrg = (tier: string) => (seen: Map<string, number>) =>
      [...seen].filter(
        ([name]) => name.startsWith('offpeak_org_requests') && name.includes(`tier="${tier}"`),
      );
    const figures = await until('both tiers are counted', async () => {
      const seen = await scrape();
      return ofOrg('interactive')(seen).length > 0 ? seen : undefined;
    });
    const [[name, lines] = ['', 0]] = ofOrg('batch')(figures);
    const org = /org="(org_[0-9a-f]+)"/.exec(name)?.[1];
    expect(lines).toBe(2);
    expect(ofOrg('interactive')(figures)).toEqual([[expect.stringContaining(`org="${org}"`), 1]]);
    expect(Object.fromEntries(figures)).toMatchObject({
      [`offpeak_org_tokens_total{org="${org}",tier="batch",type="input"}`]: 18,
      [`offpeak_org_info{org="${org}",name="default"}`]: 1,
    });
  });

  it('shows a batch whose upstream is unavailable', async () => {
    await start();
    await upstream.close();
    const { id } = await running.api.createBatch({ requests: [chatLine('a'), chatLine('b')] });
    const figures = await until('it is seen', async () => {
      const seen = await scrape();
      return [...seen.keys()].some((name) => name.startsWith('offpeak_model_waiting')) ? seen : undefined;
    });
    expect(Object.fromEntries(figures)).toMatchObject({
      'offpeak_open_batches{model="tiny"}': 1,
      'offpeak_open_batch_lines{model="tiny"}': 2,
      'offpeak_model_waiting_seconds{model="tiny",reason="engine_unavailable"}': expect.any(Number),
      [`offpeak_server_health{model="tiny",server="127.0.0.1:${upstream.port}/v1",health="up"}`]: 0,
    });
    await running.api.post(`/v1/batches/${id}/cancel`, {});
  });

  it('contains nothing that a client chose', async () => {
    await start();
    await running.api.send('/v1/secret-path');
    await running.api.send('/v1/chat/completions', chat({ model: 'secret-model' }));
    await running.api.send('/v1/batches/secret-id');
    await running.api.send('/v1/chat/completions', {
      ...chat(),
      headers: { 'x-client-request-id': 'secret-id' },
    });
    await until('all are counted', async () => {
      const seen = await scrape();
      return (
        seen.has(requests('/v1/chat/completions', 200)) && seen.has(requests('/v1/chat/completions', 404))
      );
    });
    const names = [...(await scrape()).keys()];
    expect(names.filter((name) => /secret|key_|org_|test-key/.test(name))).toEqual([]);
    expect(names).toContain(requests('unknown', 404, 'GET'));
    expect(names).toContain(requests('/v1/batches/:batch_id', 404, 'GET'));
  });

  it('counts a client that disconnected as 499', async () => {
    await start(() => {});
    const leaving = new AbortController();
    const left = fetch(`${running.url}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify(chat().json),
      headers: { authorization: `Bearer ${running.key}`, 'content-type': 'application/json' },
      signal: leaving.signal,
    });
    await until('it is in hand', async () => {
      const seen = await scrape();
      return upstream.received.length > 0 && seen.get('offpeak_interactive_requests{model="tiny"}') === 1;
    });
    leaving.abort();
    await expect(left).rejects.toThrow('aborted');
    await until(
      'it is counted',
      async () => (await scrape()).get(requests('/v1/chat/completions', 499)) === 1,
    );
  });

  it('is the only route of its port and missing on the main port', async () => {
    await start();
    const statuses = await Promise.all([
      fetch(`${at}/`),
      fetch(`${at}/v1/models`),
      fetch(`${at}/metrics`, { method: 'POST', body: 'x' }),
      fetch(`${running.url}/metrics`),
      fetch(`${at}/metrics?x=1`),
      fetch(`${at}/metrics`, { method: 'HEAD' }),
    ]);
    expect(statuses.map(({ status }) => status)).toEqual([404, 404, 404, 404, 200, 200]);
  });
});
