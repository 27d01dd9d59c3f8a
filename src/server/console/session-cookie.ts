import type { IncomingHttpHeaders } from 'node:http';
import type { Session, Sessions } from '../../accounts/accounts.ts';
import { sessionMs } from '../../accounts/sessions.ts';

/**
 * Name of the cookie. It has the port, because browsers send cookies to all ports of a host: two servers on one machine would
 * overwrite each other's session.
 */
function cookieName(host: string): string {
  return `offpeak_console${/:\d+$/.exec(host)?.[0].replace(':', '_') ?? ''}`;
}

export function hostOf({ host = '' }: IncomingHttpHeaders): string {
  return host.toLowerCase();
}

export function readToken(headers: IncomingHttpHeaders): string | undefined {
  const prefix = `${cookieName(hostOf(headers))}=`;
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(prefix))?.slice(prefix.length);
}

/** @throws ApiError `session_ended`, `org_disabled` */
export function findSession(sessions: Sessions, headers: IncomingHttpHeaders): Promise<Session> {
  return sessions.find(readToken(headers), hostOf(headers));
}

/**
 * `Set-Cookie` with a token, or without one to delete the cookie. Over TLS the cookie is never sent in clear. Without `Path` it is for
 * the folder of the request, which is `/console` in the browser's own words, below a prefix that a proxy removes, too.
 */
export function setCookie(headers: IncomingHttpHeaders, token?: string): Record<string, string> {
  const maxAge = token === undefined ? 0 : sessionMs / 1000;
  const isEncrypted = headers.origin?.startsWith('https://') === true;
  const value = [
    `${cookieName(hostOf(headers))}=${token ?? ''}`,
    `Max-Age=${maxAge}`,
    'HttpOnly',
    'SameSite=Strict',
    ...(isEncrypted ? ['Secure'] : []),
  ];
  return { 'set-cookie': value.join('; ') };
}
