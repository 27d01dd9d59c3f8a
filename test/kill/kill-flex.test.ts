import { afterAll, expect, it } from 'vitest';
import type { TestContext } from 'vitest';
import { completion, send, startFakeUpstream } from '../support/fake-upstream.ts';
import { startPostgres } from '../support/postgres.ts';
import { install, processKey, upstreamYaml } from '../support/server-process.ts';
import { until } from '../support/until.ts';

// Flex requests whose server is killed while they run: their repeats get the answers, from the restarted server or another one.

interface Answered {
  status: number;
  replayed: string | null;
  body: { id: string; service_tier?: string };
}

/** Translated by Offpeak, because the upstream answers in one format. */
const engine = ', capabilities: { responses: chat }';

const say = (content: string) => ({ messages: [{ role: 'user', content }] });
const requests: [string, object][] = [
  ['/v1/chat/completions', { ...say('one'), store: true }],
  ['/v1/chat/completions', say('two')],
  ['/v1/responses', { input: 'three' }],
  ['/v1/messages', { ...say('four'), max_tokens: 9 }],
];

async function ask(url: string, n: number): Promise<Answered> {
  const [path, body] = requests[n]!;
  const answer = await fetch(url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${processKey}`,
      'content-type': 'application/json',
      'idempotency-key': `request ${n}`,
    },
    body: JSON.stringify({ model: 'tiny', service_tier: 'flex', ...body }),
  });
  const replayed = answer.headers.get('idempotent-replayed');
  return { status: answer.status, replayed, body: (await answer.json()) as Answered['body'] };
}

const askAll = (url: string) => requests.map((_, n) => ask(url, n));

/** Sends the requests, kills their server while they run, and repeats them at the next one. */
async function repeatAfterKill(more: string, both: boolean, { onTestFinished }: TestContext): Promise<void> {
  let isUp = false;
  const held: (() => void)[] = [];
  const upstream = await startFakeUpstream((response) => {
    const answer = () => send(response, 200, completion('fine'));
    if (isUp) answer();
    else held.push(answer);
  });
  onTestFinished(() => upstream.close());
  const place = install(upstreamYaml(upstream.url, { engine, more }));
  onTestFinished(() => place.remove());
  const first = await place.start();
  const second = both ? await place.start() : undefined;
  const lost = Promise.allSettled(askAll(first.url));
  const chats = () => upstream.received.filter(({ path }) => path.endsWith('/chat/completions'));
  await until('all requests run', () => chats().length === requests.length);
  await first.end('SIGKILL');
  expect((await lost).map(({ status }) => status)).toEqual(requests.map(() => 'rejected'));

  isUp = true;
  // The second server may have taken some of the requests.
  for (const answer of held) answer();
  const { url, api } = second ?? (await place.start());
  const answers = await Promise.all(askAll(url));
  expect(answers.map(({ status, replayed }) => [status, replayed])).toEqual(
    requests.map(() => [200, 'true']),
  );
  const again = await Promise.all(askAll(url));
  expect(again).toEqual(answers);
  const [chat, , response] = answers.map(({ body }) => body);
  expect(await api.get(`/v1/chat/completions/${chat!.id}`)).toEqual({ ...chat, metadata: {} });
  expect(await api.get(`/v1/responses/${response!.id}`)).toEqual(response);
  const usage = await api.get<{ data: object[] }>('/v1/usage?group_by=tier');
  expect(usage.data).toMatchObject([{ tier: 'flex', requests: requests.length }]);
}

it('flex requests are answered and billed once by the server that is started again', (context) =>
  repeatAfterKill('', false, context));

const postgres = await startPostgres();

if ('reason' in postgres) it.skip(`two servers (skipped: ${postgres.reason})`, () => {});
else {
  afterAll(() => postgres.stop());

  it('flex requests are answered and billed once by another server on the database', async (context) =>
    repeatAfterKill(`database: ${await postgres.createDatabase()}\n`, true, context));
}
