import { expect, it } from 'vitest';
import { isPublicAddress } from './public-addresses.ts';

it.each(['1.1.1.1', '8.8.8.8', '93.184.216.34', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '2a00:1::1'])(
  '%s is public',
  (address) => expect(isPublicAddress(address)).toBe(true),
);

it.each([
  ['this network', '0.0.0.0', '0.1.2.3'],
  ['private', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
  ['shared by a provider', '100.64.0.1', '100.100.100.200', '100.127.255.255'],
  ['this machine', '127.0.0.1', '127.255.255.254', '::1'],
  ['of a link', '169.254.169.254', 'fe80::1', 'fe80::1%eth0'],
  ['metadata', '168.63.129.16', 'fd00:ec2::254', '192.0.0.192'],
  ['for tests and books', '192.0.2.1', '198.18.0.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
  ['many at once', '224.0.0.1', '239.255.255.255', '255.255.255.255', 'ff02::1'],
  ['reserved', '240.0.0.1', '::', '100::1', '4000::1'],
  ['unique local', 'fc00::1', 'fdff::1', 'fec0::1'],
  ['IPv4 in IPv6', '::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:8.8.8.8x', '::7f00:1', '64:ff9b::7f00:1'],
  ['IPv4 in a tunnel', '2002:7f00:1::', '2001:0:7f00:1::'],
  ['AS112 (attack 12)', '192.31.196.1', '192.175.48.6', '2001:4:112::1', '2620:4f:8000::6'],
  ['multicast relays', '192.52.193.1', '2001:3::1'],
  ['none at all', '', 'localhost', '1.2.3', '127.1', '0x7f.1'],
])('%s is not public', (_, ...addresses) => {
  expect(addresses.filter(isPublicAddress)).toEqual([]);
});
