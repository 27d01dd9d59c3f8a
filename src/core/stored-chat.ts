/** A chat completion that is kept. Instants are epoch milliseconds. */
export interface StoredChat {
  id: string;
  orgId: string;
  createdAt: number;
  expiresAt: number;
  /** Who served it. */
  model: string;
  /** JSON text of an object of texts. */
  metadata: string;
  /** What was asked: JSON text of a list. */
  messages: string;
  /** The answer as the client got it, as JSON text. */
  body: string;
}

export interface ChatQuery {
  order: 'asc' | 'desc';
  limit: number;
  after?: string;
  model?: string;
  /** Only those that are marked so. */
  metadata: Record<string, string>;
}
