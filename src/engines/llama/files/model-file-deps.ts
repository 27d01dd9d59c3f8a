import type * as nodeFs from 'node:fs/promises';
import type { Clock } from '../../../base/clock.ts';
import type { Random } from '../../../base/random.ts';
import type { Hub, HttpClient } from './http-client.ts';

/** What models are fetched with. */
export interface ModelFileDeps {
  clock: Clock;
  random: Random;
  /** Where fetched models stand. */
  folder: string;
  hub: Hub;
  fs: ModelFs;
  web: HttpClient;
  /** The most that is asked for at once. */
  pieceBytes: number;
}

/** The part of the file system that downloads need; tests pass one that fails. */
export type ModelFs = Pick<
  typeof nodeFs,
  'mkdir' | 'open' | 'readFile' | 'readdir' | 'rename' | 'rm' | 'stat' | 'statfs' | 'writeFile'
>;
