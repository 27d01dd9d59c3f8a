import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { createPoll, type Poll } from '../base/poll.ts';
import type { Waiting } from '../core/waiting.ts';
import { failureFields } from '../core/retry-log.ts';
import type { OrgStore } from '../store/contract/accounts.ts';

/** Interval at which each process reads which orgs are disabled. */
const refreshMs = 1_000;

/** Disabled orgs, read every second. Claims ask the database; this explains why batches wait. */
export interface DisabledOrgs extends Poll {
  /** Returns why the batches of an org wait; null if it is not disabled. */
  waiting(orgId: string): Waiting | null;
}

export function createDisabledOrgs(deps: {
  orgs: Pick<OrgStore, 'disabled'>;
  clock: Clock;
  log: Log;
}): DisabledOrgs {
  const { orgs, clock, log } = deps;
  let since = new Map<string, number>();
  const poll = createPoll(
    clock,
    refreshMs,
    async () => {
      since = new Map((await orgs.disabled()).map(({ id, disabledAt }) => [id, disabledAt]));
    },
    (error) => log.warn(failureFields(error), 'could not read which orgs are disabled'),
  );

  return {
    ...poll,

    waiting(orgId) {
      const at = since.get(orgId);
      if (at === undefined) return null;
      const message = 'The org is disabled. An administrator can enable it; the window keeps running.';
      return { reason: 'org_disabled', message, since: at };
    },
  };
}
