/** Stored bytes and rows of an org or a key, with expired rows that are not yet removed. */
export interface Stored {
  /** Id of the org or the key. */
  ownerId: string;
  /** Bytes of responses, conversations, chat completions and files that are not for batches. */
  bytes: number;
  /** Bytes of all files, results included. */
  fileBytes: number;
  /** Responses, chat completions, conversations and their items. */
  responses: number;
}

/** Largest bytes of files of an org and of one of its keys; unlimited if absent. */
export interface FileByteLimits {
  org?: number;
  key?: number;
}

export interface StorageStore {
  /** Owners that have stored something. */
  stored(ownerIds: readonly string[]): Promise<Stored[]>;
}
