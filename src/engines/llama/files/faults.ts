import { StartError } from '../../../base/start-error.ts';

/** Model file that cannot be fetched or read: a sentence, and possibly what to do about it. */
export class ModelFileError extends StartError {
  readonly hint: string | undefined;

  constructor(message: string, hint?: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ModelFileError';
    this.hint = hint;
  }
}

/** Temporary fault, worth another attempt. The message is a sentence without a capital and a full stop. */
export class TransientFault extends Error {
  /** `Retry-After` of the server. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: ErrorOptions & { retryAfterMs?: number | undefined } = {}) {
    super(message, options);
    this.name = 'Broken';
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** The file on the server changed since the download began. */
export class RemoteFileChanged extends ModelFileError {}

/** Turns a fault of the disk into a `ModelFileError`; returns other errors unchanged. */
export function diskFault(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return error;
  if (!('syscall' in error) || error instanceof ModelFileError) return error;
  const again = 'Fetched bytes are kept: free some space and run it again, or choose another folder.';
  if (error.code === 'ENOSPC' || error.code === 'EDQUOT')
    return new ModelFileError(`The disk is full: ${path} could not be written.`, again, { cause: error });
  return new ModelFileError(`${path} cannot be written: ${error.message}.`, 'Choose another folder.', {
    cause: error,
  });
}
