import type { JsonBody } from './json-body.ts';

/** What the language can do since 2025 and the library types do not say yet. */
const json = JSON as unknown as {
  rawJSON(text: string): unknown;
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown;
};

const longNumber = /[\d.]{16}|[eE][+-]?\d{3}/;

/**
 * `JSON.parse`, but a number that JavaScript cannot hold becomes a value which `JSON.stringify` writes digit for digit:
 * ids of 64 bits are common among the arguments of tools.
 */
export function parseExact(text: string): unknown {
  if (!longNumber.test(text)) return JSON.parse(text);
  return json.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && isLossy(value, source)
      ? json.rawJSON(source)
      : value,
  );
}

/** The value of a body with every digit, where it has numbers that need it. */
export function exactValue<T>({ value, text }: JsonBody<T>): T {
  return longNumber.test(text) ? (parseExact(text) as T) : value;
}

function isLossy(value: number, source: string): boolean {
  if (!Number.isFinite(value)) return true;
  if (/^-?\d+$/.test(source)) return !Number.isSafeInteger(value);
  const mantissa = source.replace(/[eE].*$/, '').replaceAll(/[-.]/g, '');
  return mantissa.replace(/^0+/, '').length > 16;
}
