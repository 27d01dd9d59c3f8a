import type { LookupAddress } from 'node:dns';
import { type LookupFunction, isIP } from 'node:net';
import { addressMatcher, isAddressRange, normalizeAddress } from '../base/addresses.ts';
import { createFairGate } from '../base/fair-gate.ts';
import { networkReason } from '../base/network-reason.ts';
import { unlessAborted } from '../base/on-abort.ts';
import { ApiError } from '../core/errors.ts';
import { createHostLookup, type HostLookup } from './host-lookup.ts';
import { isPublicAddress } from './public-addresses.ts';

/** The only way to an address that a client named. */
export interface Egress {
  /**
   * @param org which asks: each may have a few look-ups under way
   * @throws EgressError `refused` for a URL that nothing is sent to, or ApiError `rate_limit_exceeded` without waiting
   */
  check(url: string, org: string): Promise<void>;
  /**
   * Sends one request and follows no redirect. The answer's body is not read but for its beginning, and kept nowhere:
   * it may be of a machine that the caller could not ask himself.
   * @throws EgressError, or the reason of the signal
   */
  post(
    url: string,
    request: { org: string; headers: Record<string, string>; body: string },
    signal: AbortSignal,
  ): Promise<EgressAnswer>;
}

export interface EgressAnswer {
  status: number;
  /** The value of `retry-after`, if it is a number of seconds. */
  retryAfterMs: number | undefined;
}

/** Says why as a sentence without an end, as faults of fields are. */
export class EgressError extends Error {
  readonly refused: boolean;

  constructor(message: string, refused: boolean, cause?: unknown) {
    super(message, { cause });
    this.name = 'EgressError';
    this.refused = refused;
  }
}

export interface EgressOptions {
  /** Addresses, ranges of them (base/addresses.ts) and names of hosts that may be reached though they are not public. */
  allow: readonly string[];
  /** Replaces the look-up of hosts, for tests. */
  resolve?: HostLookup;
}

const connectMs = 10_000;
/** Look-ups at a time: of all orgs, and of one. */
const lookupLimits = { capacity: 8, maxPerOwner: 2 };
const never = new AbortController().signal;
/** More of an answer is not waited for. */
const maxAnswerBytes = 65_536;

interface Target {
  url: URL;
  addresses: LookupAddress[];
}

/**
 * A URL is read once, its host resolved once, each of its addresses checked, and the connection made to one of these: what
 * a name server says a moment later changes nothing. Proxies of the environment are not used.
 */
export function createEgress({ allow, resolve = createHostLookup() }: EgressOptions): Egress {
  const lookups = createFairGate(lookupLimits);
  const isOpened = addressMatcher(allow.filter(isAddressRange));
  const openedHosts = new Set(allow.filter((item) => !isAddressRange(item)).map(plainHost));

  /** @param enter takes one of the places for look-ups, and returns what gives it back */
  async function lookUp(
    host: string,
    enter: () => (() => void) | Promise<() => void>,
    signal: AbortSignal,
  ): Promise<LookupAddress[]> {
    const leave = await enter();
    try {
      return await resolve(host, { isOpened: openedHosts.has(host), signal });
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ETIMEOUT')
        throw new EgressError(`no name server tells the address of ${host} in time`, false, error);
      return [];
    } finally {
      leave();
    }
  }

  async function reach(text: string, find: (host: string) => Promise<LookupAddress[]>): Promise<Target> {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (!url || !/^https?:$/.test(url.protocol)) throw refuseUrl('expected an https:// URL');
    if (url.username !== '' || url.password !== '')
      throw refuseUrl('must have no user and no password in it; deliveries are signed instead');
    const host = url.hostname.replaceAll(/^\[|\]$/g, '');
    const family = isIP(host);
    const addresses = family === 0 ? await find(plainHost(host)) : [{ address: host, family }];
    const isOpen = ({ address }: LookupAddress) =>
      openedHosts.has(plainHost(host)) || isOpened(normalizeAddress(address));
    const mayReach = (each: LookupAddress) => isOpen(each) || isPublicAddress(each.address);
    if (addresses.length === 0 && openedHosts.has(plainHost(host)))
      throw refuseUrl(`egress.allow opens ${url.hostname}, but there is no such host, or no network`);
    // The same words for a name that nobody has and for one that leads inside: who asks learns nothing of the inside.
    if (addresses.length === 0 || !addresses.every(mayReach))
      throw refuseUrl(
        `${url.hostname} has no public address; others are only reached where egress.allow opens them`,
      );
    if (url.protocol === 'http:' && !addresses.every(isOpen))
      throw refuseUrl('expected an https:// URL; http:// is only for what egress.allow opens');
    return { url, addresses };
  }

  return {
    async check(text, org) {
      const enter = () => {
        const leave = lookups.tryEnter(org, 1);
        if (!leave) throw tooManyLookups();
        return leave;
      };
      await reach(text, (host) => lookUp(host, enter, never));
    },

    async post(text, { org, headers, body }, signal) {
      const enter = () => lookups.enter(org, 1, signal);
      // The system's look-ups cannot be cancelled, but no attempt has to wait for one.
      const { url, addresses } = await unlessAborted(
        reach(text, (host) => lookUp(host, enter, signal)),
        signal,
      );
      // Many servers never send one.
      const { Client } = await import('undici');
      const client = new Client(url.origin, {
        allowH2: false,
        headersTimeout: 0,
        bodyTimeout: 0,
        connect: { timeout: connectMs, lookup: pinnedLookup(addresses) },
      });
      try {
        const path = url.pathname + url.search;
        const answer = await client.request({ method: 'POST', path, headers, body, signal });
        await answer.body.dump({ limit: maxAnswerBytes, signal }).catch(() => {});
        return { status: answer.statusCode, retryAfterMs: retryAfter(answer.headers['retry-after']) };
      } catch (error) {
        signal.throwIfAborted();
        throw new EgressError(networkReason(error, url.host), false, error);
      } finally {
        await client.destroy();
      }
    },
  };
}

function refuseUrl(message: string): EgressError {
  return new EgressError(message, true);
}

function tooManyLookups(): ApiError {
  return new ApiError(
    'rate_limit_exceeded',
    'Too many hosts of webhooks are being looked up: send the request again.',
    { retryAfter: 2 },
  );
}

function plainHost(host: string): string {
  return host.toLowerCase().replace(/\.$/, '');
}

/** Answers whoever connects with what was checked. */
function pinnedLookup(addresses: LookupAddress[]): LookupFunction {
  return (_host, options, callback) => {
    const [first] = addresses;
    if (options.all === true) callback(null, addresses);
    else callback(null, first!.address, first!.family);
  };
}

function retryAfter(value: string | string[] | undefined): number | undefined {
  return typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) * 1000 : undefined;
}
