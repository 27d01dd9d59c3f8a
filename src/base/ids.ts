import { hash } from 'node:crypto';
import type { Clock } from './clock.ts';
import type { Random } from './random.ts';
import type { Words } from './words.ts';

/** Prefixes of all ids. */
export type IdPrefix =
  Words<'batch_ group_ file- chatcmpl_ cmpl_ rerank_ score_ modr_ resp_ conv_ msg_ req_ call_ org_ key_ evt_ act_ wh_ dlv_ wrk_ rep_ blob_ inst_ job-'>;

/** Makes ids that sort by creation time, so that a deleted cursor still pages. */
export interface Ids {
  next(prefix: IdPrefix): string;
}

/** Ids of a prefix and the 32 hex digits of a version 7 UUID. */
export function createIds(clock: Clock, random: Random): Ids {
  let lastMs = 0;
  let sequence = 0;
  const uuid = Buffer.alloc(16);
  return {
    next(prefix) {
      const ms = Math.max(clock.now(), lastMs);
      sequence = ms === lastMs ? sequence + 1 : 0;
      lastMs = ms;
      uuid.set(random.bytes(16));
      writeOrder(uuid, ms, sequence);
      return prefix + uuid.toString('hex');
    },
  };
}

/** Writes the sort key of a version 7 UUID (RFC 9562): the millisecond, then a 32-bit counter within it. */
function writeOrder(uuid: Buffer, ms: number, sequence: number): void {
  uuid.writeUIntBE(ms, 0, 6);
  uuid[6] = 0x70 | (sequence >>> 28);
  uuid[7] = sequence >>> 20;
  uuid[8] = 0x80 | ((sequence >>> 14) & 0x3f);
  uuid[9] = sequence >>> 6;
  uuid[10] = (sequence << 2) | (uuid[10]! & 0x03);
}

/** Deterministic id for `name` that sorts by `at`. */
export function derivedId(prefix: IdPrefix, at: number, name: string): string {
  return prefix + at.toString(16).padStart(12, '0') + hash('sha256', name).slice(0, 20);
}

/** True if `id` has the exact form of an id with this prefix; others need no look-up. */
export function isId(prefix: IdPrefix, id: string): boolean {
  return (
    id.length === prefix.length + 32 &&
    id.startsWith(prefix) &&
    /^[0-9a-f]{32}$/.test(id.slice(prefix.length))
  );
}
