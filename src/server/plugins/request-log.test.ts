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
      new ApiError('upstream_error', 'x'),
      new ApiError('storage_unavailable', 'x', { cause: new Error('no connection') }),
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
    expect(lines).toHaveLength(100);
  });

  it('is information about any other request', () => {
    end();
    end({ failure: limited });
    end({ failure: new ApiError('not_found', 'No such file.') });
    expect(lines.map(([level, message]) => `${level} ${message}`)).toEqual(Array(3).fill('info request'));
  });
});

describe('C22: refusals of one key', () => {
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
