import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bigGguf, loadableGguf } from '../support/gguf-files.ts';
import { startModelServer } from '../support/model-server.ts';
import type { ModelServer } from '../support/model-server.ts';
import { runCli } from './support/run-cli.ts';
import type { CliOutcome, CliRun } from './support/run-cli.ts';

const small = loadableGguf();
let server: ModelServer;
let folder: string;

beforeEach(async () => {
  server = await startModelServer();
  folder = mkdtempSync(join(tmpdir(), 'offpeak-cli-models-'));
  server.files.set('/o/r/resolve/main/m.gguf', { bytes: small });
});

afterEach(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

function run(argv: string[], options: CliRun = {}): Promise<CliOutcome> {
  const env = { OFFPEAK_HF_ENDPOINT: server.url, ...options.env };
  return runCli(['models', ...argv], { cwd: folder, ...options, env });
}

describe('models pull', () => {
  it('prints the path of the file and the command to serve it', async () => {
    const { code, out, err } = await run(['pull', 'hf:o/r/m.gguf']);
    const path = join(folder, 'offpeak-data/models/o/r/m.gguf');
    expect({ code, out }).toEqual({ code: 0, out: `${path}\n` });
    expect(readFileSync(path).equals(small)).toBe(true);
    expect(err).toMatch(/^m\.gguf 0 bytes of \d+ KB\n/);
    expect(err).toContain('without a checksum to verify');
    expect(err).toContain('engine: { kind: llama, path: "hf:o/r/m.gguf" }');
    expect((await run(['pull', 'hf:o/r/m.gguf'])).err).toContain('Already downloaded');
  });

  it('prints JSON', async () => {
    const sha256 = createHash('sha256').update(small).digest('hex');
    const { out } = await run([
      'pull',
      `${server.url}/o/r/resolve/main/m.gguf?x=1`,
      '--json',
      '--to',
      'here',
      '--sha256',
      sha256.toUpperCase(),
    ]);
    const path = join(folder, 'here/m.gguf');
    expect(JSON.parse(out)).toEqual({
      source: `${server.url}/o/r/resolve/main/m.gguf`,
      path,
      files: [{ path, bytes: small.length, sha256, present: false }],
    });
  });

  it('shows a progress bar on a terminal', async () => {
    const { err } = await run(['pull', 'hf:o/r/m.gguf'], { tty: true });
    expect(err).toContain('█');
    expect(err).toMatch(/m\.gguf .*100%/);
  });

  it('uses the configured folder even if its models are missing', async () => {
    writeFileSync(
      join(folder, 'offpeak.yaml'),
      'model_folder: store\nmodels: [{ id: a, engine: { kind: llama, path: store/o/r/m.gguf } }]\n',
    );
    expect((await run(['pull', 'hf:o/r/m.gguf'])).out).toBe(`${join(folder, 'store/o/r/m.gguf')}\n`);
  });

  it('sends the token from the environment to the hub', async () => {
    await run(['pull', 'hf:o/r/m.gguf'], { env: { OFFPEAK_HF_TOKEN: 'hf_secret' } });
    expect(new Set(server.hits.map(({ authorization }) => authorization))).toEqual(
      new Set(['Bearer hf_secret']),
    );
  });

  it('stops on Ctrl-C and prints how to resume', async () => {
    server.files.set('/o/r/resolve/main/big.gguf', { bytes: bigGguf(1), holdAfter: 65_536 });
    const { code, err } = await run(['pull', 'hf:o/r/big.gguf'], { interrupt: 1 });
    expect(code).toBe(130);
    expect(err).toContain('run it again to resume');
  });

  it.each([
    [['pull', 'model.gguf'], "'model.gguf' is a local path"],
    [['pull', 'hf:x'], "'hf:x' is not a valid hub reference"],
    [['pull', 'http://example.org/m.gguf'], 'must be an https:// URL'],
    [['pull', 'hf:o/r/m.gguf', '--sha256', 'abc'], '--sha256 must be 64 hexadecimal digits'],
    [['pull', 'hf:o/r/other.gguf'], 'there is no /o/r/resolve/main/other.gguf'],
  ])('rejects %j', async (argv, message) => {
    const { code, out, err } = await run(argv);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain(message);
    expect(err).not.toMatch(/\n\s+at /);
  });

  it('prints an error as JSON', async () => {
    const { err } = await run(['pull', 'hf:o/r/other.gguf', '--json']);
    expect(JSON.parse(err.trimEnd().split('\n').at(-1)!)).toEqual({
      error: { message: expect.stringContaining('404') },
    });
  });
});

describe('models inspect', () => {
  it('describes a local file', async () => {
    writeFileSync(join(folder, 'm.gguf'), small);
    const { code, out } = await run(['inspect', 'm.gguf', '--sequences', '2', '--context', '1024']);
    expect(code).toBe(0);
    const rows = Object.fromEntries(
      out
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/ {2,}/)),
    );
    expect(rows).toMatchObject({
      name: 'random',
      architecture: 'llama',
      quantization: 'Q8_0',
      context: '4096 tokens',
      layers: '2',
      template: 'Qwen, Hermes',
      memory: expect.stringMatching(
        / weights, 1\.05 MB cache for 2 sequences of 1024 tokens, \d+ MB working memory$/,
      ),
    });
  });

  it('describes a remote file as JSON, from its header', async () => {
    server.files.set('/o/r/resolve/main/big.gguf', { bytes: bigGguf(6) });
    const { out } = await run(['inspect', 'hf:o/r/big.gguf', '--json']);
    expect(JSON.parse(out)).toMatchObject({
      source: 'hf:o/r/big.gguf',
      name: 'big 1',
      parameters: 1_572_864,
      template: null,
      memory: { sequences: 8, misfit: null },
    });
    expect(server.hits.reduce((sum, { sent }) => sum + sent, 0)).toBeLessThan(3_000_000);
  });

  it('warns if the model does not fit on this machine', async () => {
    writeFileSync(join(folder, 'm.gguf'), small);
    const { code, err } = await run(['inspect', 'm.gguf', '--sequences', '256', '--context', '16000000']);
    expect(code).toBe(0);
    expect(err).toMatch(/Does not fit on this machine now: .* This would fit/);
  });

  it('escapes control characters from the file', async () => {
    const bytes = Buffer.from(small);
    bytes.write('ra\u001b[2m', bytes.indexOf('random'));
    writeFileSync(join(folder, 'm.gguf'), bytes);
    expect((await run(['inspect', 'm.gguf'])).out).not.toContain('\u001b');
  });

  it.each([
    [['inspect', 'missing.gguf'], 'There is no file'],
    [['inspect', 'm.gguf', '--sequences', '0'], '--sequences must be a whole number from 1 to 256'],
    [['inspect', 'm.gguf', '--context', 'much'], '--context must be a whole number'],
  ])('rejects %j', async (argv, message) => {
    const { code, err } = await run(argv);
    expect(code).toBe(1);
    expect(err).toContain(message);
  });
});

describe('models local', () => {
  it('lists complete and partial files', async () => {
    await run(['pull', 'hf:o/r/m.gguf']);
    const models = join(folder, 'offpeak-data/models');
    mkdirSync(join(models, 'x'));
    writeFileSync(join(models, 'x/half.gguf.part'), 'GGUF');
    writeFileSync(
      join(models, 'x/half.gguf.part.json'),
      '{"version":1,"size":10,"tag":"t","sha256":null,"done":[[0,5]]}',
    );
    const { out } = await run(['local']);
    expect(out.split('\n').map((line) => line.split('\t'))).toEqual([
      [
        'o/r/m.gguf',
        'llama',
        expect.stringMatching(/thousand$/),
        'Q8_0',
        expect.stringMatching(/KB$/),
        'complete',
      ],
      ['x/half.gguf', '', '', '', '0 bytes', '50% downloaded'],
      [''],
    ]);
    const json = JSON.parse((await run(['local', '--json'])).out) as { folder: string; models: unknown[] };
    expect(json.folder).toBe(models);
    expect(json.models).toHaveLength(2);
  });

  it('reports an empty folder', async () => {
    expect(await run(['local'])).toMatchObject({
      code: 0,
      out: '',
      err: expect.stringContaining('No models in'),
    });
  });
});
