import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { serverActor } from '../../src/core/audit.ts';
import { createAccounts } from '../../src/accounts/create-accounts.ts';
import { createIds } from '../../src/base/ids.ts';
import { silent as log } from '../../src/base/log.ts';
import { systemClock as clock, systemRandom as random } from '../../src/base/system.ts';
import type { KeyScope } from '../../src/core/org.ts';
import { createSqliteStore } from '../../src/store/sqlite/sqlite.ts';
import { createScanGate } from '../../src/store/scan-gate.ts';

export interface SeedKey {
  /** Created unless it exists; `default` is the org of the first key. */
  org: string;
  scopes?: KeyScope[];
  models?: string[];
}

/** Creates orgs and keys in a data folder that no server uses, and returns the keys' secrets. */
export async function seedKeys(data: string, wanted: SeedKey[]): Promise<string[]> {
  if (wanted.length === 0) return [];
  mkdirSync(data, { recursive: true });
  const store = createSqliteStore({ path: join(data, 'offpeak.db'), clock, log });
  const ids = createIds(clock, random);
  const accounts = createAccounts({ scans: createScanGate(), store, clock, random, ids, log, config: {} });
  await store.start();
  await accounts.start();
  try {
    const secrets: string[] = [];
    for (const { org, ...rights } of wanted) {
      const known = (await accounts.orgs.list()).find(({ name }) => name === org);
      const { id } = known ?? (await accounts.orgs.create(serverActor, { name: org }));
      secrets.push((await accounts.keys.create(serverActor, { orgId: id, ...rights })).key);
    }
    return secrets;
  } finally {
    await accounts.stop();
    await store.stop();
  }
}
