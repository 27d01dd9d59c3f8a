import { readUsage } from '../../../src/accounts/usage.ts';
import { dayMs, utcDay } from '../../../src/base/clock.ts';
import { serverActor } from '../../../src/core/audit.ts';
import type { RunningServer } from './start-server.ts';

type Server = Pick<RunningServer, 'accounts' | 'store' | 'clock'>;

/** Creates a key of an org of its own. `billed` returns what the ledger has of the org: requests and output tokens. */
export async function createBilledKey({ accounts, store, clock }: Server) {
  const { id: orgId } = await accounts.orgs.create(serverActor, { name: 'billed' });
  const { key } = await accounts.keys.create(serverActor, { orgId });
  const now = clock.now();
  const days = { start: utcDay(now - dayMs), before: utcDay(now + 2 * dayMs) };
  const query = { ...days, groups: [], orgId, limit: 1 } as const;
  return {
    key,
    billed: async () => {
      const { requests, outputTokens } = (await readUsage(store.ledger, query)).total!;
      return { requests, outputTokens };
    },
  };
}
