import { hash } from 'node:crypto';
import { v7 } from 'uuid';
import type { Clock } from './clock.ts';
import type { Random } from './random.ts';

/** The prefixes of every id the service hands out (api.md, section 6 and 8). */
export type IdPrefix =
  | 'batch_'
  | 'file-'
  | 'chatcmpl_'
  | 'cmpl_'
  | 'resp_'
  | 'conv_'
  | 'msg_'
  | 'req_'
  | 'call_'
  | 'org_'
  | 'key_'
  | 'evt_'
  | 'wh_'
  | 'dlv_'
  | 'wrk_'
  | 'blob_'
  | 'inst_';

/** Makes ids that sort by the time they were made, so that a deleted cursor still pages. */
export interface Ids {
  next(prefix: IdPrefix): string;
}

/** Ids of the form prefix + 32 hex digits of a version 7 UUID. */
export function createIds(clock: Clock, random: Random): Ids {
  let lastMs = 0;
  let sequence = 0;
  const uuid = Buffer.alloc(16);
  return {
    next(prefix) {
      const ms = Math.max(clock.now(), lastMs);
      sequence = ms === lastMs ? sequence + 1 : 0;
      lastMs = ms;
      v7({ msecs: ms, seq: sequence, random: random.bytes(16) }, uuid);
      return prefix + uuid.toString('hex');
    },
  };
}

/** The id of what `name` says, which sorts by `at` among the others and is the same whenever it is made again. */
export function derivedId(prefix: IdPrefix, at: number, name: string): string {
  return prefix + at.toString(16).padStart(12, '0') + hash('sha256', name).slice(0, 20);
}

/** Whether `id` has the exact shape of an id we make; anything else need not reach the database. */
export function isId(prefix: IdPrefix, id: string): boolean {
  return (
    id.length === prefix.length + 32 &&
    id.startsWith(prefix) &&
    /^[0-9a-f]{32}$/.test(id.slice(prefix.length))
  );
}
