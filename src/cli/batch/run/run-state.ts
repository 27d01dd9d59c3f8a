import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Random } from '../../../base/random.ts';
import { CliError } from '../../shared/exit-codes.ts';
import { readJsonFile } from '../../shared/json-file.ts';

/**
 * State file next to the output, which makes `batch run` resumable. It is written before the first request. Its tokens are
 * idempotency keys: a repeated upload or create returns the resource of the first one, so no batch is paid for twice.
 */
export interface RunState {
  version: 2;
  url: string;
  input_sha256: string;
  format: string;
  parts: PartState[];
  collected: Collected;
}

/** Part of a run that is in the results files. */
export interface Collected {
  parts: number;
  /** Completed bytes of the results files. */
  sizes: { output: number; errors: number };
  completed: number;
  /** Failed requests by code, with the message of the first. */
  failures: Failure[];
}

export interface Failure {
  code: string;
  count: number;
  message: string;
}

/** Progress of one batch of the run. */
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
  /** Number of batches. */
  parts: number;
  random: Random;
  cwd: string;
}

/**
 * Opens or creates the state file of a run.
 * @param output results file, or null for stdout, which has no state file
 * @throws CliError when the state file belongs to another input or server
 */
export function openRunFile(output: string | null, run: RunIdentity) {
  const path = output === null ? null : `${output}.offpeak.json`;
  const found = path === null ? undefined : readState(path);
  if (path !== null && found !== undefined) {
    refuseOther(relative(run.cwd, path) || path, found, run);
    if (found.parts.length !== run.parts) throw otherInput(relative(run.cwd, path) || path, found);
  }
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
    /** Null for a run to stdout. */
    path,
    state,
    /** True if the state is that of an earlier run. */
    isResumed: found !== undefined,
    remember(part: number, ids: { file_id: string } | { batch_id: string }) {
      Object.assign(state.parts[part]!, ids);
      save();
    },
    collect(collected: Collected) {
      state.collected = collected;
      save();
    },
    /** Resets a part whose batch or file was deleted. */
    restart(part: number) {
      state.parts[part] = fresh();
      save();
    },
    remove() {
      if (path !== null) rmSync(path, { force: true });
    },
  };
}

/**
 * True if an earlier run of the same input can be resumed.
 * @throws CliError when the output belongs to another run
 */
export function findEarlierRun(output: string, run: Omit<RunIdentity, 'parts' | 'random'>): boolean {
  const path = `${output}.offpeak.json`;
  const found = readState(path);
  if (found !== undefined) refuseOther(relative(run.cwd, path) || path, found, run);
  return found !== undefined;
}

function otherInput(shown: string, found: RunState): CliError {
  return new CliError(
    `${shown} belongs to a run of another input, or with other options (batch: ${found.parts[0]?.batch_id ?? 'not created yet'}).`,
    `Choose another output with -o, or remove ${shown}.`,
  );
}

function refuseOther(shown: string, found: RunState, run: Omit<RunIdentity, 'parts' | 'random'>): void {
  if (found.input_sha256 !== run.sha256) throw otherInput(shown, found);
  if (found.format !== run.format)
    throw new CliError(
      `${shown} belongs to a run with --format ${found.format}.`,
      `Pass --format ${found.format} to resume it, or remove ${shown} to start again.`,
    );
  if (found.url !== run.url)
    throw new CliError(
      `${shown} belongs to a run on ${found.url}, not ${run.url}.`,
      `Pass --url ${found.url} to resume it, or remove ${shown} to start again.`,
    );
}

function readState(path: string): RunState | undefined {
  const isValid = ({ version, url, parts }: Partial<RunState>) =>
    version === 2 && typeof url === 'string' && Array.isArray(parts);
  const hint = 'Move it away, or choose another output with -o.';
  return readJsonFile(path, isValid, 'a state file of batch run', hint);
}
