import type { Share, SharedUse, ShareRequest } from '../../core/shared-use.ts';

/** Use of the limits of orgs and keys, shared by the processes on a database. */
export interface LimitStore {
  /** Grants `process` its shares (core/shared-use.ts), by the id of the org or key. */
  share(process: string, requests: Record<string, ShareRequest>, now: number): Promise<Record<string, Share>>;
  /** Use of the limits of these orgs and keys, by id. Those without any are absent. */
  read(ids: readonly string[]): Promise<Record<string, SharedUse>>;
  /** Removes what was last used before this time. */
  removeUnused(before: number): Promise<void>;
}
