import { describe, expect, it } from 'vitest';
import { presentFile } from '../file/present.ts';
import { presentModel, presentModels } from './present.ts';

const model = {
  id: 'offpeak-tiny',
  aliases: ['default'],
  serves: ['chat' as const],
  createdAt: Date.UTC(2026, 10, 21),
  prices: { input: 100_000_000, cachedInput: 25_000_000, output: 400_000_000 },
};

const state = { batchOnly: false, slots: 4 };

describe('models', () => {
  it('are one object for both families of clients', () => {
    expect(presentModel(model, state)).toEqual({
      id: 'offpeak-tiny',
      object: 'model',
      created: 1_795_219_200,
      owned_by: 'offpeak',
      type: 'model',
      display_name: 'offpeak-tiny',
      created_at: '2026-11-21T00:00:00Z',
      aliases: ['default'],
      serves: ['chat'],
      context_length: null,
      slots: 4,
      batch_only: false,
      pricing: { currency: 'USD', unit: '1M tokens', input: '0.1', cached_input: '0.025', output: '0.4' },
    });
    expect(presentModel({ ...model, contextLength: 4096 }, state).context_length).toBe(4096);
    expect(presentModels({ models: [model], hasMore: false }, () => state)).toMatchObject({
      object: 'list',
      has_more: false,
      first_id: model.id,
      last_id: model.id,
    });
    expect(presentModels({ models: [], hasMore: false }, () => state)).toEqual({
      object: 'list',
      data: [],
      has_more: false,
      first_id: null,
      last_id: null,
    });
  });
});

describe('files', () => {
  const file = {
    id: 'file-1',
    orgId: 'org_1',
    keyId: null,
    purpose: 'batch' as const,
    filename: 'in.jsonl',
    bytes: 12,
    blobId: 'blob_1',
    sha256: 'x',
    requests: 1,
    endpoint: '/v1/embeddings' as const,
    warnings: [],
    createdAt: 1_700_000_000_999,
    expiresAt: 1_700_003_600_999,
  };

  it('have the documented fields only, with times in Unix seconds', () => {
    expect(presentFile(file)).toEqual({
      id: 'file-1',
      object: 'file',
      bytes: 12,
      created_at: 1_700_000_000,
      expires_at: 1_700_003_600,
      filename: 'in.jsonl',
      purpose: 'batch',
      status: 'processed',
      warnings: [],
    });
    expect('expires_at' in presentFile({ ...file, expiresAt: null })).toBe(false);
  });
});
