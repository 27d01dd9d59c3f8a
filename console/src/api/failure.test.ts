import { describe, expect, it } from 'vitest';
import { isTemporary, toFailure, unreachable } from './failure.ts';

describe('toFailure', () => {
  it('reads the error body of the API', () => {
    const body = { error: { code: 'not_found', message: 'No such batch.' }, request_id: 'req_1' };
    expect(toFailure(404, body)).toMatchObject({
      status: 404,
      code: 'not_found',
      message: 'No such batch.',
      requestId: 'req_1',
    });
  });

  it.each([undefined, null, '<html>Bad Gateway</html>', { error: 'no' }, { error: { message: 7 } }])(
    'keeps the status of the body %j, which a proxy may have sent',
    (body) => {
      expect(toFailure(502, body)).toMatchObject({
        status: 502,
        code: 'unknown',
        message: 'The server answered with status 502.',
        requestId: null,
      });
    },
  );
});

it('retries what may pass, and nothing that the request must change', () => {
  expect([unreachable(), toFailure(429, {}), toFailure(503, {}), new Error('x')].map(isTemporary)).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect([401, 403, 404, 409, 422].map((status) => isTemporary(toFailure(status, {})))).not.toContain(true);
});
