import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Cli } from './cli.ts';

/**
 * Returns a function that collects garbage; it does nothing in a process that also runs other things. V8 grows its heap before
 * it collects buffers of files and sockets, so a command that streams gigabytes would keep hundreds of megabytes of them.
 */
export function garbageCollector({ ownsProcess }: Pick<Cli, 'ownsProcess'>): () => void {
  if (ownsProcess !== true) return () => {};
  // A small nursery: V8 would let it grow to a hundred megabytes.
  setFlagsFromString('--max-semi-space-size=1');
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}
