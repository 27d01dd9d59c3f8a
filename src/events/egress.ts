import type { LookupAddress } from 'node:dns';
import { type LookupFunction, isIP } from 'node:net';
import { addressMatcher, isAddressRange, normalizeAddress } from '../base/addresses.ts';
import { createFairGate } from '../base/fair-gate.ts';
import { networkReason } from '../base/network-reason.ts';
import { unlessAborted } from '../base/on-abort.ts';
import { ApiError } from '../core/errors.ts';
import { createHostLookup, type HostLookup } from './host-lookup.ts';
import { isPublicAddress } from './public-addresses.ts';

/** Outbound requests to URLs that clients choose, and their only path to the network. */
export interface Egress {
  /**
   * @param org that asks, for the limit on concurrent look-ups
   * @throws EgressError `refused` for a disallowed URL, or ApiError `rate_limit_exceeded` at the limit
   */
  check(url: string, org: string): Promise<void>;
  /**
   * Sends one POST without following redirects. The body of the answer is discarded, because it may come from a machine
   * that the client cannot reach itself.
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
  /** `retry-after`, if it is a number of seconds. */
  retryAfterMs: number | undefined;
}

/** Error whose message has no final period, like those of fields. `refused`: the URL is not allowed. */
export class EgressError extends Error {
  readonly refused: boolean;

  constructor(message: string, refused: boolean, cause?: unknown) {
    super(message, { cause });
    this.name = 'EgressError';
    this.refused = refused;
  }
}

export interface EgressOptions {
  /** Non-public addresses, ranges (base/addresses.ts) and host names that may be reached. */
  allow: readonly string[];
  /** Ports of public addresses that may be reached; any port of the allowed ones. Default: `defaultPorts`. */
  ports?: readonly number[];
  /** Replaceable for tests. */
  resolve?: HostLookup;
}

/** Usual ports of web servers: others are those of mail, databases and caches, which a client could disturb from here. */
export const defaultPorts: readonly number[] = [443, 80, 8443, 8080];

const connectMs = 10_000;
/** Concurrent look-ups in total and for one org. */
const lookupLimits = { capacity: 8, maxPerOwner: 2 };
const never = new AbortController().signal;
const maxAnswerBytes = 65_536;

/**
 * Parses a URL once, resolves its host once, checks every address and connects to one of them, so that a changed DNS
 * record (DNS rebinding) has no effect. Proxies of the environment are not used.
 */
export function createEgress({
  allow,
  ports = defaultPorts,
  resolve = createHostLookup(),
}: EgressOptions): Egress {
  const lookups = createFairGate(lookupLimits);
  const isAllowed = addressMatcher(allow.filter(isAddressRange));
  const allowedHosts = new Set(allow.filter((item) => !isAddressRange(item)).map(plainHost));

  /** @param enter acquires a look-up slot and returns its release function */
  async function lookUp(
    host: string,
    enter: () => (() => void) | Promise<() => void>,
    signal: AbortSignal,
  ): Promise<LookupAddress[]> {
    const leave = await enter();
    try {
      return await resolve(host, { isAllowed: allowedHosts.has(host), signal });
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ETIMEOUT')
        throw new EgressError(`the DNS look-up of ${host} timed out`, false, error);
      return [];
    } finally {
      leave();
    }
  }

  async function resolveTarget(text: string, find: (host: string) => Promise<LookupAddress[]>) {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (!url || !/^https?:$/.test(url.protocol)) throw refuseUrl('expected an https:// URL');
    if (url.username !== '' || url.password !== '')
      throw refuseUrl('must not contain a user or password; deliveries are signed instead');
    const host = url.hostname.replaceAll(/^\[|\]$/g, '');
    const family = isIP(host);
    const addresses = family === 0 ? await find(plainHost(host)) : [{ address: host, family }];
    const isAllowedTarget = ({ address }: LookupAddress) =>
      allowedHosts.has(plainHost(host)) || isAllowed(normalizeAddress(address));
    const mayReach = (each: LookupAddress) => isAllowedTarget(each) || isPublicAddress(each.address);
    if (addresses.length === 0 && allowedHosts.has(plainHost(host)))
      throw refuseUrl(`${url.hostname} is in egress.allow, but does not resolve to an address`);
    // The same message for an unknown and an internal host, so that clients cannot probe the internal network.
    if (addresses.length === 0 || !addresses.every(mayReach))
      throw refuseUrl(`${url.hostname} has no public address and is not in egress.allow`);
    if (addresses.every(isAllowedTarget)) return { url, addresses };
    if (url.protocol === 'http:')
      throw refuseUrl('expected an https:// URL; http:// is allowed only for hosts in egress.allow');
    const port = Number(url.port || 443);
    if (!ports.includes(port)) throw refuseUrl(`port ${port} is not allowed; use ${alternatives(ports)}`);
    return { url, addresses };
  }

  return {
    async check(text, org) {
      const enter = () => {
        const leave = lookups.tryEnter(org, 1);
        if (leave) return leave;
        const message = 'Too many webhook hosts are being looked up. Try again in a moment.';
        throw new ApiError('rate_limit_exceeded', message, { retryAfter: 2 });
      };
      await resolveTarget(text, (host) => lookUp(host, enter, never));
    },

    async post(text, { org, headers, body }, signal) {
      const enter = () => lookups.enter(org, 1, signal);
      // The system's look-ups cannot be cancelled, but an aborted attempt does not wait for one.
      const find = (host: string) => lookUp(host, enter, signal);
      const { url, addresses } = await unlessAborted(resolveTarget(text, find), signal);
      // Loaded on first use: many servers never send a webhook.
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

/** `443, 80 or 8080, or a host in egress.allow`. */
function alternatives(ports: readonly number[]): string {
  return [...ports, 'a host in egress.allow'].join(', ').replace(/, (?=[^,]*$)/, ' or ');
}

function plainHost(host: string): string {
  return host.toLowerCase().replace(/\.$/, '');
}

/** Look-up that returns the checked addresses. */
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
