import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Flavor } from '../../../src/core/flavor.ts';
import { freePort } from '../../support/free-port.ts';
import { until } from '../../support/until.ts';

/** Servers that others wrote, with the demo model. */

const root = fileURLToPath(new URL('../../..', import.meta.url));
const modelFile = join(root, 'models/offpeak-tiny.gguf');
/** What is installed for these tests stays there for the next time. */
const cache = join(root, 'node_modules/.cache/offpeak-engines');

export interface RealServer {
  flavor: Flavor;
  /** Ends in `/v1`. */
  url: string;
  model: string;
  /** Ends it at once, in the middle of whatever it does. */
  kill(): Promise<void>;
  /** Starts it again at the same address. */
  start(): Promise<void>;
  /** Has it do nothing, as one that hangs: its connections stand, and nobody answers. */
  hold(): void;
  goOn(): void;
}

/** How a server is started on a port. */
interface Launch {
  command: string;
  args: (port: number) => string[];
  env?: (port: number) => Record<string, string>;
  /** Answers 200 once it works. */
  ready: string;
  /** What there is to do before it has the model. */
  prepare?: (url: string) => Promise<void>;
}

export interface Kind {
  flavor: Flavor;
  /** @throws Error that says what is missing */
  find: () => Launch;
}

/** The wheel brings the server as a library: it listens and answers as the program does. */
const runWheel = `
import sys, signal, xllamacpp
p = xllamacpp.CommonParams()
p.model.path, p.port = sys.argv[1], int(sys.argv[2])
p.model_alias = {'offpeak-tiny'}
p.n_ctx, p.n_parallel, p.n_gpu_layers = 2048, 4, 0
p.embedding, p.pooling_type = True, xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
server = xllamacpp.Server(p)
signal.pause()
`;

export const kinds: readonly Kind[] = [
  { flavor: 'llama-server', find: findLlamaServer },
  { flavor: 'ollama', find: findOllama },
  { flavor: 'vllm', find: findVllm },
  { flavor: 'sglang', find: findSglang },
];

function findLlamaServer(): Launch {
  const ready = '/health';
  if (find('llama-server')) {
    const settings = '--ctx-size 2048 --parallel 4 --n-gpu-layers 0 --embeddings --pooling mean'.split(' ');
    const given = ['--model', modelFile, '--alias', 'offpeak-tiny', '--host', '127.0.0.1'];
    return {
      command: 'llama-server',
      args: (port) => [...given, '--port', `${port}`, ...settings],
      ready,
    };
  }
  const python = join(cache, 'llama-server/bin/python');
  if (!existsSync(join(cache, 'llama-server/installed'))) {
    mkdirSync(cache, { recursive: true });
    if (!find('python3')) throw new Error('neither llama-server nor python3 is on the PATH');
    run('python3', ['-m', 'venv', join(cache, 'llama-server')]);
    run(python, ['-m', 'pip', 'install', '--quiet', '--only-binary', ':all:', 'xllamacpp']);
    mkdirSync(join(cache, 'llama-server/installed'));
  }
  return { command: python, args: (port) => ['-c', runWheel, modelFile, `${port}`], ready };
}

/** It does not know the template that is in the model's file. With a place for a suffix it takes one. */
const template =
  '{{ if .Suffix }}{{ .Prompt }}{{ .Suffix }}{{ else }}' +
  '{{ range .Messages }}<|im_start|>{{ .Role }}\n{{ .Content }}<|im_end|>\n{{ end }}<|im_start|>assistant\n{{ end }}';

/** Its module leaves out headers that it is built with, so it is taken as it is installed. */
function findOllama(): Launch {
  if (!find('ollama')) throw new Error('ollama is not on the PATH');
  return {
    command: 'ollama',
    args: () => ['serve'],
    env: (port) => ({
      HOME: join(cache, 'ollama'),
      OLLAMA_HOST: `127.0.0.1:${port}`,
      OLLAMA_CONTEXT_LENGTH: '512',
      OLLAMA_NUM_PARALLEL: '4',
    }),
    ready: '/api/version',
    async prepare(url) {
      const file = join(cache, 'ollama/Modelfile');
      mkdirSync(join(cache, 'ollama'), { recursive: true });
      writeFileSync(
        file,
        `FROM ${modelFile}\nPARAMETER num_ctx 512\nPARAMETER stop <|im_end|>\nTEMPLATE """${template}"""\n`,
      );
      execFileSync('ollama', ['create', 'offpeak-tiny', '-f', file], {
        env: { ...process.env, HOME: join(cache, 'ollama'), OLLAMA_HOST: new URL(url).host },
        stdio: 'ignore',
      });
    },
  };
}

/** It reads no GGUF: the demo model is put into the form of Hugging Face beside it, by its own Python. */
function findVllm(): Launch {
  const program = find('vllm');
  if (!program) throw new Error('vllm is not on the PATH');
  const folder = join(cache, 'vllm/offpeak-tiny');
  if (!existsSync(join(folder, 'config.json'))) {
    const script = fileURLToPath(new URL('hugging_face.py', import.meta.url));
    run(join(dirname(realpathSync(program)), 'python'), [script, modelFile, folder]);
  }
  const settings = '--max-model-len 512 --host 127.0.0.1 --served-model-name offpeak-tiny'.split(' ');
  const more = '--enable-prompt-tokens-details --enforce-eager --max-num-seqs 16'.split(' ');
  const tools = '--enable-auto-tool-choice --tool-call-parser hermes'.split(' ');
  return {
    command: 'vllm',
    args: (port) => ['serve', folder, '--port', `${port}`, ...settings, ...more, ...tools],
    // For its build for CPUs: a small cache, and no cores of its own.
    env: () => ({
      VLLM_CPU_KVCACHE_SPACE: '1',
      VLLM_CPU_OMP_THREADS_BIND: 'nobind',
      HF_HUB_OFFLINE: '1',
      DO_NOT_TRACK: '1',
    }),
    ready: '/health',
  };
}

/** No build of it for CPUs is among the wheels: it wants a GPU, or hours of building. */
function findSglang(): Launch {
  throw new Error('no build of SGLang for CPUs is to be had as a package');
}

function find(program: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(':');
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path));
}

function run(command: string, args: string[]): void {
  execFileSync('nice', [command, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
}

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) signalAll(child, 'SIGKILL');
});

/** With the processes that it started: Ollama's run the model. */
function signalAll({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid !== undefined) process.kill(-pid, signal);
}

/** Starts a server of that kind on a free port. */
export async function startServer({ flavor }: Kind, launch: Launch): Promise<RealServer> {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  let child: ChildProcess | undefined;
  const server: RealServer = {
    flavor,
    url: `${origin}/v1`,
    model: 'offpeak-tiny',
    async kill() {
      const ending = child;
      child = undefined;
      if (!ending || ending.exitCode !== null) return;
      const gone = new Promise<void>((resolve) => ending.once('exit', () => resolve()));
      signalAll(ending, 'SIGKILL');
      await gone;
    },
    hold: () => child && signalAll(child, 'SIGSTOP'),
    goOn: () => child && signalAll(child, 'SIGCONT'),
    async start() {
      const env = { ...process.env, ...launch.env?.(port) };
      const started = spawn('nice', [launch.command, ...launch.args(port)], {
        env,
        stdio: 'ignore',
        detached: true,
      });
      child = started;
      running.add(started);
      started.once('exit', () => running.delete(started));
      await until(
        `${flavor} works`,
        async () => {
          if (started.exitCode !== null) throw new Error(`${flavor} ended with ${started.exitCode}`);
          const answer = await fetch(origin + launch.ready).catch(() => undefined);
          return answer?.status === 200;
        },
        { withinMs: 600_000, everyMs: 100 },
      );
    },
  };
  await server.start();
  await launch.prepare?.(server.url);
  return server;
}
