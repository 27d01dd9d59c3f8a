import { describe, expect, test } from 'vitest';
import type { BatchAction } from '../../../src/core/batch-action.ts';
import type { Stores } from '../conformance.ts';
import { start } from '../fixtures.ts';

/** Actions on many batches. */
export function actionTests(on: Stores): void {
  const action: BatchAction = {
    id: 'act_1',
    orgId: 'org_1',
    keyId: 'key_1',
    keyFamily: null,
    options: { kind: 'pause' },
    status: 'running',
    total: 2,
    position: 0,
    done: 0,
    failed: 0,
    skipped: 0,
    failures: [],
    actor: null,
    createdAt: start,
    endedAt: null,
  };
  const ids = ['batch_1', 'batch_2'];

  /** Creates the action, which the live process `w1` holds. */
  async function held(): Promise<void> {
    await on.store.workers.beat('w1', { interactive: {} });
    await on.store.actions.create(action, ids, 'org_1');
    expect(await on.store.actions.claim('w1', start, start + 30)).toEqual({ action, ids });
  }

  describe('actions on batches', () => {
    test('are held by one process until their lease ends', async () => {
      await held();
      expect(await on.other.actions.claim('w2', start + 29, start + 60)).toBeUndefined();
      expect(await on.other.actions.claim('w2', start + 30, start + 60)).toEqual({ action, ids });
      expect(await on.store.actions.advance('w1', 'act_1', { ...action, position: 1 }, start + 90)).toBe(
        false,
      );
    });

    test('are free once their process releases them', async () => {
      await held();
      await on.other.actions.release('w2');
      expect(await on.other.actions.claim('w2', start, start + 60)).toBeUndefined();
      await on.store.actions.release('w1');
      expect(await on.other.actions.claim('w2', start, start + 60)).toEqual({ action, ids });
    });

    test('are free once their process is not among the live ones', async () => {
      await held();
      await on.store.workers.clear();
      expect(await on.other.actions.claim('w2', start, start + 60)).toEqual({ action, ids });
    });
  });
}
