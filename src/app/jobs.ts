import { hash } from 'node:crypto';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import type { Service } from '../base/service.ts';
import { toBlobFault } from '../blobs/s3/faults.ts';
import type { Config, JobEngineConfig, ModelConfig } from '../core/config.ts';
import type { Engine } from '../engines/engines.ts';
import { createJobEngine } from '../engines/upstream/jobs/job-engine.ts';
import { createCommandRunner } from '../engines/upstream/jobs/runners/command-runner.ts';
import { type Commands, systemCommands } from '../engines/upstream/jobs/runners/commands.ts';
import { createRayRunner } from '../engines/upstream/jobs/runners/ray-runner.ts';
import type { JobRunner } from '../engines/upstream/jobs/runners/runner.ts';
import { createBucketStorage } from '../engines/upstream/jobs/storage/bucket-storage.ts';
import { createFolderStorage } from '../engines/upstream/jobs/storage/folder-storage.ts';
import type { JobStorage } from '../engines/upstream/jobs/storage/job-storage.ts';
import type { S3Client } from '../s3/client.ts';

export interface JobEnginesDeps {
  clock: Clock;
  random: Random;
  ids: Ids;
  log: Log;
  /** Runs commands; tests pass their own. */
  commands?: Commands | undefined;
}

/** Creates the engines of `kind: job`, which store their jobs next to the files of the configuration. */
export interface JobEngines extends Service {
  create(model: Pick<ModelConfig, 'id' | 'serves'>, engine: JobEngineConfig, log: Log): Promise<Engine>;
}

export function createJobEngines(
  config: Config,
  { commands = systemCommands, ...deps }: JobEnginesDeps,
): JobEngines {
  const { bucket } = config.files;
  const ownFolder = join(config.data, 'jobs');
  let client: Promise<S3Client> | undefined;

  /** Loads the client at its first use: most servers have no bucket. */
  async function openClient(): Promise<S3Client> {
    const { createS3Client } = await import('../s3/client.ts');
    return createS3Client({ ...deps, bucket: bucket!, toError: toBlobFault });
  }

  async function storageOf(name: string, folder: string | undefined): Promise<JobStorage> {
    if (folder !== undefined) return createFolderStorage({ folder: join(folder, name), mode: 0o777 });
    if (bucket)
      return createBucketStorage({ client: await (client ??= openClient()), prefix: `jobs/${name}/` });
    return createFolderStorage({ folder: join(ownFolder, name), mode: 0o700 });
  }

  return {
    start: async () => (await client)?.open(),
    stop: async () => (await client)?.close(),
    async create({ id, serves }, engine, log) {
      const name = folderName(id);
      const { flavor, ownTraits, inputs, model, lines, jobs, waitMs, pollMs, maxMs, folder } = engine;
      return createJobEngine({
        ...deps,
        log,
        model: id,
        modelName: model ?? id,
        flavor,
        ownTraits,
        serves: serves ?? undefined,
        inputs,
        storage: await storageOf(name, folder),
        runner: createRunner(engine.runner, {
          clock: deps.clock,
          commands,
          stateFolder: (job) => join(folder ?? ownFolder, name, job),
        }),
        maxLines: lines,
        maxJobs: jobs,
        waitMs,
        pollMs,
        maxMs,
      });
    },
  };
}

export interface RunnerDeps {
  clock: Clock;
  commands: Commands;
  /** Folder for the state of a job. */
  stateFolder: (job: string) => string;
}

export function createRunner(
  runner: JobEngineConfig['runner'],
  { clock, commands, stateFolder }: RunnerDeps,
): JobRunner {
  if (runner.kind === 'command') return createCommandRunner({ ...runner, stateFolder, commands });
  const { runtimeEnv, ...rest } = runner;
  return createRayRunner({ ...rest, submission: { runtime_env: runtimeEnv }, clock });
}

/** Name of a model's folder: its id, and a hash where the id has characters that paths and URLs may change. */
function folderName(id: string): string {
  const plain = id.replaceAll(/[^\w-]+/g, '_');
  return plain === id ? id : `${plain}-${hash('sha256', id, 'hex').slice(0, 8)}`;
}
