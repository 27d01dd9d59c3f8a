import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chatLine, jsonl } from '../support/batch-lines.ts';
import { createApi } from '../support/api.ts';
import { findOrInstall } from '../support/debian.ts';
import { freePort } from '../support/free-port.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { install, type Installation, processKey, type ServerProcess } from '../support/server-process.ts';
import { until } from '../support/until.ts';

// Restarts of both servers behind each proxy, with the settings of docs/reverse-proxies.md ("Several processes").

interface Proxy {
  name: string;
  package: string;
  /** Content of the configuration file. */
  config: (port: number, servers: number[], folder: string) => string;
  args: (file: string) => string[];
}

const proxies: readonly Proxy[] = [
  {
    name: 'haproxy',
    package: 'haproxy',
    config: (port, servers) => `
defaults
    mode http
    timeout connect 5s
    timeout client 1h
    timeout server 1h
frontend offpeak
    bind 127.0.0.1:${port}
    default_backend offpeak
backend offpeak
    option httpchk GET /readyz
    option redispatch
    retries 3
    retry-on conn-failure
    default-server check inter 1s fall 1 rise 1
${servers.map((each) => `    server s${each} 127.0.0.1:${each}`).join('\n')}
`,
    args: (file) => ['-db', '-f', file],
  },
  {
    name: 'nginx',
    package: 'nginx-light',
    config: (port, servers, folder) => `
daemon off;
pid ${folder}/nginx.pid;
error_log /dev/null;
events {}
http {
    access_log off;
    client_body_temp_path ${folder};
    proxy_temp_path ${folder};
    upstream offpeak {
${servers.map((each) => `        server 127.0.0.1:${each};`).join('\n')}
    }
    server {
        listen 127.0.0.1:${port};
        location / {
            proxy_pass http://offpeak;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffering off;
            proxy_request_buffering off;
            client_max_body_size 256m;
            proxy_read_timeout 1h;
        }
    }
}
`,
    args: (file) => ['-c', file],
  },
  {
    name: 'caddy',
    package: 'caddy',
    config: (port, servers) => `
{
    admin off
}
http://127.0.0.1:${port} {
    reverse_proxy ${servers.map((each) => `127.0.0.1:${each}`).join(' ')} {
        health_uri /readyz
        health_interval 1s
        lb_try_duration 5s
    }
}
`,
    args: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
  },
];

const started = await startPostgres();
const postgres: PostgresServer | undefined = 'reason' in started ? undefined : started;
afterAll(() => postgres?.stop());

for (const proxy of proxies) {
  const found = findOrInstall(proxy.package, () =>
    spawnSync('which', [proxy.name]).status === 0 ? proxy.name : undefined,
  );
  if (!found || !postgres) console.warn(`SKIPPED: not tested behind ${proxy.name}`);
  else describe(`a rolling restart behind ${proxy.name}`, () => proxyTests(proxy, postgres));
}

function proxyTests({ name, config, args }: Proxy, database: PostgresServer): void {
  let folder: string;
  let installation: Installation;
  let running: ServerProcess[];
  let url: string;
  let child: ChildProcess;
  let ports: number[];
  const start = async (port: number) => installation.start({ flags: ['--port', String(port)] });

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'offpeak-proxy-'));
    chmodSync(folder, 0o777);
    installation = install(`
database: ${await database.createDatabase()}
drain_delay: 3s
models:
  - { id: tiny, aliases: [default], engine: { kind: scripted, slots: 64, delay: 20ms } }
`);
    ports = [await freePort(), await freePort()];
    running = [await start(ports[0]!), await start(ports[1]!)];
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const file = join(folder, 'proxy.conf');
    writeFileSync(file, config(port, ports, folder));
    child = spawn(name, args(file), { stdio: 'ignore', env: { ...process.env, HOME: folder } });
    await until(
      `${name} serves`,
      async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.ok === true,
    );
  });

  afterAll(async () => {
    child?.kill('SIGTERM');
    if (child) await once(child, 'exit');
    await installation?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  it('refuses no request, upload or stream', async () => {
    const statuses = new Map<number | string, number>();
    const count = (status: number | string) => statuses.set(status, (statuses.get(status) ?? 0) + 1);
    const headers = { authorization: `Bearer ${processKey}`, 'content-type': 'application/json' };
    const pending = new Set<Promise<unknown>>();
    const ask = (stream: boolean) => {
      const body = JSON.stringify({ model: 'tiny', stream, messages: [{ role: 'user', content: 'hi' }] });
      const asked = fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
        .then(async (response) => {
          const text = await response.text();
          count(stream && response.ok && !text.includes('[DONE]') ? 'cut stream' : response.status);
        })
        .catch((error: unknown) => count(String((error as Error).cause ?? error)))
        .finally(() => pending.delete(asked));
      pending.add(asked);
    };
    // 100 requests a second, each tenth of them a stream.
    let sent = 0;
    const traffic = setInterval(() => ask(sent++ % 10 === 0), 10);
    const api = createApi(url, processKey);
    const large = jsonl(Array.from({ length: 500 }, (_, n) => chatLine(`${n}`, 'x'.repeat(60_000))));
    const uploads: Promise<void>[] = [];
    for (const at of [0, 1]) {
      uploads.push(slowUpload(url, large).then((status) => void count(`upload ${status}`)));
      const { code } = await running[at]!.end('SIGTERM');
      expect(code).toBe(0);
      running[at] = await start(ports[at]!);
      // The proxy finds it again.
      await until('both serve', async () => {
        const found = new Set<string | null>();
        for (let n = 0; n < 8; n++)
          found.add((await fetch(`${url}/v1/models`, { headers })).headers.get('x-offpeak-instance'));
        return found.size === 2;
      });
    }
    await Promise.all(uploads);
    clearInterval(traffic);
    await Promise.all(pending);
    const { [200]: fine = 0, ...others } = Object.fromEntries(statuses) as Record<string, number>;
    expect(others).toEqual({ 'upload 201': 2 });
    expect(fine).toBeGreaterThan(500);
    expect((await api.get<{ data: unknown[] }>('/v1/files')).data).toHaveLength(2);
  });
}

/** Uploads a file in pieces over about two seconds, so that it is under way while its server begins to stop. */
async function slowUpload(url: string, content: string): Promise<number> {
  const boundary = 'offpeak-boundary';
  const part = (fields: string) => `--${boundary}\r\ncontent-disposition: form-data; ${fields}\r\n\r\n`;
  const head = `${part('name="purpose"')}batch\r\n${part('name="file"; filename="large.jsonl"')}`;
  const bytes = Buffer.from(`${head}${content}\r\n--${boundary}--\r\n`);
  const upload = request(`${url}/v1/files`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${processKey}`,
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': bytes.length,
    },
  });
  const answered = once(upload, 'response');
  const pieces = 20;
  for (let at = 0; at < pieces; at++) {
    const size = Math.ceil(bytes.length / pieces);
    upload.write(bytes.subarray(at * size, (at + 1) * size));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  upload.end();
  const [response] = await answered;
  response.resume();
  return response.statusCode;
}
