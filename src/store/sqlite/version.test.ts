import { versions } from 'node:process';
import { expect, test } from 'vitest';
import { StoreError } from '../../core/store-error.ts';
import { requireVersion } from './version.ts';

test.each(['3.51.3', '3.51.10', '3.52.0', '3.53.4', '4.0.0', versions.sqlite!])(
  'SQLite %s is used',
  (version) => {
    expect(() => requireVersion(version)).not.toThrow();
  },
);

test.each(['3.51.2', '3.50.9', '3.7.0', '2.99.99', '3.51'])('SQLite %s is refused', (version) => {
  expect(() => requireVersion(version)).toThrow(StoreError);
  expect(() => requireVersion(version)).toThrow(`carries SQLite ${version}`);
});
