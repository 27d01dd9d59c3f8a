import { BlockList, isIP } from 'node:net';

/** True for an IP address such as `10.0.0.5` or a CIDR range such as `fd00::/8`. */
export function isAddressRange(text: string): boolean {
  const [address = '', prefix, more] = text.split('/');
  const bits = { 4: 32, 6: 128 }[isIP(address)];
  if (bits === undefined || more !== undefined) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
}

/** Returns a test for addresses within `ranges`, each in the form of `isAddressRange`. */
export function addressMatcher(ranges: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return (address) => ranges.length > 0 && list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

/** Address of a connection without its zone, an IPv4-mapped address as IPv4. */
export function normalizeAddress(remote: string): string {
  return remote.replace(/%.*$/, '').replace(/^::ffff:(?=\d+\.)/i, '');
}

/** Network of one client: the IPv4 address, or the /64 of an IPv6 address. */
export function clientNetwork(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = '', tail = ''] = address.split('::');
  const before = head.split(':').filter(Boolean);
  const after = tail.split(':').filter(Boolean);
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0');
  return `${[...before, ...zeros, ...after].slice(0, 4).join(':')}::/64`;
}
