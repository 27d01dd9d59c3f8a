import { rmSync } from 'node:fs';
import { type FileLock, isLockHeld, lockFile } from '../../../base/file-lock.ts';
import { CliError } from '../../shared/exit-codes.ts';

/**
 * Keeps other runs off an output file while this one lasts. The lock is a file beside it, `<output>.offpeak.lock`, which
 * the operating system frees however the process ends. On a disk without file locks nothing is locked.
 * @param name the output as the user calls it
 * @returns frees the lock; may be called once
 * @throws CliError where another run has it
 */
export function lockOutput(output: string, name: string): () => void {
  const path = `${output}.offpeak.lock`;
  let lock: FileLock | undefined;
  try {
    lock = lockFile(path);
  } catch (error) {
    if (isLockHeld(error))
      throw new CliError(
        `Another run is writing ${name}.`,
        'Wait for it to end, or choose another output with -o.',
      );
  }
  return () => {
    // Before it is free: afterwards the file may be the lock of another run.
    rmSync(path, { force: true });
    lock?.release();
  };
}
