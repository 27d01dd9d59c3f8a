import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Random } from '../../../base/random.ts';
import { CliError } from '../../shared/exit-codes.ts';
import { readJsonFile } from '../../shared/json-file.ts';

/**
 * A small file beside the output that makes `batch run` resumable: run again after whatever happened, it goes on with
 * the same batches. It is written before the first request; the tokens make a repeated upload or create answer with
 * what the first one made, so that no batch is paid twice.
 */
export interface RunState {
  version: 2;
  url: string;
  input_sha256: string;
  /** Of the results files. */
  format: string;
  parts: PartState[];
  collected: Collected;
}

/** What of a run is in the results files already. */
export interface Collected {
  parts: number;
  /** How many bytes of the files are theirs; what stands behind them is not. */
  sizes: { output: number; errors: number };
  completed: number;
  /** Requests that failed, by code, with the message of the first. */
  failures: Failure[];
}

export interface Failure {
  code: string;
  count: number;
  message: string;
}

/** How far one batch of the run is. */
export interface PartState {
  token: string;
  file_id: string | null;
  batch_id: string | null;
}

export type RunFile = ReturnType<typeof openRunFile>;

export interface RunIdentity {
  url: string;
  sha256: string;
  format: string;
  /** How many batches it takes. */
  parts: number;
  random: Random;
  cwd: string;
}

/**
 * @param output the results file beside which it stands, or null to remember nothing
 * @throws CliError when the file there belongs to another input or server
 */
export function openRunFile(output: string | null, run: RunIdentity) {
  const path = output === null ? null : `${output}.offpeak.json`;
  const found = path === null ? undefined : readState(path);
  if (path !== null && found !== undefined) refuseOther(relative(run.cwd, path) || path, found, run);
  const token = () => Buffer.from(run.random.bytes(16)).toString('hex');
  const fresh = (): PartState => ({ token: token(), file_id: null, batch_id: null });
  const state: RunState = found ?? {
    version: 2,
    url: run.url,
    input_sha256: run.sha256,
    format: run.format,
    parts: Array.from({ length: run.parts }, fresh),
    collected: { parts: 0, sizes: { output: 0, errors: 0 }, completed: 0, failures: [] },
  };
  const save = () => {
    if (path === null) return;
    writeFileSync(`${path}.tmp`, `${JSON.stringify(state, null, 2)}\n`, { flush: true });
    renameSync(`${path}.tmp`, path);
  };
  save();
  return {
    /** Null when nothing is remembered, because the results go to stdout. */
    path,
    state,
    /** Whether an earlier run left it. */
    isResumed: found !== undefined,
    remember(part: number, ids: { file_id: string } | { batch_id: string }) {
      Object.assign(state.parts[part]!, ids);
      save();
    },
    collect(collected: Collected) {
      state.collected = collected;
      save();
    },
    /** Begins a part anew: the batch of the earlier run is gone. */
    restart(part: number) {
      state.parts[part] = fresh();
      save();
    },
    remove() {
      if (path !== null) rmSync(path, { force: true });
    },
  };
}

function refuseOther(shown: string, found: RunState, run: RunIdentity): void {
  if (found.input_sha256 !== run.sha256 || found.parts.length !== run.parts)
    throw new CliError(
      `${shown} belongs to another input, whose batch is ${found.parts[0]?.batch_id ?? 'not created yet'}.`,
      `Choose another output with -o, or remove ${shown}.`,
    );
  if (found.format !== run.format)
    throw new CliError(
      `${shown} belongs to a run whose results are ${found.format}.`,
      `Pass --format ${found.format} to go on with it, or remove ${shown} to start anew.`,
    );
  if (found.url !== run.url)
    throw new CliError(
      `${shown} belongs to a run on ${found.url}, not ${run.url}.`,
      `Pass --url ${found.url} to go on with it, or remove ${shown} to start anew.`,
    );
}

function readState(path: string): RunState | undefined {
  const isOurs = ({ version, url, parts }: Partial<RunState>) =>
    version === 2 && typeof url === 'string' && Array.isArray(parts);
  const advice = 'Move it away, or choose another output with -o.';
  return readJsonFile(path, isOurs, 'a state file of batch run', advice);
}
