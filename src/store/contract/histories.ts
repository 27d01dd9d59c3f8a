import type { BatchHistory } from '../../core/batch-history.ts';

export interface StoredHistory extends BatchHistory {
  batchId: string;
  /** Epoch milliseconds of the last change. */
  updatedAt: number;
}

export interface HistoryStore {
  /** Histories of these batches, where there are any. */
  get(batchIds: readonly string[]): Promise<StoredHistory[]>;
  /** Replaces histories, except by older ones. */
  put(histories: readonly StoredHistory[]): Promise<void>;
}
