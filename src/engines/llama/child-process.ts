import { type ChildProcess, fork } from 'node:child_process';
// oxlint-disable-next-line no-restricted-imports -- nothing is read from it: some of it is handed on to the child
import { env } from 'node:process';
import { programFile } from '../../base/program.ts';
import type { FromChild, ToChild } from './protocol.ts';

/** A running child process, as its supervisor sees it. */
export interface Child {
  readonly pid: number | undefined;
  send(message: ToChild): void;
  kill(): void;
}

export interface ChildEvents {
  onMessage(message: FromChild): void;
  /** Once, when the process is gone. `said` is the end of what it wrote to its standard error. */
  onExit(how: string, said: string): void;
}

/** How starting a child is done; tests may pass their own. */
export type Spawn = (events: ChildEvents) => Child;

/** Lines of standard error kept to explain a crash. */
const keptCharacters = 2_000;

export function spawnChild(events: ChildEvents): Child {
  const process = fork(programFile('engines/llama/child'), {
    // None of the parent's flags: a watcher or an inspector is not meant for the child.
    execArgv: [],
    // The library samples all sequences of a decode at once, each on a thread of this pool. llama.cpp puts the logits
    // of a batch into order at the first look, unguarded: two looks at once hand one request the other's tokens.
    env: { ...childEnvironment(env), UV_THREADPOOL_SIZE: '1' },
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const said = keepEnd(process);
  let isGone = false;
  const gone = (how: string): void => {
    if (isGone) return;
    isGone = true;
    events.onExit(how, said());
  };
  process.on('message', (message) => events.onMessage(message as FromChild));
  process.on('error', (error) => gone(error.message));
  process.on('exit', (code, signal) => gone(signal ? `was killed by ${signal}` : `exited with code ${code}`));
  return {
    pid: process.pid,
    send(message) {
      // A message to a process that is dying is answered by its exit.
      if (process.connected) process.send(message, () => {});
    },
    kill: () => void process.kill('SIGKILL'),
  };
}

function keepEnd(process: ChildProcess): () => string {
  let text = '';
  process.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(-keptCharacters);
  });
  return () => text.trim();
}

/**
 * The variables that the process of a model is given. It reads files that somebody else made, in native code, so it is
 * told none of our keys and of nobody else's: only where things are, how to speak, and what its libraries are set by.
 */
const names = new Set(
  `PATH HOME USERPROFILE APPDATA LOCALAPPDATA SYSTEMROOT WINDIR TMPDIR TMP TEMP LANG LANGUAGE TZ XDG_CACHE_HOME
  NODE_COMPILE_CACHE NODE_LLAMA_CPP_GPU NODE_LLAMA_CPP_LOG_LEVEL NODE_LLAMA_CPP_DEBUG`.split(/\s+/),
);
/** The dynamic linker and the allocator; threads of mathematics; the makers of graphics cards. */
const prefix =
  /^(?:LC|LD|DYLD|MALLOC|GGML|LLAMA|OMP|GOMP|KMP|MKL|OPENBLAS|BLIS|CUDA|NVIDIA|VK|VULKAN|GPU|HIP|HSA|ROCR|ROCM|AMD|SYCL|ONEAPI|ZE|MTL|METAL)_/;
const secret = /KEY|TOKEN|SECRET|PASS|CREDENTIAL/i;

function childEnvironment(given: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(given).filter(
    ([name]) => names.has(name.toUpperCase()) || (prefix.test(name) && !secret.test(name)),
  );
  return Object.fromEntries(kept);
}
