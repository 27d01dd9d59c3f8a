import { editMembers } from '../../wire/json/edit-members.ts';
import { findMember, scanJson } from '../../wire/json/scan.ts';
import { decodeText } from './read-body.ts';

/**
 * Body of a request whose path names the model: its member `model` is set to it, and every other byte stays as it was.
 * A body that is not a JSON object is returned as it is, because its reader reports the fault.
 * @throws ApiError `invalid_encoding`
 */
export function withModel(bytes: Buffer, model: string): Buffer {
  const text = decodeText(bytes);
  const value = JSON.stringify(model);
  const edits = new Map([['model', value]]);
  const scan = scanJson(text, { maxDepth: Infinity, maxNodes: Infinity, until: edits });
  const named = findMember(scan, 'model');
  if (named ? text.slice(named.start, named.end) === value : !scan.closed || scan.inside < 0) return bytes;
  return Buffer.from(editMembers(text, edits, scan));
}
