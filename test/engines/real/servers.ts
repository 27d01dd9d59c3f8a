import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Flavor } from '../../../src/core/flavor.ts';
import { freePort } from '../../support/free-port.ts';
import { until } from '../../support/until.ts';

/** Inference servers by other projects, with the demo model. */

const root = fileURLToPath(new URL('../../..', import.meta.url));
const modelFile = join(root, 'models/offpeak-tiny.gguf');
/** Installed servers stay here for the next run. */
const cache = join(root, 'node_modules/.cache/offpeak-engines');

export interface RealServer {
  flavor: Flavor;
  /** Ends in `/v1`. */
  url: string;
  model: string;
  /** Kills the server immediately. */
  kill(): Promise<void>;
  /** Starts the server again at the same address. */
  start(): Promise<void>;
  /** Suspends the server, like one that hangs: its connections stay open without an answer. */
  suspend(): void;
  resume(): void;
}

/** Command that starts a server on a port. */
interface Launch {
  command: string;
  args: (port: number) => string[];
  env?: (port: number) => Record<string, string>;
  /** Path that answers 200 once the server works. */
  ready: string;
  /** Loads the model into the server. */
  prepare?: (url: string) => Promise<void>;
}

export interface Kind {
  flavor: Flavor;
  /** @throws Error that names the missing program */
  find: () => Launch;
}

/** The wheel contains the server as a library, which behaves like the program. */
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

/** Ollama does not recognize the template in the model file. With `.Suffix` in it, Ollama accepts a suffix. */
const template =
  '{{ if .Suffix }}{{ .Prompt }}{{ .Suffix }}{{ else }}' +
  '{{ range .Messages }}<|im_start|>{{ .Role }}\n{{ .Content }}<|im_end|>\n{{ end }}<|im_start|>assistant\n{{ end }}';

/** Ollama's Go module lacks headers that its build needs, so an installed program is used. */
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

/** vLLM reads no GGUF: its own Python converts the demo model to the Hugging Face format. */
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
    // For the CPU build: a small cache, and no pinned cores.
    env: () => ({
      VLLM_CPU_KVCACHE_SPACE: '1',
      VLLM_CPU_OMP_THREADS_BIND: 'nobind',
      HF_HUB_OFFLINE: '1',
      DO_NOT_TRACK: '1',
    }),
    ready: '/health',
  };
}

/** No wheel of SGLang supports CPUs: it needs a GPU, or hours of building. */
function findSglang(): Launch {
  throw new Error('no package has a build of SGLang for CPUs');
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

/** Signals the process group: Ollama runs the model in a child process. */
function signalAll({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid !== undefined) process.kill(-pid, signal);
}

/** Starts a server of this kind on a free port. */
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
    suspend: () => child && signalAll(child, 'SIGSTOP'),
    resume: () => child && signalAll(child, 'SIGCONT'),
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
