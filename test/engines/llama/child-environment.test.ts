import { existsSync, readFileSync } from 'node:fs';
import { afterEach, expect, it, vi } from 'vitest';
import { spawnChild } from '../../../src/engines/llama/child-process.ts';

afterEach(() => void vi.unstubAllEnvs());

it.skipIf(!existsSync('/proc/self/environ'))('a process that reads model files gets no secrets', async () => {
  const secrets = [
    'OFFPEAK_API_KEY',
    'OFFPEAK_ADMIN_KEY',
    'HF_TOKEN',
    'AWS_SECRET_ACCESS_KEY',
    'NVIDIA_API_KEY',
  ];
  for (const name of secrets) vi.stubEnv(name, 'secret');
  vi.stubEnv('DATABASE_URL', 'postgres://user:secret@host/name');
  vi.stubEnv('NODE_OPTIONS', '--title=secret');
  for (const name of ['OMP_NUM_THREADS', 'CUDA_VISIBLE_DEVICES', 'GGML_X', 'LC_ALL', 'TMPDIR'])
    vi.stubEnv(name, '/kept');
  let gone = () => {};
  const ended = new Promise<void>((resolve) => (gone = resolve));
  const child = spawnChild({ onMessage() {}, onExit: () => gone() });
  const variables = readFileSync(`/proc/${child.pid}/environ`, 'utf8').split('\0').filter(Boolean);
  child.kill();
  await ended;
  expect(variables.join('\n')).not.toContain('secret');
  expect(variables.filter((each) => each.endsWith('=/kept'))).toHaveLength(5);
  const names = variables.map((each) => each.split('=', 1)[0]);
  expect(names).toEqual(expect.arrayContaining(['PATH', 'UV_THREADPOOL_SIZE', 'NODE_CHANNEL_FD']));
});
