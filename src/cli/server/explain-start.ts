import type { Config } from '../../config.ts';
import { CliError } from '../shared/exit-codes.ts';

/** What the system refused at the start, as a sentence and what to do about it; other errors as they are. */
export function explainStart(error: unknown, config: Config): unknown {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return error;
  const { host, port } = config.server;
  const syscall = 'syscall' in error ? error.syscall : undefined;
  if (error.code === 'EADDRINUSE')
    return new CliError(
      `Port ${port} on ${host} is in use already.`,
      'Choose another with --port; 0 takes a free one.',
    );
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND')
    return new CliError(`This machine has no address ${host}.`, 'Choose another with --host.');
  if (error.code === 'EACCES' && syscall === 'listen')
    return new CliError(`This user may not listen on port ${port}.`, 'Choose one above 1023 with --port.');
  if (syscall === 'mkdir' || error.code === 'EACCES' || error.code === 'EROFS')
    return new CliError(
      `The data folder ${config.data} cannot be used: ${reasonOf(error.code)}.`,
      'Choose another with --data.',
    );
  return error;
}

function reasonOf(code: string): string {
  if (code === 'EEXIST' || code === 'ENOTDIR') return 'it is a file, or lies below one';
  if (code === 'EACCES' || code === 'EPERM') return 'this user may not write there';
  if (code === 'ENOENT') return 'no folder can be made there';
  if (code === 'EROFS') return 'it is read-only';
  return code === 'ENOSPC' ? 'the disk is full' : `the system says ${code}`;
}
