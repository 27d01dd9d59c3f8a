import {
  type AuditAction,
  type AuditChange,
  type AuditEntry,
  type AuditHead,
  auditId,
  emptyAuditLog,
  type AuditStamp,
  nextAuditEntry,
} from '../../../core/audit.ts';
import type { Fields } from '../../../base/fields.ts';
import type { AuditStore } from '../../contract/audit.ts';
import type { Db, Queries } from '../../db.ts';
import { tableOf } from '../table.ts';

interface AuditRow {
  sequence: number;
  at: number;
  actor: string | null;
  actorName: string;
  action: AuditAction;
  target: string;
  oldValue: Fields | null;
  newValue: Fields | null;
  address: string | null;
  requestId: string | null;
  previousHash: string;
  hash: string;
}

const rows = tableOf<AuditRow>('audit_log', { json: ['oldValue', 'newValue'] })(
  'sequence at actor actorName action target oldValue newValue address requestId previousHash hash',
);
const heads = tableOf<AuditHead & { id: number }, 'id'>('audit_head', { unread: ['id'] })('id sequence hash');

export function createAuditLog(db: Db): AuditStore {
  return {
    append: (stamp, change) => db.tx((q) => append(q, stamp, change)),

    list: ({ actor, action, target, after, order, limit }) =>
      db.tx(async (q) => {
        if (db.types.snapshot !== '') await q.all(db.types.snapshot);
        const head = (await heads.first(q, {})) ?? emptyAuditLog;
        const found = await rows.all(
          q,
          {
            'actor = ?': actor,
            'action = ?': action,
            'target = ?': target,
            [order === 'asc' ? 'sequence > ?' : 'sequence < ?']: after,
          },
          `ORDER BY sequence ${order} LIMIT ?`,
          [limit + 1],
        );
        return { entries: found.slice(0, limit).map(toEntry), hasMore: found.length > limit, head };
      }),
  };
}

/** Adds an entry in the transaction of the change; the last statement of it, because other changes wait until its end. */
export async function append(q: Queries, stamp: AuditStamp, change: AuditChange): Promise<AuditEntry> {
  const head = await lockHead(q);
  const entry = nextAuditEntry(head, stamp, change);
  const sequence = head.sequence + 1;
  await rows.insert(q, [toRow(entry, sequence)]);
  await heads.change(q, { sequence, hash: entry.hash }, {});
  return entry;
}

/** Reads the head, which other transactions cannot until the end of this one. */
async function lockHead(q: Queries): Promise<AuditHead> {
  const head = await heads.first(q, {}, q.forUpdate);
  if (head) return head;
  const last = (await rows.first(q, {}, 'ORDER BY sequence DESC LIMIT 1')) ?? emptyAuditLog;
  await heads.insert(q, [{ id: 1, sequence: last.sequence, hash: last.hash }], 'ON CONFLICT (id) DO NOTHING');
  return (await heads.first(q, {}, q.forUpdate))!;
}

function toRow(
  { actor, previous_hash: previousHash, hash, ...entry }: AuditEntry,
  sequence: number,
): AuditRow {
  return {
    sequence,
    at: Date.parse(entry.at),
    actor: actor.key_id,
    actorName: actor.name,
    action: entry.action,
    target: entry.target,
    oldValue: entry.before,
    newValue: entry.after,
    address: entry.address,
    requestId: entry.request_id,
    previousHash,
    hash,
  };
}

function toEntry(row: AuditRow): AuditEntry {
  return {
    id: auditId(row.sequence),
    object: 'audit_entry',
    at: new Date(row.at).toISOString(),
    actor: { key_id: row.actor, name: row.actorName },
    action: row.action,
    target: row.target,
    before: row.oldValue,
    after: row.newValue,
    address: row.address,
    request_id: row.requestId,
    previous_hash: row.previousHash,
    hash: row.hash,
  };
}
