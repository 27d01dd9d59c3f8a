import type { IncomingHttpHeaders } from 'node:http';

/**
 * Address under which a client reached the server, from its `Host` and from the headers that proxies add. Empty behind a proxy that does
 * not report its protocol: a wrong one would send the key of the client in clear. The answer goes only to the client that sent the headers.
 */
export function publicUrl(headers: IncomingHttpHeaders): string {
  const first = (name: string) =>
    String(headers[name] ?? '')
      .split(',', 1)[0]!
      .trim();
  const isProxied = ['x-forwarded-for', 'forwarded', 'via'].some((name) => headers[name] !== undefined);
  const protocol = first('x-forwarded-proto') || (isProxied ? '' : 'http');
  const host = first('x-forwarded-host') || first('host');
  const prefix = first('x-forwarded-prefix').replace(/\/$/, '');
  const url = `${protocol}://${host}${prefix}`;
  return /^https?:\/\/[\w.:[\]-]+(\/[\w.~/-]*)?$/.test(url) ? url : '';
}
