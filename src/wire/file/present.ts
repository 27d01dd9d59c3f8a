import { unixSeconds } from '../../base/clock.ts';
import type { StoredFile } from '../../core/file.ts';

/** The file resource (specification, section 2.4). `expires_at` is there when an expiry applies. */
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
  };
}

export function presentDeletedFile(id: string) {
  return { id, object: 'file', deleted: true };
}
