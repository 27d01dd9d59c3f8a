import { isIP } from 'node:net';
import { addressMatcher, normalizeAddress } from '../base/addresses.ts';

/** Special-purpose addresses of the IANA registries, and one of a cloud provider. */
const isSpecial = addressMatcher([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16', // host service of Azure virtual machines
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24', // AS112: a private network may run a copy of its own
  '192.52.193.0/24', // multicast relays
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24', // AS112
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '2001::/23', // includes Teredo, which embeds an IPv4 address, as 6to4 does
  '2001:db8::/32',
  '2002::/16',
  '2620:4f:8000::/48', // AS112
  '3fff::/20',
]);

/** IPv6 global unicast. Excludes IPv4-mapped, NAT64, link-local and unique local addresses. */
const isGlobalUnicast = addressMatcher(['2000::/3']);

/** True for an address that is routable on the public internet. */
export function isPublicAddress(address: string): boolean {
  const plain = normalizeAddress(address);
  if (isIP(plain) === 4) return !isSpecial(plain);
  return isIP(plain) === 6 && isGlobalUnicast(plain) && !isSpecial(plain);
}
