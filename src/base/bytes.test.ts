import { expect, it } from 'vitest';
import { formatBytes } from './bytes.ts';

it.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [999, '999 bytes'],
  [1000, '1.00 KB'],
  [999_600, '1.00 MB'],
  [1_026_240, '1.03 MB'],
  [42_123_456_789, '42.1 GB'],
])('%d', (bytes, shown) => expect(formatBytes(bytes)).toBe(shown));
