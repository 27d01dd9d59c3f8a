import type { FastifyRequest } from 'fastify';
import { beforeEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts';
import { silent } from '../../base/log.ts';
import { ApiError } from '../../core/errors.ts';
import { createRequestLog, type EndedRequest, type RequestLog } from './request-log.ts';

let lines: [level: string, message: string, fields: Record<string, unknown>][];
let clock: ManualClock;
let requests: RequestLog;

beforeEach(() => {
  lines = [];
  clock = createManualClock();
  const at = (level: string) => (fields: object, message: string) =>
    void lines.push([level, message, { ...fields }]);
  const log = { ...silent, info: at('info'), warn: at('warn'), error: at('error') };
  requests = createRequestLog({ clock, log, clientAddress: () => '192.0.2.1' });
});

function end(more: Partial<EndedRequest> & { key?: string } = {}) {
  const { key = 'key_1', failure, ...rest } = more;
  const caller = { orgId: 'org_1', keyId: key, scopes: [], models: [] };
  const request = { raw: {} } as FastifyRequest;
  const status = failure?.status ?? 200;
  requests.write({ what: 'request', request, status, caller, failure, fields: { ms: 1 }, ...rest });
}

const full = new ApiError('engine_overloaded', 'Too many requests are waiting for this model.');
const limited = new ApiError('rate_limit_exceeded', 'Wait.');

describe('the line of a request', () => {
  it('is a warning without a stack if the server is overloaded or stops', () => {
    end({ failure: full });
    end({ failure: new ApiError('shutting_down', 'The server is shutting down.'), what: 'turn' });
    const fields = { ms: 1, org: 'org_1', key: 'key_1' };
    expect(lines).toEqual([
      [
        'warn',
        'request refused',
        { ...fields, code: 'engine_overloaded', reason: 'Too many requests are waiting for this model.' },
      ],
      ['warn', 'turn refused', { ...fields, code: 'shutting_down', reason: 'The server is shutting down.' }],
    ]);
  });

  it('has the error of a failure, however many there are', () => {
    const failures = [
      new ApiError('internal_error', 'x'),
      new ApiError('storage_damaged', 'x', { cause: new Error('no row') }),
      new ApiError('server_overloaded', 'x', { cause: new Error('a defect') }),
    ];
    for (const failure of failures)
      for (let n = 0; n < 25; n++) {
        end({ failure });
        expect(lines.at(-1)).toMatchObject([
          'error',
          'request failed',
          { err: failure.cause ?? failure, code: failure.code },
        ]);
      }
    expect(lines).toHaveLength(75);
  });

  it('has the reason and the cause without a stack if an upstream, the database or the disk is away', () => {
    const away = Object.assign(new Error('connect ECONNREFUSED 10.0.0.5:80'), { code: 'ECONNREFUSED' });
    const cause = new Error('no connection', { cause: away });
    end({
      failure: new ApiError('upstream_unreachable', "The model's server cannot be reached.", { cause }),
    });
    end({ failure: new ApiError('insufficient_storage', 'The disk is full.') });
    const fields = { ms: 1, org: 'org_1', key: 'key_1' };
    expect(lines).toEqual([
      [
        'error',
        'request failed',
        {
          ...fields,
          code: 'upstream_unreachable',
          reason: "The model's server cannot be reached.",
          cause: 'no connection (ECONNREFUSED: connect ECONNREFUSED 10.0.0.5:80)',
        },
      ],
      [
        'error',
        'request failed',
        { ...fields, code: 'insufficient_storage', reason: 'The disk is full.', cause: undefined },
      ],
    ]);
  });

  it('is information about any other request', () => {
    end();
    end({ failure: limited });
    end({ failure: new ApiError('not_found', 'No such file.') });
    expect(lines.map(([level, message]) => `${level} ${message}`)).toEqual(Array(3).fill('info request'));
  });
});

describe('C22: refusals of one key', () => {
  it('are counted apart from failures of upstreams, the database or the disk', async () => {
    const failures = (['upstream_unreachable', 'upstream_timeout', 'insufficient_storage'] as const).map(
      (code) => new ApiError(code, 'x'),
    );
    for (let n = 0; n < 100; n++) for (const failure of failures) end({ failure });
    end({ failure: limited });
    expect(lines).toHaveLength(20 + 1);
    await clock.advance(60_000);
    expect(lines.slice(21)).toEqual([
      [
        'warn',
        'further failed requests of a key',
        {
          org: 'org_1',
          key: 'key_1',
          requests: 280,
          codes: { upstream_unreachable: 93, upstream_timeout: 93, insufficient_storage: 94 },
        },
      ],
    ]);
  });

  it('have 20 lines per minute, and then one with sums', async () => {
    for (let n = 0; n < 500; n++) end({ failure: n % 5 === 0 ? full : limited });
    end({ failure: full, key: 'key_2' });
    for (let n = 0; n < 30; n++) end();
    for (let n = 0; n < 30; n++) end({ failure: new ApiError('not_found', 'No such file.') });
    expect(lines).toHaveLength(20 + 1 + 60);
    await clock.advance(60_000);
    expect(lines.slice(81)).toEqual([
      [
        'info',
        'further refusals of a key',
        {
          org: 'org_1',
          key: 'key_1',
          requests: 480,
          codes: { engine_overloaded: 96, rate_limit_exceeded: 384 },
        },
      ],
    ]);
    end({ failure: limited });
    requests.flush();
    expect(lines).toHaveLength(83);
  });

  it('are counted together above 1,000 keys', () => {
    for (let n = 0; n < 1_100; n++) end({ failure: limited, key: `key_${n}` });
    requests.flush();
    expect(lines).toHaveLength(1_000 + 20 + 1);
    expect(lines.at(-1)).toEqual([
      'info',
      'further refusals of a key',
      { org: 'other orgs', key: 'other keys', requests: 80, codes: { rate_limit_exceeded: 80 } },
    ]);
  });
});
