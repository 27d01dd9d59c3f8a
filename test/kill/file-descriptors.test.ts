import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { chatLines } from '../support/batch-lines.ts';
import { install, scriptedYaml } from '../support/server-process.ts';
import type { Installation } from '../support/server-process.ts';
import { until } from '../support/until.ts';

// A process that has reached its limit of open files rejects connections, loses nothing, and accepts connections again
// later.

let installation: Installation;
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await installation?.remove();
});

const prlimit = spawnSync('prlimit', ['--version']).status === 0;

it.skipIf(!prlimit)(
  'F40: continues at its limit of open files, and accepts connections again afterwards',
  async () => {
    installation = install(scriptedYaml({ slots: 4, delay: '5ms' }));
    const server = await installation.start();
    const { port, hostname } = new URL(server.url);
    const first = await server.api.createBatch((await server.api.upload(chatLines(20))).id);
    await server.api.finished(first.id);
    const { id } = await server.api.createBatch((await server.api.upload(chatLines(400))).id);
    const open = Number(
      execFileSync('sh', ['-c', `ls /proc/${server.pid}/fd | wc -l`], { encoding: 'utf8' }),
    );
    execFileSync('prlimit', ['--pid', String(server.pid), `--nofile=${open + 20}:${open + 20}`]);

    let rejected = 0;
    for (let n = 0; n < 80; n++) {
      const socket = connect(Number(port), hostname);
      sockets.push(socket.on('error', () => {}).on('close', () => rejected++));
      await once(socket, 'connect');
    }
    await until('some connections are rejected', () => rejected > 0);
    for (const socket of sockets.splice(0)) socket.destroy();

    const done = await until('it accepts connections again', () =>
      server.api.finished(id).catch(() => undefined),
    );
    expect(done).toMatchObject({ status: 'completed', request_counts: { completed: 400, failed: 0 } });
    expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null });
  },
);
