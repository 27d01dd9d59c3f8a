import type { JsonBody } from './json-body.ts';

/** ES2025 features that the library types lack. */
const json = JSON as unknown as {
  rawJSON(text: string): unknown;
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown;
};

const longNumber = /[\d.]{16}|[eE][+-]?\d{3}/;

/**
 * Parses JSON like `JSON.parse`, but keeps every digit of a number that a double cannot represent, so that `JSON.stringify`
 * writes it unchanged: 64-bit ids are common in tool arguments.
 */
export function parseExact(text: string): unknown {
  if (!longNumber.test(text)) return JSON.parse(text);
  return json.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && isLossy(value, source)
      ? json.rawJSON(source)
      : value,
  );
}

/** Value of a body, with every digit of its numbers. */
export function exactValue<T>({ value, text }: JsonBody<T>): T {
  return longNumber.test(text) ? (parseExact(text) as T) : value;
}

function isLossy(value: number, source: string): boolean {
  if (!Number.isFinite(value)) return true;
  if (/^-?\d+$/.test(source)) return !Number.isSafeInteger(value);
  const mantissa = source.replace(/[eE].*$/, '').replaceAll(/[-.]/g, '');
  return mantissa.replace(/^0+/, '').length > 16;
}
