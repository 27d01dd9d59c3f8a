import { BlockList, isIP } from 'node:net';

/** `10.0.0.5`, or a range of addresses such as `10.0.0.0/8` and `fd00::/8`. */
export function isAddressRange(text: string): boolean {
  const [address = '', prefix, more] = text.split('/');
  const bits = { 4: 32, 6: 128 }[isIP(address)];
  if (bits === undefined || more !== undefined) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
}

/** Whether an address is in one of the ranges, each as `isAddressRange` takes it. */
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

/** The address of a connection as it is written elsewhere: without a zone, and IPv4 as such. */
export function normalizeAddress(remote: string): string {
  return remote.replace(/%.*$/, '').replace(/^::ffff:(?=\d+\.)/i, '');
}

/** What stands for one machine: an IPv4 address, or the /64 that IPv6 gives to each. */
export function clientNetwork(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = '', tail = ''] = address.split('::');
  const before = head.split(':').filter(Boolean);
  const after = tail.split(':').filter(Boolean);
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0');
  return `${[...before, ...zeros, ...after].slice(0, 4).join(':')}::/64`;
}
