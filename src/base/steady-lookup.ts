import { lookup as systemLookup, type LookupAddress, type LookupOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { type Clock, sleep } from './clock.ts';

type Found = { addresses: LookupAddress[] } | { error: NodeJS.ErrnoException };

/** The latest look-ups of one host. */
interface Host {
  /** The addresses of the last one that succeeded. */
  last?: LookupAddress[];
  pending?: { found: Promise<Found>; since: number };
}

/** A host look-up in the form of `dns.lookup`, which occupies one of the process's two DNS threads. */
export type SystemLookup = (
  host: string,
  options: LookupOptions & { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** A look-up is late after this time. */
const lateMs = 1_000;

/**
 * A look-up for connections to servers of the operator's choice. While a look-up is late, or fails for a reason other than
 * an unknown host, connections use the last known addresses. Concurrent connections to a host share one look-up.
 */
export function createSteadyLookup(clock: Clock, lookup: SystemLookup = systemLookup): LookupFunction {
  const hosts = new Map<string, Host>();

  function begin(host: string, entry: Host, options: LookupOptions): Promise<Found> {
    const found = new Promise<Found>((resolve) => {
      lookup(host, { ...options, all: true }, (error, addresses) =>
        resolve(error ? { error } : { addresses }),
      );
    });
    entry.pending = { found, since: clock.monotonic() };
    void found.then((result) => {
      delete entry.pending;
      if ('addresses' in result) entry.last = result.addresses;
    });
    return found;
  }

  async function find(host: string, options: LookupOptions): Promise<Found> {
    const entry = hosts.get(host) ?? {};
    hosts.set(host, entry);
    const { last, pending } = entry;
    const since = pending?.since ?? clock.monotonic();
    const work = pending?.found ?? begin(host, entry, options);
    if (!last) return work;
    const waitMs = since + lateMs - clock.monotonic();
    const known: Found = { addresses: last };
    if (waitMs <= 0) return known;
    const settled = new AbortController();
    const found = await Promise.race([work, sleep(clock, waitMs, settled.signal).then(() => known)]);
    settled.abort();
    return 'error' in found && found.error.code !== 'ENOTFOUND' ? known : found;
  }

  return (host, options, callback) => {
    void find(host, options).then((found) => {
      if ('error' in found) callback(found.error, '', 0);
      else if (options.all === true) callback(null, found.addresses);
      else callback(null, found.addresses[0]!.address, found.addresses[0]!.family);
    });
  };
}
