import { describe, expect, it } from 'vitest';
import type { Caller } from '../core/org.ts';
import type { Stored } from '../store/contract/storage.ts';
import { createQuota } from './quota.ts';

const caller: Caller = { orgId: 'org_a', keyId: 'key_a', scopes: [], models: null };
const limits = { bytes: 1_000, responses: 10 };
const full: Stored[] = [{ ownerId: 'org_a', bytes: 0, fileBytes: 0, responses: 10 }];

describe('the quota of stored responses', () => {
  it('refuses every one of several concurrent requests of an org that is full', async () => {
    const quota = createQuota({ stored: async () => full }, limits, () => {});
    const results = await Promise.allSettled(Array.from({ length: 5 }, () => quota.reserve(caller, 1)));
    expect(results.map(({ status }) => status)).toEqual(Array(5).fill('rejected'));
  });

  it('stays in force after the database failed', async () => {
    let fails = false;
    const stored = async () => {
      if (fails) throw new Error('down');
      return full;
    };
    const quota = createQuota({ stored }, limits, () => {});
    await expect(quota.reserve(caller, 1)).rejects.toMatchObject({ code: 'storage_quota_exceeded' });
    fails = true;
    await expect(quota.reserve(caller, 1)).rejects.toThrow('down');
    fails = false;
    await expect(quota.reserve(caller, 1)).rejects.toMatchObject({ code: 'storage_quota_exceeded' });
  });
});
