import { StartError } from '../../../base/start-error.ts';

/** A model file that cannot be had: a sentence, and what to do about it. */
export class ModelFileError extends StartError {
  readonly hint: string | undefined;

  constructor(message: string, hint?: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ModelFileError';
    this.hint = hint;
  }
}

/** A fault of the moment: trying again is worth it. The message is the end of a sentence. */
export class TransientFault extends Error {
  /** How long the server asked to wait. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: ErrorOptions & { retryAfterMs?: number | undefined } = {}) {
    super(message, options);
    this.name = 'Broken';
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** The file on the server is no longer the one that was begun. */
export class RemoteFileChanged extends ModelFileError {}

/** A fault of the disk as a sentence; anything else as it is. */
export function diskFault(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return error;
  if (!('syscall' in error) || error instanceof ModelFileError) return error;
  const again = 'What was fetched is kept: make room and run it again, or choose another folder.';
  if (error.code === 'ENOSPC' || error.code === 'EDQUOT')
    return new ModelFileError(`The disk is full: ${path} could not be written.`, again, { cause: error });
  return new ModelFileError(`${path} cannot be written: ${error.message}.`, 'Choose another folder.', {
    cause: error,
  });
}
