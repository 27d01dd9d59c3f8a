/** True if the error of a file operation says that the file is missing. */
export function isMissingFile(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

/** Catches the error of a missing file. @throws any other error */
export function undefinedIfMissing(error: unknown): undefined {
  if (!isMissingFile(error)) throw error;
  return undefined;
}
