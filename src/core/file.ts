import type { BatchEndpoint } from './batch.ts';

export type FilePurpose = 'batch' | 'batch_output';
export const filePurposes = ['batch', 'batch_output'] as const satisfies readonly FilePurpose[];

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
  /** Requests in it; null for result files. */
  requests: number | null;
  /** The endpoint all lines name; null for result files. */
  endpoint: BatchEndpoint | null;
  createdAt: number;
  expiresAt: number | null;
}
