import type { BatchEndpoint } from './batch.ts';

/** What a file is uploaded for: the requests of a batch, or, kept as they come, what requests name by its id. */
export const uploadPurposes = ['batch', 'user_data', 'assistants', 'vision'] as const;
export type UploadPurpose = (typeof uploadPurposes)[number];

export const filePurposes = [...uploadPurposes, 'batch_output'] as const;
export type FilePurpose = (typeof filePurposes)[number];

/** Whether a file counts into what its org may store; what goes into batches and comes out of them does not. */
export function countsTowardQuota({ purpose }: Pick<StoredFile, 'purpose'>): boolean {
  return purpose !== 'batch' && purpose !== 'batch_output';
}

/** A stored file (specification, section 2.4). Instants are epoch milliseconds. */
export interface StoredFile {
  id: string;
  orgId: string;
  purpose: FilePurpose;
  filename: string;
  bytes: number;
  /** The blob that holds its content. Two files never share one. */
  blobId: string;
  /** SHA-256 of the content, lower-case hex. */
  sha256: string;
  /** Requests in it; null for files of other purposes. */
  requests: number | null;
  /** The endpoint all lines name; null for files of other purposes. */
  endpoint: BatchEndpoint | null;
  createdAt: number;
  expiresAt: number | null;
}
