import { hash } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, expect, it } from 'vitest';
import type { BatchEndpoint } from '../../src/core/batch.ts';
import type { FormatSupport } from '../../src/engines/engines.ts';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { jsonl, parseLines } from '../support/batch-lines.ts';
import { complete, send, startFakeUpstream } from '../support/fake-upstream.ts';
import type { Responder, FakeUpstream } from '../support/fake-upstream.ts';
import { until } from '../support/until.ts';

// Memory of lines that their upstream is processing.

let running: RunningApp;
let upstream: FakeUpstream;

afterEach(async () => {
  await running?.stop();
  await upstream?.close();
});

const slots = 8;
const megabyte = 1024 * 1024;

// Two bytes per character in memory, three in UTF-8.
const long = '中'.repeat(megabyte / 2);

const formats = (messages: FormatSupport, responses: FormatSupport) => ({ formats: { messages, responses } });
const viaChat = formats('via chat', 'via chat');
const natively = formats('native', 'native');

const askUser = (content: string) => ({ messages: [{ role: 'user', content }] });
const search = { name: 'search', parameters: { type: 'object', properties: {} } };

const kinds: [name: string, url: BatchEndpoint, body: (content: string) => object, capabilities: object][] = [
  ['a chat', '/v1/chat/completions', askUser, viaChat],
  [
    'a chat with functions of old',
    '/v1/chat/completions',
    (content) => ({ ...askUser(content), functions: [search], function_call: 'auto' }),
    viaChat,
  ],
  ['messages', '/v1/messages', (content) => ({ ...askUser(content), max_tokens: 9 }), viaChat],
  ['native messages', '/v1/messages', (content) => ({ ...askUser(content), max_tokens: 9 }), natively],
  ['responses', '/v1/responses', (input) => ({ input, instructions: 'Be short.' }), viaChat],
  ['native responses', '/v1/responses', (input) => ({ input, instructions: 'Be short.' }), natively],
  ['embeddings', '/v1/embeddings', (input) => ({ input }), viaChat],
];

it.each(kinds)(
  'a line in flight with %s keeps only the text that was sent, and resends it byte for byte after a failure',
  async (_, url, bodyOf, capabilities) => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const heap = () => {
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const held: (() => void)[] = [];
    const first = new Map<string, string>();
    const again: boolean[] = [];
    // The first time, all requests wait and fail; the second time, they are answered.
    const answer: Responder = (response, request) => {
      const id = /row-\d+(?= )/.exec(request.text)?.[0];
      // A failed upstream is probed with a minimal request before it gets lines again.
      if (id === undefined) {
        if (request.path.endsWith('/embeddings')) send(response, 200, embedding('row-0'));
        else complete('x')(response, request);
        return;
      }
      const sum = hash('sha256', request.text);
      // Keeps nothing of it.
      request.text = '';
      const before = first.get(id);
      if (before === undefined) {
        first.set(id, sum);
        held.push(() => send(response, 500, { error: { message: 'broken' } }));
        return;
      }
      again.push(before === sum);
      if (request.path.endsWith('/embeddings')) send(response, 200, embedding(id));
      else complete(`${id} is done.`)(response, request);
    };
    upstream = await startFakeUpstream(answer);
    const engine = { ...upstreamEngine(upstream.url, slots), capabilities };
    running = await startApp({ models: [testModel(engine)], batch: { endpoints: [url] } });
    // The code of a first batch is compiled beforehand: it takes more than the limit below leaves.
    const warm = { custom_id: 'warm', method: 'POST', url, body: { model: 'default', ...bodyOf('warm') } };
    const { id: warmId } = await running.api.createBatch((await running.api.upload(jsonl([warm]))).id, {
      endpoint: url,
    });
    await running.api.finished(warmId);
    const lines = Array.from({ length: slots }, (__, n) => ({
      custom_id: `row-${n}`,
      method: 'POST',
      url,
      body: { model: 'default', ...bodyOf(`row-${n} ${long}`) },
    }));
    const file = await running.api.upload(jsonl(lines));
    const before = heap();
    const { id } = await running.api.createBatch(file.id, { endpoint: url });
    await until('all are in flight', () => held.length === slots);
    const grown = heap() - before;
    expect(grown).toBeLessThan((slots * megabyte) / 4);
    for (const fail of held) fail();
    const { request_counts: counts } = await running.api.finished(id);
    expect(counts).toEqual({ total: slots, completed: slots, failed: 0 });
    expect(again).toEqual(Array.from({ length: slots }, () => true));
    const { text } = await running.api.results(id, 'output');
    for (const { custom_id: name, response } of parseLines(text)) {
      const { body } = response!;
      const number = Number(name.slice('row-'.length));
      if (url === '/v1/embeddings') expect(body.data[0]!.embedding).toEqual([number, 1]);
      else expect(JSON.stringify(body)).toContain(`"${name} is done."`);
      if (url === '/v1/responses') expect(body).toMatchObject({ instructions: 'Be short.', store: false });
    }
  },
);

/** Vector that identifies its input. */
function embedding(id: string): object {
  const vector = [Number(id.slice('row-'.length)), 1];
  return {
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: vector }],
    usage: { prompt_tokens: 3 },
  };
}
