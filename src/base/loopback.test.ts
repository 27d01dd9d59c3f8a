import { expect, it } from 'vitest';
import { isLoopback } from './loopback.ts';

it.each([
  ['localhost', true],
  ['127.0.0.1', true],
  ['127.1.2.3', true],
  ['::1', true],
  ['[::1]', true],
  ['127.0.0.1.example.org', false],
  ['localhost.example.org', false],
  ['1127.0.0.1', false],
  ['0.0.0.0', false],
  ['10.0.0.1', false],
  ['', false],
])('%s', (host, verdict) => expect(isLoopback(host)).toBe(verdict));
