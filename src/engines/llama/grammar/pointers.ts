import type { ApiError, ErrorCode } from '../../../core/errors.ts';

/** Makes the error of a schema, at a JSON pointer in it. */
export type FaultAt = (pointer: string, message: string, code?: ErrorCode) => ApiError;

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function encodePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
