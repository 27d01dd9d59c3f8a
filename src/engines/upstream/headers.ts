import type { Flavor } from '../../core/flavor.ts';
import { flavorTraits } from './flavors.ts';

interface Access {
  apiKey?: string | undefined;
  flavor?: Flavor | 'auto' | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
}

/** What every call to a server carries: the key as servers of its kind want it, and what was configured. */
export function headersOf({ apiKey, flavor = 'generic', headers }: Access): Record<string, string> {
  const { header, scheme, beside } = flavorTraits[flavor === 'auto' ? 'generic' : flavor].auth.value;
  return { ...beside, ...(apiKey && { [header]: scheme + apiKey }), ...headers };
}
