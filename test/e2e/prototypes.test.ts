import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { routes } from '../../src/server/routes/routes.ts';
import { chatLine } from '../support/batch-lines.ts';
import { adminKey, install, scriptedYaml } from '../support/server-process.ts';

const root = join(import.meta.dirname, '../..');

/** Reports at exit whether `__proto__` exists, and what a new object has that it should not have. */
const observer = (file: string) => `import { writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
if (isMainThread)
  process.on('exit', () => {
    const polluted = [{}, [], () => {}, ''].flatMap((each) => ['polluted', 'admin'].filter((name) => name in Object(each)));
    const has = Object.hasOwn(Object.prototype, '__proto__');
    writeFileSync(${JSON.stringify(file)}, JSON.stringify({ has, polluted }));
  });
`;

/** JSON that sets prototypes wherever a program copies members carelessly. */
const poison = '{"polluted":"yes","admin":true,"__proto__":{"polluted":"yes","admin":true}}';
const poisoned = `"__proto__":${poison},"constructor":{"prototype":${poison}},"metadata":{"__proto__":${poison},"a":"b"}`;

it('C28: no request changes a prototype, and the server has no __proto__', async () => {
  const installation = install(scriptedYaml());
  onTestFinished(() => installation.remove());
  const report = join(installation.folder, 'report.json');
  writeFileSync(join(installation.folder, 'observer.mjs'), observer(report));
  const server = await installation.start({
    env: { NODE_OPTIONS: `--import ${join(installation.folder, 'observer.mjs')}` },
  });
  const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' };
  const post = (key: string, method: string, path: string, body: string) =>
    fetch(server.url + path, { method, headers: { ...headers, authorization: `Bearer ${key}` }, body });
  const writes = routes.filter(({ method, docs }) => method !== 'GET' && docs.body !== undefined);
  expect(writes.length).toBeGreaterThan(15);
  const messages = '"messages":[{"role":"user","content":"hi","__proto__":{"polluted":1}}]';
  for (const { method, path, access } of writes) {
    const key = access.startsWith('admin') ? adminKey : 'test-key-0123456789-abcdefghijklmnop';
    const body = `{"model":"tiny","name":"a","url":"https://93.184.216.34/","input":"hi",${messages},${poisoned}}`;
    const { status } = await post(key, method, path.replaceAll(/:\w+/g, '__proto__'), body);
    expect([method, path, status < 500]).toEqual([method, path, true]);
  }
  const { api } = server;
  const line = JSON.stringify(chatLine('a')).replace('{', `{${poisoned},`);
  await api.sendFile(`${line}\n`);
  const ended = await api.finished((await api.createBatch({ requests: [chatLine('b')] })).id);
  expect(ended.request_counts).toMatchObject({ total: 1, completed: 1 });
  await api.send('/v1/batches?__proto__[polluted]=1&constructor[prototype][polluted]=1');
  await server.end('SIGTERM');
  expect(JSON.parse(readFileSync(report, 'utf8'))).toEqual({ has: false, polluted: [] });
});

it('C28: the threads remove __proto__ before they read a message', () => {
  for (const file of ['src/inference/schemas/worker.ts', 'src/store/sqlite/worker.ts']) {
    const text = readFileSync(join(root, file), 'utf8');
    expect(text.indexOf('\nremoveProto();'), file).toBeGreaterThan(0);
    expect(text.indexOf('\nremoveProto();'), file).toBeLessThan(text.indexOf(".on('message'"));
  }
});
