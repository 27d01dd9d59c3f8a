import OpenAI from 'openai';
import OpenAI6 from 'openai6';

// Both majors of the official client, unmodified, used through the types of the newer one.
export type Sdk = typeof OpenAI;
export type Client = OpenAI;

export const sdks: { name: string; sdk: Sdk }[] = [
  { name: 'openai 7', sdk: OpenAI },
  { name: 'openai 6', sdk: OpenAI6 as unknown as Sdk },
];

export interface ClientOptions {
  url: string;
  key: string;
  maxRetries?: number;
  fetch?: typeof fetch;
}

export function createClient(sdk: Sdk, { url, key, maxRetries = 0, fetch }: ClientOptions): Client {
  return new sdk({ baseURL: `${url}/v1`, apiKey: key, maxRetries, ...(fetch && { fetch }) });
}

/** Returns a fetch that delivers requests to paths with this ending and loses the first `times` responses. */
export function createLossyFetch(
  path: string,
  times = 1,
): { fetch: typeof fetch; retries: (string | null)[] } {
  const retries: (string | null)[] = [];
  let left = times;
  return {
    retries,
    async fetch(input, init) {
      const response = await fetch(input, init);
      const url = input instanceof Request ? input.url : String(input);
      if (!new URL(url).pathname.endsWith(path)) return response;
      retries.push(new Headers(init?.headers).get('x-stainless-retry-count'));
      if (left-- <= 0) return response;
      await response.arrayBuffer();
      throw new TypeError('the connection was lost');
    },
  };
}
