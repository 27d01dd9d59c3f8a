import { expect } from 'vitest';

/** Expects the call to throw an error of this class with a request ID and a readable message, and returns the error. */
export async function catchError<T extends { status: number; message: string; requestID: string }>(
  call: Promise<unknown>,
  kind: new (...args: never[]) => Error,
): Promise<T> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(kind);
  const raised = error as T;
  expect(raised.requestID).toMatch(/^req_/);
  expect(raised.message).toMatch(new RegExp(`^${raised.status} [A-Za-z].{10,}`));
  return raised;
}
