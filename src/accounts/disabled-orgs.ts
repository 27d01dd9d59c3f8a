import type { Clock, Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Service } from '../base/service.ts';
import type { Waiting } from '../core/waiting.ts';
import type { OrgStore } from '../store/contract/accounts.ts';

/** Interval at which each process reads which orgs are disabled. */
const refreshMs = 1_000;

/** Disabled orgs, read every second. Claims ask the database; this tells why batches wait. */
export interface DisabledOrgs extends Service {
  refresh(): Promise<void>;
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
  let timer: Timer | undefined;
  let isStopped = true;
  let fails = false;
  let refreshing = Promise.resolve();

  async function refresh(): Promise<void> {
    since = new Map((await orgs.disabled()).map(({ id, disabledAt }) => [id, disabledAt]));
  }

  function schedule(): void {
    if (isStopped) return;
    timer = clock.after(refreshMs, () => {
      refreshing = refresh()
        .then(
          () => (fails = false),
          (error: unknown) => {
            if (!fails) log.warn({ err: error }, 'could not read which orgs are disabled');
            fails = true;
          },
        )
        .then(schedule);
    });
  }

  return {
    refresh,

    waiting(orgId) {
      const at = since.get(orgId);
      if (at === undefined) return null;
      const message = 'The org is disabled. An administrator can enable it; the window keeps running.';
      return { reason: 'org_disabled', message, since: at };
    },

    async start() {
      isStopped = false;
      await refresh();
      schedule();
    },

    async stop() {
      isStopped = true;
      timer?.cancel();
      await refreshing;
    },
  };
}
