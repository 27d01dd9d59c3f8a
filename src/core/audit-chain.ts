import {
  auditHash,
  type AuditEntry,
  auditId,
  auditSequence,
  type AuditHead,
  emptyAuditLog,
} from './audit.ts';

/** First fault of an audit log. */
export interface AuditFault {
  /** Id of the entry that is missing, wrong or out of order. */
  id: string;
  message: string;
}

/**
 * Checks that entries, oldest first, are a complete log: none changed, removed, inserted or moved. It cannot find
 * entries that are missing at the end without a head, or a log that was rewritten as a whole, head included.
 */
export function createAuditCheck() {
  let last: AuditHead = emptyAuditLog;
  let fault: AuditFault | undefined;

  function faultOf(entry: AuditEntry): AuditFault | undefined {
    const { id } = entry;
    const sequence = auditSequence(id);
    const expected = last.sequence + 1;
    if (sequence === undefined) return { id, message: 'is not an id of the audit log' };
    if (sequence > expected) return { id: auditId(expected), message: 'is missing' };
    if (sequence < expected) return { id, message: `is out of order, after ${auditId(last.sequence)}` };
    if (entry.hash !== auditHash(entry)) return { id, message: 'was changed: its hash does not match it' };
    if (entry.previous_hash !== last.hash)
      return { id, message: 'does not continue the entry before it: one of the two was replaced' };
    return undefined;
  }

  return {
    /** Checks the next entry. Returns the first fault of all entries so far. */
    add(entry: AuditEntry): AuditFault | undefined {
      fault ??= faultOf(entry);
      if (!fault) last = { sequence: auditSequence(entry.id)!, hash: entry.hash };
      return fault;
    },
    /** Returns the first fault, after the last entry. */
    end(head?: AuditHead): AuditFault | undefined {
      if (fault || !head || (head.sequence === last.sequence && head.hash === last.hash)) return fault;
      if (head.sequence > last.sequence) return { id: auditId(last.sequence + 1), message: 'is missing' };
      const id = auditId(last.sequence);
      if (head.sequence < last.sequence) return { id, message: 'was added after the end of the log' };
      return { id, message: 'is not the entry that the log ends with' };
    },
    /** Last entry that is in order. */
    get last(): AuditHead {
      return last;
    },
  };
}
