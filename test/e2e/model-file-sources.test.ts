import { readdirSync, readFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { filePurposes } from '../../src/core/file.ts';
import { routes } from '../../src/server/routes/routes.ts';
import { adminKey, install, processKey } from '../support/server-process.ts';

// Model files are read by native code, so only the operator chooses them, and that code runs in a process without keys.

it('C29: no route takes or fetches a model file', () => {
  const writes = routes.filter(({ method }) => method !== 'GET');
  expect(writes.length).toBeGreaterThan(20);
  expect(writes.filter(({ path }) => /model|gguf|pull|load/.test(path))).toEqual([]);
  const fields = writes.flatMap(({ docs }) =>
    Object.keys((docs.body as { properties?: object })?.properties ?? {}),
  );
  expect(fields.filter((name) => /gguf|model_?(path|file|url)|^path$|hf_/.test(name))).toEqual([]);
  expect(filePurposes.filter((purpose) => /model/.test(purpose))).toEqual([]);
});

const hasProc = process.platform === 'linux';
if (!hasProc) console.warn('SKIPPED: only Linux shows the environment of a process.');

it.skipIf(!hasProc)('C29: the process that reads model files has no key in its environment', async () => {
  const installation = install(
    'models:\n  - id: tiny\n    engine: { kind: llama, path: models/offpeak-tiny.gguf }\n',
  );
  onTestFinished(() => installation.remove());
  const secrets = { HF_TOKEN: 'hf-canary-0123456789', AWS_SECRET_ACCESS_KEY: 'aws-canary-0123456789' };
  const server = await installation.start({ env: { ...secrets, LLAMA_API_KEY: 'llama-canary-0123456789' } });
  await server.api.post('/v1/chat/completions', {
    model: 'tiny',
    max_tokens: 1,
    messages: [{ role: 'user', content: 'Hi.' }],
  });
  const environments = readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && parentOf(pid) === server.pid)
    .map((pid) => readFileSync(`/proc/${pid}/environ`, 'utf8'));
  expect(environments.length).toBeGreaterThan(0);
  for (const text of environments) {
    expect(text).toContain('UV_THREADPOOL_SIZE=');
    expect(text).not.toMatch(/canary/);
    for (const key of [processKey, adminKey]) expect(text).not.toContain(key);
  }
  await server.end('SIGTERM');
});

function parentOf(pid: string): number | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^PPid:\s+(\d+)$/m.exec(status)?.[1]);
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}
