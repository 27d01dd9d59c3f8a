import { canonicalHash, canonicalJson } from '../base/canonical-json.ts';
import type { Fields } from '../base/fields.ts';
import { words } from '../base/words.ts';

/** Kinds of administrative changes. */
export const auditActions = [
  ...words('org.create org.update key.create key.update key.rotate key.revoke'),
  ...words('batch.pause batch.resume batch.cancel batch.retry batch.update batch.read'),
  ...words(
    'batches.pause batches.resume replica.drain replica.undrain replica.cap replica.uncap secrets.rotate',
  ),
];
export type AuditAction = (typeof auditActions)[number];

/** Caller that makes a change, and where its request came from. */
export interface Actor {
  /** Null for the server. */
  keyId: string | null;
  /** Name of the key. */
  name: string;
  /** Address of the client: that of the connection, or the one that a trusted proxy reports. */
  address: string | null;
  requestId: string | null;
}

/** The server itself, which creates the first org and its keys. */
export const serverActor: Actor = { keyId: null, name: 'server', address: null, requestId: null };

/** Caller and time of a change that an operation of the store adds to the audit log, in the same transaction. */
export interface AuditStamp {
  actor: Actor;
  /** Epoch milliseconds. */
  at: number;
}

/** Change as the API shows it. */
export interface AuditChange {
  action: AuditAction;
  /** Id of what was changed. */
  target: string;
  /** Changed fields without secrets; null for something new. */
  before: Fields | null;
  after: Fields | null;
}

/** Entry of the audit log, in the form of the API, which the hash covers. */
export interface AuditEntry extends AuditChange {
  /** Consecutive, so that a missing entry is noticed. */
  id: string;
  object: 'audit_entry';
  /** ISO 8601 with milliseconds. */
  at: string;
  actor: { key_id: string | null; name: string };
  address: string | null;
  request_id: string | null;
  /** Hash of the entry before; empty for the first one. */
  previous_hash: string;
  /** SHA-256 of the other fields as canonical JSON, in lower-case hex. */
  hash: string;
}

/** Last entry of the log, stored apart from the entries. */
export interface AuditHead {
  /** Number of entries. */
  sequence: number;
  hash: string;
}

export const emptyAuditLog: AuditHead = { sequence: 0, hash: '' };

/** Order and filters of a list of entries. */
export interface AuditQuery {
  /** Id of a key. */
  actor?: string;
  action?: string;
  target?: string;
  /** Sequence number after which the page starts. */
  after?: number;
  order: 'asc' | 'desc';
  limit: number;
}

const idPrefix = 'audit_';

export function auditId(sequence: number): string {
  return idPrefix + String(sequence).padStart(12, '0');
}

/** Sequence number of an id; undefined for another text. */
export function auditSequence(id: string): number | undefined {
  const digits = /^audit_(\d{12})$/.exec(id)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

export function auditHash(entry: Omit<AuditEntry, 'hash'> & { hash?: string }): string {
  return canonicalHash({ ...entry, hash: undefined });
}

/** Entry that continues the chain. */
export function nextAuditEntry(head: AuditHead, { actor, at }: AuditStamp, change: AuditChange): AuditEntry {
  const entry: Omit<AuditEntry, 'hash'> = {
    id: auditId(head.sequence + 1),
    object: 'audit_entry',
    at: new Date(at).toISOString(),
    actor: { key_id: actor.keyId, name: actor.name },
    ...change,
    address: actor.address,
    request_id: actor.requestId,
    previous_hash: head.hash,
  };
  return { ...entry, hash: auditHash(entry) };
}

/** Fields that differ, each with its old and its new value; undefined if none differs. */
export function changedFields<T extends Fields>(
  before: T,
  after: T,
): Pick<AuditChange, 'before' | 'after'> | undefined {
  const names = Object.keys(after).filter(
    (name) => canonicalJson(before[name]) !== canonicalJson(after[name]),
  );
  if (names.length === 0) return undefined;
  const pick = (value: T) => Object.fromEntries(names.map((name) => [name, value[name]]));
  return { before: pick(before), after: pick(after) };
}
