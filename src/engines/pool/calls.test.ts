import { describe, expect, it } from 'vitest';
import {
  chatChunk,
  chatRequest,
  chatResponse,
  createFakeEngine,
  type FakeEngine,
} from '../../../test/support/fake-engine.ts';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import { silent } from '../../base/log.ts';
import type { CallTrace } from '../../core/call-trace.ts';
import { ApiError } from '../../core/errors.ts';
import type { Engine, EngineCall, NativeCalls } from '../engines.ts';
import { recordCall } from './calls.ts';
import { createPool } from './pool.ts';
import type { ReplicaOptions } from './replica.ts';

const cut = new ApiError('upstream_unreachable', 'It is gone.');
const call: EngineCall = { signal: new AbortController().signal, priority: 'interactive' };

const replicaOf = (engine: Engine, at: number, weight = 1): ReplicaOptions => {
  return { name: `gpu-${at}`, engine, account: `key-${at}`, weight, isDraining: false };
};

function poolOf(engines: readonly Engine[], weights: readonly number[] = []) {
  const random = { bytes: (n: number) => new Uint8Array(n), float: () => 0 };
  const replicas = engines.map((engine, at) => replicaOf(engine, at, weights[at]));
  return createPool({ replicas, clock: createManualClock(), random, log: silent });
}

async function read(lists: AsyncIterable<readonly object[]>) {
  const pieces: object[] = [];
  let error: unknown = null;
  try {
    for await (const list of lists) pieces.push(...list);
  } catch (thrown) {
    error = thrown;
  }
  return { pieces, error };
}

describe('a stream whose server fails', () => {
  const asNative = (engine: FakeEngine): NativeCalls => ({
    generate: () => Promise.reject(cut),
    stream: (_op, _request, how) => engine.stream(chatRequest(), how) as ReturnType<NativeCalls['stream']>,
  });

  const streams: [string, (pool: ReturnType<typeof poolOf>) => AsyncIterable<readonly object[]>][] = [
    ['of a chat', (pool) => pool.stream(chatRequest(), call)],
    ['in the words of the client', (pool) => pool.native.stream('messages', chatRequest(), call)],
  ];

  it.each(streams)(
    '%s goes on at another one before its first piece, and never after it',
    async (_, begin) => {
      for (const begun of [false, true]) {
        const [first, second] = [createFakeEngine(), createFakeEngine()];
        for (const engine of [first, second]) Object.assign(engine, { native: asNative(engine) });
        first.chunks = begun ? [chatChunk('Hel'), cut] : [cut];
        second.chunks = [chatChunk('Hello', 'stop')];
        const { pieces, error } = await read(begin(poolOf([first, second])));
        expect(pieces).toEqual([begun ? chatChunk('Hel') : chatChunk('Hello', 'stop')]);
        expect([error, second.calls.length]).toEqual(begun ? [cut, 0] : [null, 1]);
      }
    },
  );
});

describe('the weight of a replica', () => {
  /** Number of nine requests that each server has. */
  async function shares(pool: ReturnType<typeof poolOf>, servers: readonly FakeEngine[]) {
    const begun = Array.from({ length: 9 }, () => pool.generate(chatRequest(), call));
    const asked = servers.map((each) => each.calls.length);
    expect(pool.replicas.map(({ inFlight }) => inFlight)).toEqual(asked);
    await Promise.all(begun);
    return asked;
  }

  function twoOfEight() {
    const servers = [createFakeEngine(), createFakeEngine()];
    for (const each of servers) Object.assign(each, { slots: 8, answers: [chatResponse('fine')] });
    return servers;
  }

  it('gives it more requests', async () => {
    const servers = twoOfEight();
    expect(await shares(poolOf(servers, [1, 2]), servers)).toEqual([3, 6]);
  });

  it('changes with the configuration', async () => {
    const servers = twoOfEight();
    const pool = poolOf(servers, [2, 1]);
    await pool.replaceReplicas(servers.map((engine, at) => replicaOf(engine, at, at + 1)));
    expect(await shares(pool, servers)).toEqual([3, 6]);
  });
});

describe('recordCall', () => {
  it('drops the server of an earlier attempt when a repeated call finds no slot', () => {
    const clock = createManualClock();
    const trace: CallTrace = { model: 'm' };
    const record = recordCall(trace, clock);
    record.sent('a');
    record.responded('id');
    expect(trace).toEqual({
      model: 'm',
      begunAt: 0,
      calls: 1,
      serversAsked: 1,
      server: 'a',
      queuedMs: 0,
      firstOutputMs: 0,
      answerId: 'id',
    });
    trace.reported = { inputTokens: 7 };
    recordCall(trace, clock);
    expect(trace).toEqual({ model: 'm', begunAt: 0, calls: 2, serversAsked: 0 });
  });

  it('drops the usage that a failed server reported when another one is tried', () => {
    const trace: CallTrace = {};
    const record = recordCall(trace, createManualClock());
    record.sent('a');
    trace.reported = { inputTokens: 7 };
    record.sent('b');
    expect(trace).toMatchObject({ server: 'b', serversAsked: 2, calls: 1 });
    expect(trace.reported).toBeUndefined();
  });
});
