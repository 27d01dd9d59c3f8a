import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chownSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Client } from 'pg';
import { findOrInstall, unprivileged, type User } from './debian.ts';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

/** Postgres server in a temporary folder, for one test file. */
export interface PostgresServer {
  /** Creates an empty database and returns its URL. */
  createDatabase(): Promise<string>;
  /** Terminates the connections to all databases, as a failover does, and returns their number. */
  cutConnections(): Promise<number>;
  /** Kills one backend process, so that the server disconnects all clients and recovers from its log. */
  crash(): Promise<void>;
  /** Starts a standby, which follows this server until it is promoted. */
  addStandby(): Promise<Standby>;
  stop(): Promise<void>;
}

export interface Standby {
  port: number;
  promote(): Promise<void>;
  stop(): Promise<void>;
}

export interface PostgresOptions {
  /** True if commits survive a power cut, as with the default settings of Postgres. */
  isDurable?: boolean;
  settings?: Record<string, string>;
  /** Files in the data folder by name, such as certificates and keys. */
  files?: Record<string, string>;
  /** Lines of `pg_hba.conf` before those that trust everyone. */
  hba?: string[];
}

/** Starts a server. `OFFPEAK_POSTGRES` names the folder of the programs of another Postgres. If Postgres is missing, installs Debian's package where possible; otherwise warns and returns the reason. */
export async function startPostgres(
  options: PostgresOptions = {},
): Promise<PostgresServer | { reason: string }> {
  const bin = findOrInstall('postgresql', findBinaries);
  if (bin === undefined)
    return refuse('Postgres is not installed and cannot be installed here (apt-get needs root on Debian).');
  const user = unprivileged();
  if (user === undefined) return refuse('Postgres does not run as root, and there is no user "postgres".');
  return launch(bin, user, options);
}

function refuse(reason: string): { reason: string } {
  console.warn(`\n*** The Postgres tests do not run: ${reason} ***\n`);
  return { reason };
}

function findBinaries(): string | undefined {
  const packages = '/usr/lib/postgresql';
  const versions = existsSync(packages)
    ? readdirSync(packages).toSorted((a, b) => Number(b) - Number(a))
    : [];
  const folders = [
    ...(process.env['OFFPEAK_POSTGRES']?.split(delimiter) ?? []),
    ...versions.map((version) => join(packages, version, 'bin')),
    ...(process.env.PATH ?? '').split(delimiter),
  ];
  return folders.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')));
}

/** Commits need not survive a power cut. */
const careless = { fsync: 'off', full_page_writes: 'off' };

const settings = {
  // Commits must survive `crash`.
  synchronous_commit: 'on',
  shared_buffers: '64MB',
  max_connections: '100',
  deadlock_timeout: '100ms',
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  logging_collector: 'off',
  log_min_messages: 'fatal',
};

async function launch(bin: string, user: User, options: PostgresOptions): Promise<PostgresServer> {
  const folder = makeFolder(user);
  const data = join(folder, 'data');
  const flags = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync', '--locale=C.UTF-8'];
  execFileSync(join(bin, 'initdb'), flags, { ...user, cwd: folder, stdio: 'ignore' });
  for (const [name, content] of Object.entries(options.files ?? {})) {
    writeFileSync(join(data, name), content, { mode: 0o600 });
    if (user.uid !== undefined) chownSync(join(data, name), user.uid, user.gid!);
  }
  if (options.hba) prepend(join(data, 'pg_hba.conf'), options.hba);
  const port = await freePort();
  const chosen = { ...settings, ...(options.isDurable ? {} : careless), ...options.settings };
  const shell = run(bin, user, folder, { ...chosen, port });
  await ask(port, 'SELECT 1');
  const follow = () => addStandby(bin, user, { ...chosen, port });
  return serverOf(shell, port, folder, follow);
}

function makeFolder(user: User): string {
  const folder = mkdtempSync(join(tmpdir(), 'postgres-'));
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid!);
  return folder;
}

function prepend(file: string, lines: string[]): void {
  writeFileSync(file, [...lines, readFileSync(file, 'utf8')].join('\n'));
}

function run(bin: string, user: User, folder: string, chosen: Record<string, string | number>): ChildProcess {
  const options = Object.entries(chosen).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  // The shell stops the server when its standard input closes, which happens however this process ends.
  const script = '"$0" "$@" & server=$!; cat > /dev/null; kill -QUIT $server; wait $server; rm -rf "$OLDPWD"';
  const args = [
    '-c',
    `cd data && { ${script}; }`,
    join(bin, 'postgres'),
    '-D',
    join(folder, 'data'),
    ...options,
  ];
  return spawn('sh', args, { ...user, cwd: folder, stdio: ['pipe', 'ignore', 'ignore'] });
}

async function addStandby(
  bin: string,
  user: User,
  chosen: Record<string, string | number> & { port: number },
): Promise<Standby> {
  const folder = makeFolder(user);
  const from = `postgres://postgres@127.0.0.1:${chosen.port}/postgres`;
  const flags = ['-d', from, '-D', join(folder, 'data'), '-R', '-X', 'stream', '-c', 'fast', '--no-sync'];
  execFileSync(join(bin, 'pg_basebackup'), flags, { ...user, cwd: folder, stdio: 'ignore' });
  const port = await freePort();
  const shell = run(bin, user, folder, { ...chosen, port });
  await ask(port, 'SELECT 1');
  return {
    port,
    promote: async () => void (await ask(port, 'SELECT pg_promote(true, 60)')),
    stop: () => end(shell, folder),
  };
}

async function end(shell: ChildProcess, folder: string): Promise<void> {
  const exited = once(shell, 'exit');
  shell.stdin!.end();
  await exited;
  rmSync(folder, { recursive: true, force: true });
}

/** Runs one statement on a connection of its own, because the test may have cut the others. */
async function ask<Row extends object>(port: number, sql: string): Promise<Row[]> {
  const client = await connect(`postgres://postgres@127.0.0.1:${port}/postgres`);
  client.on('error', () => {});
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end().catch(() => {});
  }
}

function serverOf(
  shell: ChildProcess,
  port: number,
  folder: string,
  follow: () => Promise<Standby>,
): PostgresServer {
  let databases = 0;
  let ended: Promise<void> | undefined;
  return {
    addStandby: follow,
    async createDatabase() {
      const name = `test_${++databases}`;
      await ask(port, `CREATE DATABASE ${name}`);
      return `postgres://postgres@127.0.0.1:${port}/${name}`;
    },
    async cutConnections() {
      const cut = await ask(
        port,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname LIKE 'test_%' AND pid <> pg_backend_pid()`,
      );
      return cut.length;
    },
    async crash() {
      const backends = await ask<{ pid: number }>(
        port,
        "SELECT pid FROM pg_stat_activity WHERE datname LIKE 'test_%'",
      );
      process.kill(backends[0]!.pid, 'SIGKILL');
    },
    stop: () => (ended ??= end(shell, folder)),
  };
}

/** Retries until the server accepts connections. */
function connect(url: string): Promise<Client> {
  return until(
    'Postgres takes connections',
    async () => {
      const client = new Client(url);
      return client.connect().then(
        () => client,
        () => undefined,
      );
    },
    { everyMs: 25 },
  );
}
