import { createIds } from '../../src/base/ids.ts';
import { silent } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/system.ts';
import { type BatchRules, defaultLimits } from '../../src/core/batch.ts';
import { createCatalog } from '../../src/core/model.ts';
import { type Caller, orgDefaults } from '../../src/core/org.ts';
import { createFiles } from '../../src/files/create-files.ts';
import type { CheckSchema } from '../../src/files/distinct-schemas.ts';
import { usualRules } from './batch-rules.ts';
import { createMemoryStore } from './memory-store.ts';
import { createManualClock } from './manual-clock.ts';
import { createMemoryBlobs } from './memory-blobs.ts';
import { createScanGate } from '../../src/store/scan-gate.ts';

const prices = { input: 0, cachedInput: 0, output: 0 };

export type FileRules = Partial<BatchRules> & { lineBytes?: number };

/** Returns files over an in-memory store and blobs, with a chat model `tiny` and an embeddings model `vectors`. */
export async function startFiles(
  { lineBytes = defaultLimits.lineBytes, ...rules }: FileRules = {},
  checkSchema: CheckSchema = async () => null,
  storedBytesPerOrg = Infinity,
) {
  const clock = createManualClock();
  const store = createMemoryStore({ clock });
  const blobs = createMemoryBlobs({ now: () => clock.now() });
  const ids = createIds(clock, systemRandom);
  const catalog = {
    ...createCatalog([
      { id: 'tiny', aliases: [], serves: ['chat'], prices, createdAt: 0 },
      { id: 'vectors', aliases: [], serves: ['embeddings'], prices, createdAt: 0 },
    ]),
    refresh: async () => {},
  };
  const files = createFiles({
    scans: createScanGate(),
    store,
    blobs,
    clock,
    ids,
    catalog,
    log: silent,
    quarantineMs: 7 * 86_400_000,
    diskClock: clock,
    checkSchema,
    storedBytesPerOrg,
    requireDisk: () => {},
    rules: { ...usualRules, ...rules },
    lineBytes,
  });
  await store.start();
  await store.orgs.insert({ id: 'org_1', name: 'one', createdAt: 0, ...orgDefaults });
  await store.orgs.insert({ id: 'org_2', name: 'two', createdAt: 0, ...orgDefaults });
  return {
    catalog,
    clock,
    store,
    blobs,
    files,
    async stop() {
      await files.stop();
      await store.stop();
    },
  };
}

export const callerFor = (orgId: string): Caller => ({
  orgId,
  keyId: `key_${orgId}`,
  scopes: ['files'],
  models: null,
});
