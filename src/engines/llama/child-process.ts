import { type ChildProcess, fork } from 'node:child_process';
// oxlint-disable-next-line no-restricted-imports -- passed on to the child, never read here
import { env } from 'node:process';
import { programFile } from '../../base/program.ts';
import type { FromChild, ToChild } from './protocol.ts';

/** A running child process. */
export interface Child {
  readonly pid: number | undefined;
  send(message: ToChild): void;
  kill(): void;
}

export interface ChildEvents {
  onMessage(message: FromChild): void;
  /** Called once, when the process has ended. `output` is the end of its standard error. */
  onExit(how: string, output: string): void;
}

/** Starts a child; tests pass their own. */
export type Spawn = (events: ChildEvents) => Child;

/** Characters of standard error that explain a crash. */
const maxOutput = 2_000;

export function spawnChild(events: ChildEvents): Child {
  const process = fork(programFile('engines/llama/child'), {
    // No flags of the parent, such as a watcher or an inspector.
    execArgv: [],
    // The library samples all sequences of a decode concurrently, each on a thread of this pool. llama.cpp sorts the logits of
    // a batch on first access without a lock: two concurrent accesses give one request the tokens of another.
    env: { ...childEnvironment(env), UV_THREADPOOL_SIZE: '1' },
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const readOutput = keepEnd(process);
  let hasEnded = false;
  const end = (how: string): void => {
    if (hasEnded) return;
    hasEnded = true;
    events.onExit(how, readOutput());
  };
  process.on('message', (message) => events.onMessage(message as FromChild));
  process.on('error', (error) => end(error.message));
  process.on('exit', (code, signal) => end(signal ? `was killed by ${signal}` : `exited with code ${code}`));
  return {
    pid: process.pid,
    send(message) {
      // A dying process gets no messages; its exit settles them.
      if (process.connected) process.send(message, () => {});
    },
    kill: () => void process.kill('SIGKILL'),
  };
}

function keepEnd(process: ChildProcess): () => string {
  let text = '';
  process.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(-maxOutput);
  });
  return () => text.trim();
}

/** Variables for the child, which reads files of unknown origin in native code: paths, locale, library settings, no keys. */
const names = new Set(
  `PATH HOME USERPROFILE APPDATA LOCALAPPDATA SYSTEMROOT WINDIR TMPDIR TMP TEMP LANG LANGUAGE TZ XDG_CACHE_HOME
  NODE_COMPILE_CACHE NODE_LLAMA_CPP_GPU NODE_LLAMA_CPP_LOG_LEVEL NODE_LLAMA_CPP_DEBUG`.split(/\s+/),
);
/** Variables of the dynamic linker, the allocator, math libraries and GPU vendors. */
const prefix =
  /^(?:LC|LD|DYLD|MALLOC|GGML|LLAMA|OMP|GOMP|KMP|MKL|OPENBLAS|BLIS|CUDA|NVIDIA|VK|VULKAN|GPU|HIP|HSA|ROCR|ROCM|AMD|SYCL|ONEAPI|ZE|MTL|METAL)_/;
const secret = /KEY|TOKEN|SECRET|PASS|CREDENTIAL/i;

function childEnvironment(parent: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(parent).filter(
    ([name]) => names.has(name.toUpperCase()) || (prefix.test(name) && !secret.test(name)),
  );
  return Object.fromEntries(kept);
}
