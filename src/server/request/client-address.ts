import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { addressMatcher, normalizeAddress } from '../../base/addresses.ts';
import { headerValues } from './headers.ts';

/** Address of the client of a request; undefined if a trusted proxy does not report it. */
export type ClientAddress = (request: IncomingMessage) => string | undefined;

/**
 * Reads the address of a client from its connection or, behind a trusted proxy, from `X-Forwarded-For`: its last address that is not
 * a trusted proxy, because a client can send any before it.
 */
export function createClientAddress(trustedProxies: readonly string[]): ClientAddress {
  const isTrusted = addressMatcher(trustedProxies);
  return (request) => {
    const address = normalizeAddress(request.socket.remoteAddress ?? '');
    if (!isTrusted(address)) return address;
    const forwarded = headerValues(request, 'x-forwarded-for').join(',').split(',').map(parseAddress);
    return forwarded.findLast((each) => each !== '' && !isTrusted(each));
  };
}

/** The IP address of an entry, which may have a port: `192.0.2.1:80`, `[2001:db8::1]:80`. Empty for other text. */
function parseAddress(entry: string): string {
  const text = entry.trim();
  const host =
    /^\[(.*)\](?::\d+)?$/.exec(text)?.[1] ?? (/^[\d.]+:\d+$/.test(text) ? text.split(':')[0]! : text);
  const address = normalizeAddress(host);
  return isIP(address) === 0 ? '' : address;
}
