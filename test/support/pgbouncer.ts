import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { findOrInstall, unprivileged } from './debian.ts';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

/** PgBouncer in front of a Postgres server, for one test file. */
export interface PgBouncer {
  /** True if it supports prepared statements in transaction mode, through `max_prepared_statements`. */
  prepares: boolean;
  /** Starts an instance with these settings and returns the URL of a database through it. */
  before(url: string, settings: Record<string, string | number>): Promise<string>;
  stop(): Promise<void>;
}

export function findPgBouncer(): PgBouncer | { reason: string } {
  const program = findOrInstall('pgbouncer', () =>
    [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']
      .map((folder) => join(folder, 'pgbouncer'))
      .find((path) => existsSync(path)),
  );
  const user = unprivileged();
  if (program === undefined || user === undefined) {
    const reason = 'PgBouncer is not installed and cannot be installed here (apt-get needs root on Debian).';
    console.warn(`\n*** The tests behind a pooler do not run: ${reason} ***\n`);
    return { reason };
  }
  const [, minor] = /PgBouncer 1\.(\d+)/.exec(execFileSync(program, ['--version'], { encoding: 'utf8' }))!;
  const stops: (() => Promise<void>)[] = [];
  return {
    prepares: Number(minor) >= 21,
    async before(url, settings) {
      const folder = mkdtempSync(join(tmpdir(), 'pgbouncer-'));
      const port = await freePort();
      const { port: serverPort, pathname } = new URL(url);
      const chosen = { ...usual, listen_port: port, ...settings };
      const file = join(folder, 'pgbouncer.ini');
      writeFileSync(
        file,
        `[databases]\n* = host=127.0.0.1 port=${serverPort} user=postgres\n[pgbouncer]\n` +
          Object.entries(chosen)
            .map(([name, value]) => `${name} = ${value}\n`)
            .join(''),
      );
      if (user.uid !== undefined) for (const path of [folder, file]) chownSync(path, user.uid, user.gid!);
      // The shell kills the server when its standard input closes, which happens however this process ends.
      const script = '"$0" "$@" & server=$!; cat > /dev/null; kill -KILL $server';
      const shell = spawn('sh', ['-c', script, program, '-q', file], {
        ...user,
        cwd: folder,
        stdio: ['pipe', 'ignore', 'ignore'],
      });
      stops.push(async () => {
        const exited = once(shell, 'exit');
        shell.stdin.end();
        await exited;
        rmSync(folder, { recursive: true, force: true });
      });
      await until('PgBouncer takes connections', () => accepts(port), { everyMs: 25 });
      return `postgres://postgres@127.0.0.1:${port}${pathname}`;
    },
    async stop() {
      await Promise.all(stops.map((stop) => stop()));
    },
  };
}

const usual = { listen_addr: '127.0.0.1', unix_socket_dir: '', auth_type: 'any' };

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
