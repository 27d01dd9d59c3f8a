import { describe, expect, it } from 'vitest';
import { ApiError, type ErrorCode, errorCatalog, invalid } from '../../core/errors.ts';
import { errorBody, errorObject } from './error-body.ts';
import { chatErrorEvent } from './error-events.ts';

const codes = Object.keys(errorCatalog) as ErrorCode[];

describe('errorBody', () => {
  it('has one shape for every code and both families of clients', () => {
    for (const code of codes)
      for (const format of ['chat', 'messages'] as const) {
        const { status, body } = errorBody(new ApiError(code, 'Said why.', { param: 'p' }), 'req_1', format);
        expect(status).toBe(errorCatalog[code].status);
        expect(body.type).toBe('error');
        expect(body.error).toEqual({
          type: expect.stringMatching(/^[a-z_]+$/),
          code,
          message: 'Said why.',
          param: 'p',
          details: { error_code: code, errors: [] },
        });
        expect([body.message, body.request_id]).toEqual(['Said why.', 'req_1']);
        expect(body.detail !== undefined).toBe(status === 422);
      }
  });

  it.each([
    ['invalid_api_key', 'authentication_error', 'authentication_error'],
    ['permission_denied', 'permission_error', 'permission_error'],
    ['model_not_found', 'invalid_request_error', 'not_found_error'],
    ['file_in_use', 'conflict', 'conflict_error'],
    ['budget_exceeded', 'insufficient_quota', 'billing_error'],
    ['request_timeout', 'timeout', 'timeout_error'],
    ['payload_too_large', 'invalid_request_error', 'invalid_request_error'],
    ['rate_limit_exceeded', 'rate_limit_error', 'rate_limit_error'],
    ['internal_error', 'server_error', 'api_error'],
    ['engine_overloaded', 'server_error', 'overloaded_error'],
  ] as const)('%s is %s to OpenAI clients and %s to Anthropic ones', (code, chat, messages) => {
    const error = new ApiError(code, 'x');
    expect([errorObject(error).type, errorObject(error, 'messages').type]).toEqual([chat, messages]);
  });

  it('carries the faults in all three places of a 422', () => {
    const { body } = errorBody(invalid('messages[0].content["a b"]', 'expected a string'), 'req_1');
    expect(body.error.details).toEqual({
      error_code: 'validation_error',
      errors: [
        { param: 'messages[0].content["a b"]', code: 'validation_error', message: 'expected a string' },
      ],
    });
    expect(body.detail).toEqual([
      { loc: ['body', 'messages', 0, 'content', 'a b'], msg: 'expected a string', type: 'value_error' },
    ]);
    expect(body.message).toBe('messages[0].content["a b"]: expected a string');
  });

  it('keeps line and custom_id of a fault in a file', () => {
    const fault = {
      line: 17,
      custom_id: 'a',
      param: 'body.model',
      code: 'model_not_found',
      message: 'no',
    } as const;
    const { body } = errorBody(
      new ApiError('model_not_found', 'x', { faults: [fault], status: 422 }),
      'req_1',
    );
    expect(body.error.details.errors).toEqual([fault]);
    expect(body.error.type).toBe('invalid_request_error');
  });

  it('reports at most a hundred faults', () => {
    const faults = Array.from({ length: 150 }, (_, line) => ({
      line,
      code: 'validation_error' as const,
      message: 'x',
    }));
    const { body } = errorBody(new ApiError('validation_error', 'x', { faults }), 'req_1');
    expect([body.error.details.errors.length, body.detail?.length]).toEqual([100, 100]);
  });

  it('C25: reveals nothing about an unknown error', () => {
    const leaky = Object.assign(new TypeError('SELECT * FROM keys at /srv/app.ts:1'), { param: 'secret' });
    for (const thrown of [leaky, 'a string', undefined, { code: 'validation_error' }]) {
      const { status, body } = errorBody(thrown, 'req_1');
      expect([status, body.error.code, body.error.type]).toEqual([500, 'internal_error', 'server_error']);
      expect(JSON.stringify(body)).not.toMatch(/SELECT|srv|secret|a string/);
    }
  });

  it('sets the headers that clients obey', () => {
    const headers = (error: ApiError) => errorBody(error, 'req_1').headers;
    expect(headers(new ApiError('file_in_use', 'x'))).toEqual({ 'x-should-retry': 'false' });
    expect(headers(new ApiError('rate_limit_exceeded', 'x', { retryAfter: 0.2 }))).toEqual({
      'retry-after': '1',
      'retry-after-ms': '200',
    });
    expect(headers(new ApiError('rate_limit_exceeded', 'x', { retryAfter: 61.5 }))).toEqual({
      'retry-after': '60',
      'retry-after-ms': '60000',
    });
    expect(headers(new ApiError('engine_overloaded', 'x'))).toEqual({ 'retry-after': '1' });
    expect(headers(new ApiError('engine_overloaded', 'x', { retryAfter: 86_400 }))).toEqual({
      'retry-after': '60',
    });
    expect(headers(new ApiError('method_not_allowed', 'x', { allow: 'GET' }))).toEqual({ allow: 'GET' });
    expect(headers(new ApiError('not_found', 'x'))).toEqual({});
  });

  it('ends a failed stream with the inner object', () => {
    const event = chatErrorEvent(new ApiError('upstream_timeout', 'Too slow.'));
    expect(event.endsWith('\n\n')).toBe(true);
    expect(JSON.parse(event.slice('data: '.length))).toEqual({
      error: { code: 'upstream_timeout', message: 'Too slow.', type: 'server_error', param: null },
    });
  });
});
