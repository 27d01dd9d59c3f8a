import { unixSeconds } from '../../base/clock.ts';
import type { StoredFile } from '../../core/file.ts';
import { presentWarnings } from '../shared/field-warnings.ts';

/** File resource. `expires_at` is absent without an expiry. */
export function presentFile(file: StoredFile) {
  return {
    id: file.id,
    object: 'file',
    bytes: file.bytes,
    created_at: unixSeconds(file.createdAt),
    ...(file.expiresAt !== null && { expires_at: unixSeconds(file.expiresAt) }),
    filename: file.filename,
    purpose: file.purpose,
    status: 'processed',
    ...(file.purpose === 'batch' && { warnings: presentWarnings(file.warnings) }),
  };
}

export function presentDeletedFile(id: string) {
  return { id, object: 'file', deleted: true };
}
