import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Random } from '../base/random.ts';

/** Prefix of every generated key, by which secret scanners and people recognize it in a log or a commit. */
export const keyPrefix = 'sk-offpeak-';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 62^43 is the first power above 2^256. */
const secretLength = 43;
/** 62^6 is the first power above 2^32. */
const checksumLength = 6;
const shape = new RegExp(`^${keyPrefix}[0-9A-Za-z]{${secretLength + checksumLength}}$`);

function base62(value: bigint, length: number): string {
  let digits = '';
  for (let rest = value; digits.length < length; rest /= 62n) digits = alphabet[Number(rest % 62n)] + digits;
  return digits;
}

/** Runs on every request, so it uses plain numbers, which hold a CRC-32. */
function checksum(text: string): string {
  let digits = '';
  for (let rest = crc32(text); digits.length < checksumLength; rest = Math.floor(rest / 62))
    digits = alphabet[rest % 62] + digits;
  return digits;
}

/** `sk-offpeak-` + 256 random bits in base62 (43 characters) + their CRC-32 in base62 (6 characters). */
export function makeKey(random: Random): string {
  const bits = BigInt(`0x${Buffer.from(random.bytes(32)).toString('hex')}`);
  const body = keyPrefix + base62(bits, secretLength);
  return body + checksum(body);
}

/** True for a text with the form and checksum of a generated key. Typos and guesses fail here, without a query. */
export function isKey(text: string): boolean {
  return shape.test(text) && text.endsWith(checksum(text.slice(0, -checksumLength)));
}

/** Returns the SHA-256 that is stored, in lower-case hex. 256 random bits need no salt and no slow hash. */
export function hashKey(key: string): string {
  return hash('sha256', key);
}

/** Returns the form shown in lists, `sk-offpeak-Ab3x...9Qw1`; of other keys only the first and last four characters. */
export function shownKey(key: string): string {
  const head = key.startsWith(keyPrefix) ? keyPrefix.length + 4 : 4;
  return `${key.slice(0, head)}...${key.slice(-4)}`;
}
