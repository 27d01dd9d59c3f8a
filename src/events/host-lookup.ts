import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { createFairGate } from '../base/fair-gate.ts';
import { onAbort } from '../base/on-abort.ts';

/** All addresses of a host. Rejects with the code `ETIMEOUT` when no name server answers in time. */
export type HostLookup = (
  host: string,
  options: { isOpened: boolean; signal: AbortSignal },
) => Promise<LookupAddress[]>;

export interface HostLookupOptions {
  /** Addresses and ports of name servers; the system's when absent. */
  servers?: readonly string[];
  hostsFile?: string;
  /** How long one name server may take; 2 s when absent. Each is sent each query once. */
  queryMs?: number;
}

/**
 * Look-ups of hosts that clients name. The system's look-ups share two threads of this process with the connections to
 * engines, object stores and databases: a silent name server would take both. So these look-ups read the hosts file and
 * query name servers directly. Hosts that the operator opened by name are looked up by the system, with its search domains,
 * one at a time.
 */
export function createHostLookup({
  servers,
  hostsFile = '/etc/hosts',
  queryMs = 2_000,
}: HostLookupOptions = {}): HostLookup {
  const systemTurn = createFairGate({ capacity: 1, maxPerOwner: 1 });

  return async (host, { isOpened, signal }) => {
    if (isOpened) return systemTurn.within('', 1, signal, () => lookup(host, { all: true }));
    const listed = addressesIn(await readFile(hostsFile, 'utf8').catch(() => ''), host);
    if (listed.length > 0) return listed;
    if (host === 'localhost') return ['127.0.0.1', '::1'].map(withFamily);
    return query(host, signal);
  };

  async function query(host: string, signal: AbortSignal): Promise<LookupAddress[]> {
    // A resolver of its own reads the system's settings as they are now, and can be cancelled alone.
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

/** The addresses that a hosts file lists for a host. */
function addressesIn(file: string, host: string): LookupAddress[] {
  return file.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/);
    return isIP(address) > 0 && names.includes(host) ? [withFamily(address)] : [];
  });
}
