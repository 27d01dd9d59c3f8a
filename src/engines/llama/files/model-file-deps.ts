import type * as nodeFs from 'node:fs/promises';
import type { Clock } from '../../../base/clock.ts';
import type { Random } from '../../../base/random.ts';
import type { Hub, HttpClient } from './http-client.ts';

/** Collaborators and settings of downloads and reads of model files. */
export interface ModelFileDeps {
  clock: Clock;
  random: Random;
  /** Folder of fetched models. */
  folder: string;
  hub: Hub;
  fs: ModelFs;
  web: HttpClient;
  /** Maximum bytes of one range request. */
  pieceBytes: number;
}

/** File system operations of downloads; tests pass some that fail. */
export type ModelFs = Pick<
  typeof nodeFs,
  'mkdir' | 'open' | 'readFile' | 'readdir' | 'rename' | 'rm' | 'stat' | 'statfs' | 'writeFile'
>;
