import type { BatchEndpoint } from './batch.ts';
import type { FieldWarning } from './field-warning.ts';

/** Purposes of uploads: batch input, or content that requests refer to by id. */
export const uploadPurposes = ['batch', 'user_data', 'assistants', 'vision'] as const;
export type UploadPurpose = (typeof uploadPurposes)[number];

export const filePurposes = [...uploadPurposes, 'batch_output'] as const;
export type FilePurpose = (typeof filePurposes)[number];

/** True if a file counts toward the quota of its org; batch input and output do not. */
export function countsTowardQuota({ purpose }: Pick<StoredFile, 'purpose'>): boolean {
  return purpose !== 'batch' && purpose !== 'batch_output';
}

/** Stored file. Instants are epoch milliseconds. */
export interface StoredFile {
  id: string;
  orgId: string;
  /** Family of the key that uploaded it, or created its batch; null for files of versions that did not record it. */
  keyId: string | null;
  purpose: FilePurpose;
  filename: string;
  bytes: number;
  /** Blob of the content; never shared with another file. */
  blobId: string;
  /** SHA-256 of the content, lower-case hex. */
  sha256: string;
  /** Number of requests; null unless batch input. */
  requests: number | null;
  /** Endpoint of all lines; null unless batch input. */
  endpoint: BatchEndpoint | null;
  /** Unknown fields of its requests. */
  warnings: readonly FieldWarning[];
  createdAt: number;
  expiresAt: number | null;
}
