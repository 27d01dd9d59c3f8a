import { describe, expect, it, onTestFinished } from 'vitest';
import { silent } from '../../../src/base/log.ts';
import { unavailable } from '../../../src/core/errors.ts';
import type { Flavor } from '../../../src/core/flavor.ts';
import { createPool } from '../../../src/engines/pool/pool.ts';
import type { UpstreamOptions } from '../../../src/engines/upstream/upstream-options.ts';
import {
  type Responder,
  complete,
  type FakeUpstream,
  send,
  startFakeUpstream,
} from '../../support/fake-upstream.ts';
import { createManualClock, type ManualClock } from '../../support/manual-clock.ts';
import { createSeededRandom } from '../../support/seeded-random.ts';
import { until } from '../../support/until.ts';
import { ask, call, engineAt } from './setup.ts';

const timeouts = { idleMs: 60_000 };

interface Server {
  fake: FakeUpstream;
  /** Tokens generated so far, in the metrics. */
  written: number;
  chat: Responder;
  /** Handles all paths other than chats. */
  otherPaths: Responder;
}

/** Server with separate responders for chats and for other paths. */
async function serverOf(chat: Responder, otherPaths?: Responder): Promise<Server> {
  const server: Server = {
    fake: await startFakeUpstream((response, request) =>
      (/chat|messages/.test(request.path) ? server.chat : server.otherPaths)(response, request),
    ),
    written: 1,
    chat,
    otherPaths:
      otherPaths ??
      ((response, { path }) => {
        if (path === '/metrics')
          return send(response, 200, `vllm:generation_tokens_total{a="b"} ${server.written}\n`);
        send(response, 200, []);
      }),
  };
  if (otherPaths) server.fake.models = (response, request) => server.otherPaths(response, request);
  onTestFinished(() => server.fake.close());
  return server;
}

function started(clock: ManualClock, server: Server, options: Partial<UpstreamOptions>) {
  const engine = engineAt(server.fake.url, { clock, timeouts, ...options });
  onTestFinished(() => engine.stop());
  return engine;
}

/** Advances the clock by a tenth of `idle` and waits for the requests sent then. */
async function step(clock: ManualClock, ...servers: Server[]): Promise<void> {
  await clock.advance(6_000);
  for (const { fake } of servers)
    for (let i = 0; i < 2; i++) await fetch(`${fake.url}/models/barrier`).catch(() => {});
}

const silence: Responder = () => {};
/** Generates a token only for requests limited to one. */
const onlyShort: Responder = (response, request) => {
  if (/"max_(?:completion_)?tokens":1\b/.test(request.text)) complete('a')(response, request);
};

/** Answers no health check. */
const onlyBarrier: Responder = (response, { path }) => {
  if (path.endsWith('barrier')) send(response, 200, []);
};
/** SGLang without metrics, whose health check does not answer. */
const noScheduler: Responder = (response, { path }) => {
  if (path !== '/health_generate') send(response, path === '/metrics' ? 404 : 200, []);
};

describe('a silent server', () => {
  it.each<[Flavor, Responder, Responder | undefined]>([
    ['vllm', onlyShort, undefined],
    ['sglang', silence, noScheduler],
    ['mistral', silence, undefined],
    ['openai', silence, undefined],
    ['azure', silence, undefined],
    ['gemini', silence, undefined],
    ['xai', silence, undefined],
    ['anthropic', silence, undefined],
    ['deepseek', silence, undefined],
    ['ollama', silence, onlyBarrier],
    ['offpeak', silence, onlyBarrier],
  ])('is detected within `idle`, even if its health check answers: %s', async (flavor, chat, otherPaths) => {
    const server = await serverOf(chat, otherPaths);
    const clock = createManualClock();
    const engine = started(clock, server, { flavor });
    let outcome: unknown;
    void engine.generate(ask(), call()).catch((error: unknown) => (outcome = error));
    await until('the request is sent', () => server.fake.received.length > 0);
    for (let i = 0; i < 10; i++) await step(clock, server);
    expect(outcome).toMatchObject({ code: 'upstream_timeout', blame: unavailable });
  });

  it.each<[Flavor, Responder]>([
    ['vllm', silence],
    ['sglang', silence],
    ['openai', onlyShort],
    ['anthropic', onlyShort],
    ['llama-server', silence],
    ['ollama', silence],
    ['offpeak', silence],
    ['generic', silence],
  ])('is not interrupted while it shows progress: %s', async (flavor, chat) => {
    const server = await serverOf(chat);
    const clock = createManualClock();
    const engine = started(clock, server, { flavor });
    let outcome: unknown;
    const over = engine.generate(ask(), call()).catch((error: unknown) => (outcome = error));
    await until('the request is sent', () => server.fake.received.length > 0);
    for (let i = 0; i < 100; i++) {
      server.written++;
      await step(clock, server);
    }
    expect(outcome).toBeUndefined();
    await engine.stop();
    await over;
  });
});

it.each<Flavor>(['generic', 'vllm', 'sglang'])(
  'a server whose only sign is a failing health check is not interrupted for an hour: %s',
  async (flavor) => {
    const server = await serverOf(silence, (response, { path }) => {
      if (path === '/metrics') send(response, 404, {});
      else if (flavor !== 'generic' || path.endsWith('barrier')) send(response, 200, []);
    });
    const clock = createManualClock();
    const engine = started(clock, server, { flavor });
    let outcome: unknown;
    const over = engine.generate(ask(), call()).catch((error: unknown) => (outcome = error));
    await until('the request is sent', () => server.fake.received.length > 0);
    for (let i = 0; i < 30; i++) await step(clock, server);
    expect(outcome).toBeUndefined();
    await engine.stop();
    await over;
  },
);

it.each<Flavor>(['deepseek', 'openrouter'])(
  'a stream that a working server starts at once may be silent for `idle` at most: %s',
  async (flavor) => {
    const server = await serverOf(silence);
    const within = { idleMs: 100, firstByteMs: 3_600_000 };
    const engine = started(createManualClock(), server, { flavor, timeouts: within });
    await expect(engine.generate(ask(), call())).rejects.toMatchObject({
      code: 'upstream_timeout',
      message: expect.stringContaining('did not start'),
    });
  },
);

it('a request that hangs on one server is answered by another, and the first one is used again later', async () => {
  const clock = createManualClock();
  const servers = [await serverOf(silence), await serverOf(silence)] as const;
  const replicas = servers.map((server, at) => ({
    name: `r${at}`,
    engine: started(clock, server, { flavor: 'vllm' }),
    account: 'a',
    weight: 1,
    isDraining: false,
  }));
  const pool = createPool({ replicas, clock, random: createSeededRandom(1), log: silent });
  const chats = ({ fake }: Server) => fake.received.filter(({ path }) => path.includes('chat')).length;
  let answer: string | null | undefined;
  const over = pool.generate(ask(), call()).then(({ choices }) => (answer = choices[0]?.message.content));
  over.catch(() => {});
  await until('a server has the request', () => servers.some((server) => chats(server) > 0));
  const [hung, other] = chats(servers[0]) > 0 ? servers : ([servers[1], servers[0]] as const);
  other.chat = complete('from the other');
  for (let i = 0; i < 10; i++) await step(clock, hung);
  expect(answer).toBe('from the other');
  expect(pool.replicas.filter(({ health }) => health !== 'up')).toMatchObject([
    { waiting: { scope: 'replica', code: 'upstream_timeout' } },
  ]);
  hung.chat = complete('again');
  await until('it is used again', async () => {
    await step(clock, hung);
    await pool.generate(ask(), call());
    return pool.replicas.every(({ health }) => health === 'up');
  });
});
