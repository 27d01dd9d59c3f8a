import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Timer } from '../../../base/clock.ts';
import type { Cli } from '../../shared/cli.ts';

const pauseMs = 25;

export type Tidied = Pick<Cli, 'clock' | 'ownsProcess'>;

/**
 * Collects garbage while `work` goes on. Chunks of a file that were sent weigh a few hundred bytes each in the eyes of V8,
 * which would let 100 MB of them lie before it does so by itself.
 */
export async function tidily<T>({ clock, ownsProcess }: Tidied, work: Promise<T>): Promise<T> {
  if (ownsProcess !== true) return work;
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  let timer: Timer;
  const again = () => {
    collect();
    timer = clock.after(pauseMs, again);
  };
  timer = clock.after(pauseMs, again);
  try {
    return await work;
  } finally {
    timer.cancel();
    collect();
  }
}
