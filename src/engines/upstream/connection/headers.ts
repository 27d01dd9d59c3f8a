import type { Flavor, OwnTraits } from '../../../core/flavor.ts';
import { traitsOf } from '../flavors/flavors.ts';

interface Access {
  apiKey?: string | undefined;
  flavor?: Flavor | 'auto' | undefined;
  ownTraits?: OwnTraits | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
}

/** What every call to a server carries: the key as servers of its kind want it, and what was configured. */
export function headersOf({
  apiKey,
  flavor = 'generic',
  ownTraits,
  headers,
}: Access): Record<string, string> {
  const { header, scheme, beside } = traitsOf(flavor, ownTraits).auth.value;
  return { ...beside, ...(apiKey && { [header]: scheme + apiKey }), ...headers };
}
