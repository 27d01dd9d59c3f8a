import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Random } from '../../base/random.ts';
import { CliError } from '../exit-codes.ts';

/**
 * A small file beside the output that makes `batch run` resumable: run again after whatever happened, it goes on with
 * the same batch. It is written before the first request; `token` makes a repeated upload or create answer with what
 * the first one made, so that a batch is never paid twice.
 */
export interface RunState {
  version: 1;
  url: string;
  input_sha256: string;
  token: string;
  batch_id: string | null;
}

export interface RunFile {
  readonly path: string;
  /** Whether an earlier run left it. */
  readonly resumed: boolean;
  readonly state: RunState;
  remember(batchId: string): void;
  /** Begins anew: the batch of the earlier run is gone. */
  restart(): void;
  remove(): void;
}

/** @throws CliError when the file there belongs to another input or server */
export function openRunFile(
  output: string,
  run: { url: string; sha256: string; random: Random; cwd: string },
): RunFile {
  const path = `${output}.offpeak.json`;
  const found = read(path);
  const shown = relative(run.cwd, path) || path;
  if (found !== undefined && found.input_sha256 !== run.sha256)
    throw new CliError(
      `${shown} belongs to another input, whose batch is ${found.batch_id ?? 'not created yet'}.`,
      `Choose another output with -o, or remove ${shown}.`,
    );
  if (found !== undefined && found.url !== run.url)
    throw new CliError(
      `${shown} belongs to a run on ${found.url}, not ${run.url}.`,
      `Pass --url ${found.url} to go on with it, or remove ${shown} to start anew.`,
    );
  let state: RunState = found ?? fresh(run);
  const save = () => {
    writeFileSync(`${path}.tmp`, `${JSON.stringify(state, null, 2)}\n`);
    renameSync(`${path}.tmp`, path);
  };
  save();
  return {
    path,
    resumed: found !== undefined,
    get state() {
      return state;
    },
    remember(batchId) {
      state = { ...state, batch_id: batchId };
      save();
    },
    restart() {
      state = fresh(run);
      save();
    },
    remove: () => rmSync(path, { force: true }),
  };
}

function fresh(run: { url: string; sha256: string; random: Random }): RunState {
  const token = Buffer.from(run.random.bytes(16)).toString('hex');
  return { version: 1, url: run.url, input_sha256: run.sha256, token, batch_id: null };
}

function read(path: string): RunState | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
  try {
    const state = JSON.parse(text) as Partial<RunState>;
    if (state.version === 1 && typeof state.token === 'string' && typeof state.url === 'string')
      return { ...state, batch_id: state.batch_id ?? null } as RunState;
  } catch {
    // Told below: it is not a file of ours.
  }
  throw new CliError(
    `${path} is not a state file of batch run.`,
    'Move it away, or choose another output with -o.',
  );
}
