import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { createFairGate } from '../base/fair-gate.ts';
import { onAbort } from '../base/on-abort.ts';

/**
 * Resolves a host to all its addresses. `isAllowed` marks a host that the operator allowed by name.
 * Rejects with the code `ETIMEOUT` when no name server answers in time.
 */
export type HostLookup = (
  host: string,
  options: { isAllowed: boolean; signal: AbortSignal },
) => Promise<LookupAddress[]>;

export interface HostLookupOptions {
  /** Addresses and ports of name servers. Default: those of the system. */
  servers?: readonly string[];
  hostsFile?: string;
  /** Timeout of one name server, which gets each query once. Default: 2 s. */
  queryMs?: number;
}

/**
 * Host look-up for names that clients choose. It reads the hosts file and queries name servers directly, because the
 * system's look-ups share two threads with the connections to engines, object stores and databases, and a silent name
 * server would block both. Hosts that the operator allowed by name use the system's look-up, one at a time, for its
 * search domains.
 */
export function createHostLookup({
  servers,
  hostsFile = '/etc/hosts',
  queryMs = 2_000,
}: HostLookupOptions = {}): HostLookup {
  const systemTurn = createFairGate({ capacity: 1, maxPerOwner: 1 });

  return async (host, { isAllowed, signal }) => {
    if (isAllowed) return systemTurn.within('', 1, signal, () => lookup(host, { all: true }));
    const listed = addressesIn(await readFile(hostsFile, 'utf8').catch(() => ''), host);
    if (listed.length > 0) return listed;
    if (host === 'localhost') return ['127.0.0.1', '::1'].map(withFamily);
    return query(host, signal);
  };

  async function query(host: string, signal: AbortSignal): Promise<LookupAddress[]> {
    // A new resolver reads the current system settings and can be cancelled on its own.
    const resolver = new Resolver({ timeout: queryMs, tries: 1 });
    if (servers) resolver.setServers(servers);
    const forget = onAbort(signal, () => resolver.cancel());
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    forget();
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    const isLate = (answer: PromiseSettledResult<string[]>) =>
      answer.status === 'rejected' && (answer.reason as NodeJS.ErrnoException).code === 'ETIMEOUT';
    const late = answers.find(isLate) as PromiseRejectedResult | undefined;
    if (addresses.length === 0 && late) throw late.reason;
    return addresses.map(withFamily);
  }
}

function withFamily(address: string): LookupAddress {
  return { address, family: isIP(address) };
}

function addressesIn(file: string, host: string): LookupAddress[] {
  return file.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/);
    return isIP(address) > 0 && names.includes(host) ? [withFamily(address)] : [];
  });
}
