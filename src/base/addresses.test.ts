import { describe, expect, it } from 'vitest';
import { addressMatcher, isAddressRange, clientNetwork, normalizeAddress } from './addresses.ts';

describe('isAddressRange', () => {
  it.each(['10.0.0.5', '10.0.0.0/8', '::1', 'fd00::/8', '0.0.0.0/0', '::/128'])('accepts %s', (text) => {
    expect(isAddressRange(text)).toBe(true);
  });
  it.each([
    '',
    'localhost',
    '10.0.0',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '::/129',
    '/8',
    '1.2.3.4/-1',
  ])('rejects %j', (text) => {
    expect(isAddressRange(text)).toBe(false);
  });
});

it('addressMatcher matches single addresses and ranges of both families', () => {
  const matches = addressMatcher(['10.1.0.0/16', '192.168.0.7', 'fd00::/8']);
  expect(['10.1.2.3', '192.168.0.7', 'fd12::1'].map(matches)).toEqual([true, true, true]);
  expect(['10.2.0.1', '192.168.0.8', 'fe80::1', '127.0.0.1', ''].map(matches)).toEqual([
    false,
    false,
    false,
    false,
    false,
  ]);
});

it.each([
  ['127.0.0.1', '127.0.0.1'],
  ['::ffff:10.0.0.1', '10.0.0.1'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2:ffff::9', '2001:db8:1:2::/64'],
  ['::2:3:4:5:6:7:8', '0:2:3:4::/64'],
  ['::1', '0:0:0:0::/64'],
])('a connection from %s belongs to %s', (remote, machine) => {
  expect(clientNetwork(normalizeAddress(remote))).toBe(machine);
});
