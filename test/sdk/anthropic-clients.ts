import Anthropic from '@anthropic-ai/sdk';
import Anthropic0 from 'anthropic0';

// Both generations of the official client, unmodified, used through the types of the newer one.
export type MessagesSdk = typeof Anthropic;
export type MessagesClient = Anthropic;

export const messagesSdks: { name: string; sdk: MessagesSdk; isOld: boolean }[] = [
  { name: 'anthropic 1', sdk: Anthropic, isOld: false },
  { name: 'anthropic 0.137', sdk: Anthropic0 as unknown as MessagesSdk, isOld: true },
];

export interface MessagesClientOptions {
  url: string;
  key: string;
  maxRetries?: number;
}

/** Sends `authToken` in `Authorization`, as both generations do. */
export function createMessagesClient(
  sdk: MessagesSdk,
  { url, key, maxRetries = 0 }: MessagesClientOptions,
): MessagesClient {
  return new sdk({ baseURL: url, authToken: key, apiKey: null, maxRetries });
}
