import { expect, it } from 'vitest';
import { describeChange } from './describe-change.ts';

it.each([
  [{ before: { weight: 1 }, after: { weight: 2, name: 'a' } }, 'weight: 1 → 2, name: "a"'],
  [{ before: null, after: { scopes: ['admin'] } }, 'scopes: ["admin"]'],
  [{ before: { revoked_at: null }, after: { revoked_at: '2026-11-28' } }, 'revoked_at: null → "2026-11-28"'],
  [{ before: null, after: null }, ''],
])('describes %j', (change, text) => {
  expect(describeChange(change)).toBe(text);
});
