import { spawn } from 'node:child_process';
import { createServer, request as ask } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Flavor } from '../../src/core/flavor.ts';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { installNode } from '../support/install-packages.ts';
import type { Installed } from '../support/install-packages.ts';
import {
  requireKnownFields,
  startAgentModel,
  requireLeadingSystem,
  requireReasoning,
} from './agent-model.ts';
import type { AgentModel, RequestCheck } from './agent-model.ts';
import { findLostTexts } from './lost-texts.ts';
import { packageCutoff, programs } from './programs.ts';

// Published coding agents with upstreams that reject what hosted models and templates reject. Each agent gets three
// questions, answered with tools; one needs a sub-agent, one a deferred tool. The agents can reach only this process.

const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'offpeak-clients');
const depot = fileURLToPath(new URL('programs/depot.mjs', import.meta.url));
const nowhere = 'http://127.0.0.1:9';

interface Run {
  url: string;
  key: string;
  home: string;
  /** True for the first question. */
  isFirst: boolean;
}

interface Program {
  name: string;
  bin: string;
  args(prompt: string, run: Run): string[];
  env(run: Run): Record<string, string>;
  /** Returns the final answer from the printed lines. */
  said(lines: Record<string, unknown>[]): unknown;
}

const words = (line: string) => line.split(' ');
const tools = ['Bash', 'Agent', 'Task', 'ToolSearch', 'mcp__depot__stock'].join(',');
const provider = (url: string) =>
  `{name="offpeak",base_url="${url}/v1",env_key="OFFPEAK_API_KEY",wire_api="responses"}`;

const coders: Program[] = [
  {
    name: 'Claude Code',
    bin: 'claude',
    args: (prompt, { home, isFirst }) => [
      '-p',
      prompt,
      ...words('--model agent --output-format stream-json --verbose'),
      '--allowedTools',
      tools,
      '--mcp-config',
      join(home, 'mcp.json'),
      ...(isFirst ? [] : ['--continue']),
    ],
    env: ({ url, key, home }) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: key,
      ANTHROPIC_SMALL_FAST_MODEL: 'agent',
      CLAUDE_CONFIG_DIR: home,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
      ENABLE_TOOL_SEARCH: 'true',
    }),
    said: (lines) => lines.findLast(({ type }) => type === 'result')?.['result'],
  },
  {
    name: 'Codex',
    bin: 'codex',
    // With this model name it defers tools, and its sub-agents exchange items.
    args: (prompt, { url, isFirst }) => [
      'exec',
      ...(isFirst ? [] : ['resume', '--last']),
      ...words('--json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox'),
      ...words('--enable multi_agent_v2 -m gpt-5.5 -c model_provider="offpeak"'),
      ...words('-c analytics.enabled=false -c check_for_update_on_startup=false'),
      '-c',
      `model_providers.offpeak=${provider(url)}`,
      '-c',
      `mcp_servers.depot={command="${process.execPath}",args=["${depot}"]}`,
      prompt,
    ],
    env: ({ key, home }) => ({ CODEX_HOME: home, OFFPEAK_API_KEY: key }),
    said(lines) {
      const items = lines.flatMap(({ type, item }) =>
        type === 'item.completed' ? [item as Record<string, unknown>] : [],
      );
      return items.findLast(({ type }) => type === 'agent_message')?.['text'];
    },
  },
];

const servers: [name: string, flavor: Flavor, refusal: RequestCheck][] = [
  ['one that wants its thoughts back, as DeepSeek', 'deepseek', requireReasoning],
  ['one with a single system message, as Qwen', 'vllm', requireLeadingSystem],
  ['one that refuses what it does not know', 'generic', requireKnownFields],
];

describe.each(coders)('$name over', (coder) => {
  let installed: Installed;
  beforeAll(async () => {
    const { packages } = programs.find(({ name }) => name === coder.name)!;
    installed = await installNode(cache, packages, packageCutoff);
    if ('missing' in installed) console.warn(`SKIPPED: ${coder.name}, because ${installed.missing}.`);
  });

  describe.each(servers)('%s', (_, flavor, refusal) => {
    let model: AgentModel;
    let running: RunningApp;
    let recorder: Recorder;
    let home: string;
    beforeEach(async () => {
      home = mkdtempSync(join(homedir(), '.offpeak-agent-'));
      const mcpServers = { depot: { command: process.execPath, args: [depot] } };
      writeFileSync(join(home, 'mcp.json'), JSON.stringify({ mcpServers }));
      model = await startAgentModel(refusal);
      const engine = { ...upstreamEngine(model.url), flavor, capabilities: {} };
      running = await startApp({ models: [{ ...testModel(engine), id: 'agent', aliases: ['gpt-5.5'] }] });
      recorder = await startRecorder(running.url);
    });
    afterEach(async () => {
      await recorder?.close();
      await running?.stop();
      await model?.close();
      rmSync(home, { recursive: true, force: true });
    });

    it('answers three questions with tools and loses no text', async ({ skip }) => {
      if ('missing' in installed) return skip(installed.missing);
      const { folder } = installed;
      const question = (prompt: string, isFirst = false) =>
        start(coder, folder, prompt, { url: recorder.url, key: running.key, home, isFirst });
      const told = () => [...model.refused, ...recorder.failed].join('\n');
      expect(await question('[[plan shell]] Say something with a tool.', true), told()).toMatch(
        /^shell said: .*made by a tool/s,
      );
      expect(await question('[[plan agent]] Have it said by an agent.'), told()).toMatch(
        /^agent said: .*child said: .*made by a tool/s,
      );
      expect(await question('[[plan find]] How many bolts are there?'), told()).toMatch(
        /^find said: .*7 of bolts/s,
      );
      expect(recorder.failed).toEqual([]);
      expect(new Set(model.refused).size).toBeLessThan(2);
      if (flavor !== 'vllm') expect(model.refused).toEqual([]);
      expect(findLostTexts(recorder.bodies, model.asked)).toEqual([]);
    });
  });
});

interface Recorder {
  url: string;
  /** Parsed requests of the program. */
  bodies: Record<string, unknown>[];
  /** Failed requests. */
  failed: string[];
  close(): Promise<void>;
}

/** Proxy between the program and Offpeak that records requests. */
async function startRecorder(target: string): Promise<Recorder> {
  const bodies: Recorder['bodies'] = [];
  const failed: string[] = [];
  async function forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await text(incoming);
    if (incoming.method === 'POST') bodies.push(JSON.parse(body) as Record<string, unknown>);
    const { method, headers, url = '' } = incoming;
    const forwarded = ask(target + url, { method, headers }, (reply) => {
      const status = reply.statusCode ?? 0;
      if (status >= 400 && method === 'POST') {
        const at = failed.push(`${url} ${status} `) - 1;
        reply.on('data', (piece: Buffer) => (failed[at] += piece.toString()));
      }
      outgoing.writeHead(status, reply.headers);
      reply.pipe(outgoing);
    });
    forwarded.on('error', () => outgoing.destroy());
    outgoing.on('close', () => forwarded.destroy());
    forwarded.end(body);
  }
  const server: Server = createServer((incoming, outgoing) => void forward(incoming, outgoing));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    bodies,
    failed,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** Runs a program in a temporary home folder. */
async function start(coder: Program, folder: string, prompt: string, run: Run): Promise<unknown> {
  const child = spawn(join(folder, 'node_modules/.bin', coder.bin), coder.args(prompt, run), {
    cwd: run.home,
    env: {
      HOME: run.home,
      TMPDIR: tmpdir(),
      PATH: process.env['PATH'],
      HTTPS_PROXY: nowhere,
      HTTP_PROXY: nowhere,
      NO_PROXY: '127.0.0.1',
      ...coder.env(run),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 120_000,
    killSignal: 'SIGKILL',
  });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const lines = out.split('\n').filter((line) => line.startsWith('{'));
  return (
    coder.said(lines.map((line) => JSON.parse(line) as Record<string, unknown>)) ??
    `${out}${err}`.slice(-3000)
  );
}
