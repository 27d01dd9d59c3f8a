import { expect, it } from 'vitest';
import { createAuditCheck } from './audit-chain.ts';
import {
  type AuditEntry,
  auditHash,
  type AuditHead,
  emptyAuditLog,
  nextAuditEntry,
  serverActor,
} from './audit.ts';

/** Log of `count` entries. */
function makeLog(count: number): { entries: AuditEntry[]; head: AuditHead } {
  const entries: AuditEntry[] = [];
  let head = emptyAuditLog;
  for (let n = 1; n <= count; n++) {
    const change = {
      action: 'org.update',
      target: `org_${n}`,
      before: { weight: 1 },
      after: { weight: n },
    } as const;
    const entry = nextAuditEntry(head, { actor: serverActor, at: n }, change);
    entries.push(entry);
    head = { sequence: n, hash: entry.hash };
  }
  return { entries, head };
}

function faultOf(entries: AuditEntry[], head?: AuditHead) {
  const check = createAuditCheck();
  for (const entry of entries) check.add(entry);
  return check.end(head);
}

const id = (n: number) => `audit_00000000000${n}`;
const { entries, head } = makeLog(5);

it('accepts a complete log, also an empty one', () => {
  expect(faultOf(entries, head)).toBeUndefined();
  expect(faultOf([], emptyAuditLog)).toBeUndefined();
});

it('C23: names a removed entry, wherever it was', () => {
  for (let n = 1; n <= 5; n++)
    expect(faultOf(entries.toSpliced(n - 1, 1), head)).toEqual({ id: id(n), message: 'is missing' });
  expect(faultOf([], head)).toEqual({ id: id(1), message: 'is missing' });
});

it('C23: names a changed entry, whichever field it is, also when its hash was made anew', () => {
  const third = entries[2]!;
  for (const change of [
    { at: new Date(9).toISOString() },
    { actor: { key_id: 'key_1', name: 'server' } },
    { action: 'org.create' as const },
    { target: 'org_9' },
    { before: null },
    { after: { weight: 4 } },
    { address: '::1' },
    { request_id: 'req_1' },
  ]) {
    const changed = { ...third, ...change };
    expect(faultOf(entries.with(2, changed), head)).toMatchObject({
      id: id(3),
      message: expect.stringContaining('was changed'),
    });
    const forged = { ...changed, hash: auditHash(changed) };
    expect(faultOf(entries.with(2, forged), head)).toMatchObject({
      id: id(4),
      message: expect.stringContaining('does not continue'),
    });
  }
});

it('C23: names inserted and moved entries', () => {
  expect(faultOf(entries.toSpliced(2, 0, entries[4]!), head)).toMatchObject({ id: id(3) });
  expect(faultOf([entries[0]!, entries[2]!, entries[1]!, ...entries.slice(3)], head)).toMatchObject({
    id: id(2),
  });
  expect(faultOf([...entries, entries[1]!], head)).toMatchObject({
    id: id(2),
    message: expect.stringContaining('out of order'),
  });
  const added = makeLog(6).entries[5]!;
  expect(faultOf([...entries, added], head)).toEqual({
    id: id(6),
    message: 'was added after the end of the log',
  });
  expect(faultOf([{ ...entries[0]!, id: 'x' }], head)).toMatchObject({ id: 'x' });
});

it('C23: notices another head, and without a head everything but missing entries at the end', () => {
  expect(faultOf(entries, { sequence: 5, hash: 'x' })).toMatchObject({ id: id(5) });
  expect(faultOf(entries.slice(0, 3))).toBeUndefined();
});
