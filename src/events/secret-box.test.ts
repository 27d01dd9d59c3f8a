import { assert, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { silent, type Log } from '../base/log.ts';
import { createSeededRandom } from '../../test/support/seeded-random.ts';
import { createSecretBox, type SecretsKeys } from './secret-box.ts';

const [first, second] = ['1'.repeat(64), '2'.repeat(64)];
const random = createSeededRandom(20);
const boxOf = (current: SecretsKeys['current'], accepted: string[] = [], log: Log = silent) =>
  createSecretBox({ current, accepted }, { random, log });

describe('C20: a sealed secret', () => {
  it('is opened by its key alone, for its owner alone', () => {
    const box = boxOf(first);
    assert(
      property(string({ unit: 'grapheme' }), string(), string(), (secret, owner, other) => {
        const sealed = box.seal(secret, owner);
        expect(sealed).toMatch(/^sealed:[0-9a-f]{16}:[A-Za-z0-9+/=]{38,}$/);
        expect(box.open(sealed, owner)).toBe(secret);
        if (other !== owner) expect(box.open(sealed, other)).toBeUndefined();
        expect(boxOf(second).open(sealed, owner)).toBeUndefined();
      }),
    );
  });

  it('cannot be changed in any byte, nor cut', () => {
    const box = boxOf(first);
    const sealed = box.seal('whsec_abc', 'wh_1');
    const start = sealed.lastIndexOf(':') + 1;
    const bytes = Buffer.from(sealed.slice(start), 'base64');
    const open = (changed: Uint8Array) =>
      box.open(sealed.slice(0, start) + Buffer.from(changed).toString('base64'), 'wh_1');
    expect(open(bytes)).toBe('whsec_abc');
    for (let at = 0; at < bytes.length; at++) {
      expect(open(bytes.with(at, bytes[at]! ^ 1)), `byte ${at}`).toBeUndefined();
      expect(open(bytes.subarray(0, at)), `${at} bytes`).toBeUndefined();
    }
  });

  it('differs each time, and names its key without revealing it', () => {
    const box = boxOf(first);
    const made = Array.from({ length: 100 }, () => box.seal('whsec_abc', 'wh_1'));
    expect(new Set(made).size).toBe(100);
    expect(box.keyId).toMatch(/^[0-9a-f]{16}$/);
    expect(boxOf(second).keyId).not.toBe(box.keyId);
    expect(box.inspect(made[0]!)).toEqual({ keyId: box.keyId, state: 'current' });
    expect(boxOf(second, [first]).inspect(made[0]!).state).toBe('accepted');
    expect(boxOf(second).inspect(made[0]!).state).toBe('unknown');
    expect(boxOf(second, [first]).open(made[0]!, 'wh_1')).toBe('whsec_abc');
  });

  it('is logged once when its key is not configured, without the secret', () => {
    const lines: unknown[] = [];
    const log = { ...silent, error: (...line: unknown[]) => void lines.push(line) };
    const box = boxOf(second, [], log);
    for (let n = 0; n < 3; n++) box.open(boxOf(first).seal('whsec_abc', 'wh_1'), 'wh_1');
    expect(lines).toEqual([
      [{ secrets_key: boxOf(first).keyId }, 'a stored secret is sealed with a key that is not configured'],
    ]);
  });
});

it('without a key, secrets stay in clear, and stay readable once there is one', () => {
  const box = boxOf(undefined);
  expect([box.keyId, box.seal('whsec_abc', 'wh_1')]).toEqual([undefined, 'whsec_abc']);
  expect(boxOf(first).open('whsec_abc', 'wh_1')).toBe('whsec_abc');
  expect(boxOf(first).inspect('whsec_abc')).toEqual({ keyId: null, state: 'clear' });
});
