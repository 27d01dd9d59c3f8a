import { describe, expect, it } from 'vitest';
import { BlobError } from '../../core/blob-error.ts';
import { ApiError } from '../../core/errors.ts';
import { StoreError } from '../../core/store-error.ts';
import { noSuchRoute, toApiError } from './to-api-error.ts';

describe('toApiError', () => {
  it('lets an ApiError be', () => {
    const error = new ApiError('not_found', 'No such batch.');
    expect(toApiError(error)).toBe(error);
  });

  it.each([
    new Error('relation "keys" does not exist'),
    new TypeError("Cannot read properties of undefined (reading 'x') at /srv/app/store.ts:1"),
    Object.assign(new Error('SQLITE_BUSY'), { statusCode: 500 }),
    'a thrown string',
    { code: 'ENOENT', path: '/var/lib/offpeak/blobs/x' },
    Object.assign(new Error('secret'), { statusCode: 404 }),
    { code: 7 },
  ])('hides the text of %s', (thrown) => {
    const error = toApiError(thrown);
    expect(error).toMatchObject({ status: 500, code: 'internal_error', cause: thrown });
    expect(error.message).toBe('Internal error. Give the request ID to the operator.');
  });

  it('asks to try again when the database is away, without telling where it is', () => {
    const away = new StoreError(
      'unreachable',
      'The database db.internal:5432/offpeak does not answer.',
      'Look.',
    );
    const error = toApiError(away);
    expect(error).toMatchObject({ status: 503, code: 'storage_unavailable', retryAfter: 5, cause: away });
    expect(error.message).not.toContain('db.internal');
    // It has no connection left, it failed over to a copy that is only read, or another program keeps it.
    for (const code of ['refused', 'unwritable', 'locked'] as const)
      expect(toApiError(new StoreError(code, 'Not now.', 'Look.')).status).toBe(503);
    expect(toApiError(new StoreError('corrupt', 'The file is damaged.', 'Restore it.')).status).toBe(500);
  });

  it('tells files that are lost from files that cannot be read at present, and not which', () => {
    for (const [code, expected] of [
      ['missing', { status: 500, code: 'storage_damaged' }],
      ['damaged', { status: 500, code: 'storage_damaged' }],
      ['unavailable', { status: 503, code: 'storage_unavailable', retryAfter: 5 }],
    ] as const) {
      const cause = new BlobError(code, 'The blob blob_1 in /data is not well.', 'Restore it.');
      const error = toApiError(cause);
      expect(error).toMatchObject({ ...expected, cause });
      expect(error.message).not.toMatch(/blob_1|\/data/);
    }
  });

  it.each([undefined, null])('survives a thrown %s', (thrown) => {
    expect(toApiError(thrown).status).toBe(500);
  });

  it.each([
    [413, 'payload_too_large'],
    [415, 'unsupported_media_type'],
    [400, 'malformed_request'],
    [406, 'malformed_request'],
  ])('translates %i of the HTTP library to %s', (statusCode, code) => {
    expect(toApiError(Object.assign(new Error('inside'), { statusCode, code: 'FST_ERR_X' })).code).toBe(code);
  });
});

describe('noSuchRoute', () => {
  it.each([
    ['/v1/v1/messages', /without \/v1/],
    ['/chat/completions', /with \/v1/],
    ['/v1/nothing', /unknown path/i],
    ['/conversations', /with \/v1/],
    ['/', /unknown path/i],
  ])('%s: %s', (path, sentence) => {
    expect(noSuchRoute(path).message).toMatch(sentence);
  });
});
