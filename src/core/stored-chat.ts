/** Stored chat completion. Instants are epoch milliseconds. */
export interface StoredChat {
  id: string;
  orgId: string;
  keyId: string | null;
  createdAt: number;
  expiresAt: number;
  model: string;
  /** JSON object of strings. */
  metadata: string;
  /** Messages of the request: JSON array. */
  messages: string;
  /** Answer as sent to the client: JSON text. */
  body: string;
}

export interface ChatQuery {
  order: 'asc' | 'desc';
  limit: number;
  after?: string;
  model?: string;
  /** Pairs that the metadata must contain. */
  metadata: Record<string, string>;
}

/** True if a query filters the rows of an org, so that the database reads rows that it does not return. */
export function isFiltered({ model, metadata }: Pick<ChatQuery, 'model' | 'metadata'>): boolean {
  return model !== undefined || Object.keys(metadata).length > 0;
}
