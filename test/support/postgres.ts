import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
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
  stop(): Promise<void>;
}

/**
 * Starts a server. If Postgres is missing, installs Debian's package where possible; otherwise warns and returns the reason.
 * @param isDurable true if commits survive a power cut, as with the default settings of Postgres
 */
export async function startPostgres({ isDurable = false } = {}): Promise<
  PostgresServer | { reason: string }
> {
  const bin = findOrInstall('postgresql', findBinaries);
  if (bin === undefined)
    return refuse('Postgres is not installed and cannot be installed here (apt-get needs root on Debian).');
  const user = unprivileged();
  if (user === undefined) return refuse('Postgres does not run as root, and there is no user "postgres".');
  return launch(bin, user, { ...settings, ...(isDurable ? {} : careless) });
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

async function launch(bin: string, user: User, chosen: Record<string, string>): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'postgres-'));
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid!);
  const data = join(folder, 'data');
  const flags = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync', '--locale=C.UTF-8'];
  execFileSync(join(bin, 'initdb'), flags, { ...user, cwd: folder, stdio: 'ignore' });
  const port = await freePort();
  const options = Object.entries({ ...chosen, port }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  // The shell stops the server when its standard input closes, which happens however this process ends.
  const script = '"$0" "$@" & server=$!; cat > /dev/null; kill -QUIT $server; wait $server; rm -rf "$OLDPWD"';
  const shell = spawn(
    'sh',
    ['-c', `cd data && { ${script}; }`, join(bin, 'postgres'), '-D', data, ...options],
    {
      ...user,
      cwd: folder,
      stdio: ['pipe', 'ignore', 'ignore'],
    },
  );
  await ask(port, 'SELECT 1');
  return serverOf(shell, port, folder);
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

function serverOf(shell: ChildProcess, port: number, folder: string): PostgresServer {
  let databases = 0;
  return {
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
    async stop() {
      const exited = once(shell, 'exit');
      shell.stdin!.end();
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
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
