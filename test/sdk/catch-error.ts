import { expect } from 'vitest';

/** What a client of any SDK throws for an answer that is an error: of that class, with the id and a sentence for people. */
export async function catchError<T extends { status: number; message: string; requestID: string }>(
  call: Promise<unknown>,
  kind: new (...args: never[]) => Error,
): Promise<T> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(kind);
  const told = error as T;
  expect(told.requestID).toMatch(/^req_/);
  expect(told.message).toMatch(new RegExp(`^${told.status} [A-Za-z].{10,}`));
  return told;
}
