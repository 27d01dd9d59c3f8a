/**
 * Single requests that run through the batch engine (docs/design/batch-engine.md, "Single requests"). Those that are stored
 * together form a group, a batch that no list shows, with an id of its own kind. Ids of batches sort before those of groups.
 */

const prefix = 'group_';

/** True for the id of a group of single requests, false for that of a batch. */
export function isGroup(batchId: string): boolean {
  return batchId.startsWith(prefix);
}

/** Line of a batch or of a group. */
export interface LinePlace {
  batchId: string;
  /** From 0. */
  line: number;
}

/** Key of a line in a map. */
export function lineKey({ batchId, line }: LinePlace): string {
  return `${batchId}/${line}`;
}

/** Id `req_<batch or group>_<line>` of a line, the same at every attempt. */
export function lineRequestId({ batchId, line }: LinePlace): string {
  return `req_${batchId.slice(batchId.indexOf('_') + 1)}_${line}`;
}

/** Place of the request with this id in its group. */
export function placeInGroup(requestId: string): LinePlace {
  const [, id, line] = requestId.split('_');
  return { batchId: `${prefix}${id}`, line: Number(line) };
}

/** First id that a group can have that is created at `at`, in epoch milliseconds. */
export function firstGroupAt(at: number): string {
  return prefix + Math.max(0, Math.floor(at)).toString(16).padStart(12, '0');
}
