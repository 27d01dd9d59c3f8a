import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ConfigError } from '../../config/source-value.ts';
import { readConfig, reloadFlags } from './server-flags.ts';

const idsOf = ({ models }: { models: { id: string }[] }) => models.map(({ id }) => id);
const yaml = 'models: [{ id: mine, engine: { kind: scripted } }]';

it('are read again with the file that was there at the start, and take one that came later', () => {
  const cwd = mkdtempSync(join(tmpdir(), 'offpeak-flags-'));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  const cli = { cwd, env: {} };
  const file = join(cwd, 'offpeak.yaml');
  const without = reloadFlags(cli, { port: '0' });
  writeFileSync(file, yaml);
  expect(idsOf(readConfig(cli, without))).toEqual(['mine']);
  const withFile = reloadFlags(cli, { port: '0' });
  expect(idsOf(readConfig(cli, withFile))).toEqual(['mine']);
  writeFileSync(file, '# about to be written\n');
  expect(() => readConfig(cli, withFile, { isReload: true })).toThrow(
    /offpeak\.yaml: the configuration file is empty/,
  );
  expect(idsOf(readConfig(cli, withFile))).toEqual(['offpeak-tiny']);
  rmSync(file);
  expect(() => readConfig(cli, withFile)).toThrow(ConfigError);
  const other = { cwd, env: { OFFPEAK_CONFIG: join(cwd, 'other.yaml') } };
  writeFileSync(other.env.OFFPEAK_CONFIG, yaml);
  writeFileSync(file, 'models: []');
  expect(idsOf(readConfig(other, reloadFlags(other, {})))).toEqual(['mine']);
});
