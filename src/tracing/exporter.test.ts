import { gunzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../../test/support/manual-clock.ts';
import { until } from '../../test/support/until.ts';
import { silent } from '../base/log.ts';
import { createExporter, type Post, type SpanExporter } from './exporter.ts';
import type { Span } from './span.ts';

let clock: ManualClock;
/** Names of the spans of each request. */
let sent: string[][];
let answer: () => ReturnType<Post>;
let warnings: unknown[];
let exporter: SpanExporter;

const span = (name: string): Span => ({
  traceId: 'a'.repeat(32),
  spanId: 'b'.repeat(16),
  name,
  kind: 'client',
  startedAt: 1,
  endedAt: 2,
  attributes: {},
  isError: false,
});
const reply = (status: number, text = '{}', retryAfter?: string) =>
  Promise.resolve({ status, retryAfter, text });

function create(): SpanExporter {
  const post: Post = (_headers, body) => {
    const { resourceSpans } = JSON.parse(gunzipSync(body).toString()) as {
      resourceSpans: [{ scopeSpans: [{ spans: Span[] }] }];
    };
    sent.push(resourceSpans[0].scopeSpans[0].spans.map(({ name }) => name));
    return answer();
  };
  const log = { ...silent, warn: (fields: object) => void warnings.push(fields) };
  const random = { float: () => 1 };
  return createExporter({ post, headers: {}, resource: {}, version: '1', clock, random, log });
}

/** Waits until `count` requests were sent and answered; compression takes place in another thread. */
async function requests(count: number): Promise<void> {
  await until(`${count} requests`, () => sent.length >= count);
  await clock.advance(0);
}

beforeEach(() => {
  clock = createManualClock();
  [sent, warnings] = [[], []];
  answer = () => reply(200);
  exporter = create();
});

describe('spans', () => {
  it('are sent together after five seconds', async () => {
    exporter.add(span('a'));
    await clock.advance(4_999);
    exporter.add(span('b'));
    expect(sent).toEqual([]);
    await clock.advance(1);
    await requests(1);
    expect(sent).toEqual([['a', 'b']]);
    await exporter.stop();
    expect(sent).toHaveLength(1);
  });

  it('are sent at once when a group is full', async () => {
    for (let n = 0; n < 513; n++) exporter.add(span(String(n)));
    await requests(1);
    expect(sent[0]).toHaveLength(512);
    await exporter.stop();
    expect(sent[1]).toEqual(['512']);
  });

  it('are sent again after an answer that allows it, and no sooner than it says', async () => {
    answer = () => reply(sent.length === 1 ? 503 : 200, '', '7');
    exporter.add(span('a'));
    await clock.advance(5_000);
    await requests(1);
    await clock.advance(6_999);
    expect(sent).toHaveLength(1);
    await clock.advance(1);
    await requests(2);
    expect(sent).toEqual([['a'], ['a']]);
    expect(warnings).toEqual([]);
  });

  it('are given up after five attempts, or an answer that refuses them', async () => {
    answer = () => Promise.reject(new Error('connect ECONNREFUSED'));
    exporter.add(span('a'));
    for (let tries = 1; tries <= 5; tries++) {
      await clock.advance(15_000);
      await requests(tries);
    }
    await until('the warning', () => warnings.length > 0);
    expect(warnings).toEqual([{ spans: 1, reason: 'connect ECONNREFUSED' }]);
    answer = () => reply(400);
    exporter.add(span('b'));
    await clock.advance(60_000);
    await requests(6);
    await until('the warning', () => warnings.length > 1);
    expect(warnings[1]).toEqual({ spans: 1, reason: 'The collector answered 400.' });
  });

  it('are bounded in number while the collector is silent, with one warning a minute', async () => {
    answer = () => new Promise(() => {});
    for (let n = 0; n < 5_000; n++) exporter.add(span(String(n)));
    await requests(1);
    expect(warnings).toEqual([{ spans: 1, reason: 'Too many spans wait for the collector.' }]);
    await clock.advance(60_000);
    exporter.add(span('late'));
    expect(warnings[1]).toEqual({ spans: 5_000 - 4_096, reason: 'Too many spans wait for the collector.' });
  });

  it('that the collector could not store are counted', async () => {
    answer = () => reply(200, '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too large"}}');
    for (const name of ['a', 'b', 'c']) exporter.add(span(name));
    await clock.advance(5_000);
    await until('the warning', () => warnings.length > 0);
    expect(warnings).toEqual([{ spans: 2, reason: 'too large' }]);
  });

  it('are sent once more at the end, without a wait for a collector that is away', async () => {
    answer = () => Promise.reject(new Error('away'));
    exporter.add(span('a'));
    await exporter.stop();
    expect(sent).toEqual([['a']]);
    expect(warnings).toHaveLength(1);
  });
});
