import { expect, test } from 'vitest';
import { requestedTier } from './service-tier.ts';

test.each([
  [undefined, 'default'],
  [null, 'default'],
  ['auto', 'default'],
  ['default', 'default'],
  ['priority', 'default'],
  ['standard_only', 'default'],
  ['flex', 'flex'],
])('the tier %j of a request is served as %j', (name, served) => {
  expect(requestedTier({ service_tier: name })).toBe(served);
});

test.each([
  [undefined, 'flex'],
  [null, 'flex'],
  ['auto', 'flex'],
  ['default', 'default'],
  ['priority', 'default'],
  ['standard_only', 'default'],
])('a key whose tier is flex serves %j as %j', (name, served) => {
  expect(requestedTier({ service_tier: name }, 'flex')).toBe(served);
});

test.each(['scale', 'Flex', '', 'constructor', 5, {}])('the tier %j is refused', (name) => {
  expect(() => requestedTier({ service_tier: name })).toThrow(
    /^service_tier: expected "auto", "default", "flex", "priority" or "standard_only", got /,
  );
});
