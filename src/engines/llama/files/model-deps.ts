import type * as nodeFs from 'node:fs/promises';
import type { Clock } from '../../../base/clock.ts';
import type { Random } from '../../../base/random.ts';
import type { Hub, Web } from './web.ts';

/** What models are fetched with. */
export interface ModelDeps {
  clock: Clock;
  random: Random;
  /** Where fetched models stand. */
  folder: string;
  hub: Hub;
  fs: ModelFs;
  web: Web;
  /** The most that is asked for at once. */
  pieceBytes: number;
}

/** The part of the file system that downloads need; tests pass one that fails. */
export type ModelFs = Pick<
  typeof nodeFs,
  'mkdir' | 'open' | 'readFile' | 'readdir' | 'rename' | 'rm' | 'stat' | 'statfs' | 'writeFile'
>;
