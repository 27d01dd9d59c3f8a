import type { IncomingMessage } from 'node:http';
import { ApiError } from '../../core/errors.ts';

/**
 * Refuses a request that a page of another origin sent. Browsers say so in `Sec-Fetch-Site`; on plain HTTP, where they do not, the
 * host in `Origin` must be the `Host` of the request. A change without either header is refused, too.
 * @throws ApiError `foreign_origin`
 */
export function requireOwnOrigin({ method, headers }: IncomingMessage): void {
  const { origin, host = '', 'sec-fetch-site': site } = headers;
  const isOwn =
    site !== undefined
      ? site === 'same-origin' || (site === 'none' && method === 'GET')
      : origin === undefined
        ? method === 'GET' || method === 'HEAD'
        : hostOf(origin) === host.toLowerCase();
  if (isOwn) return;
  throw new ApiError(
    'foreign_origin',
    'Only pages of the console may send this request. Behind a proxy, let it pass the Host header on.',
  );
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
