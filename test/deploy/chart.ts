import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { deployFolder } from './queries.ts';

export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; annotations: Record<string, string> };
  // Manifests differ too much for one type.
  // oxlint-disable-next-line typescript/no-explicit-any
  [member: string]: any;
}

const helm = process.env['OFFPEAK_HELM'] ?? 'helm';
const version = spawnSync(helm, ['version', '--short'], { encoding: 'utf8' });

/** Version of Helm; undefined where it is not installed. `OFFPEAK_HELM` names a program that is not on the PATH. */
export const helmVersion = version.status === 0 ? version.stdout.trim() : undefined;

/** Version of the fields in `kubernetes-schemas.json`; a Helm that Go built does not name a current one by itself. */
const cluster = ['--kube-version', '1.31.0'];
const chart = join(deployFolder, 'helm');

/** Runs `helm template` or `helm lint` with these values, for the release `night` in the namespace `batch`. */
export function runHelm(command: 'template' | 'lint', values: object) {
  const folder = mkdtempSync(join(tmpdir(), 'offpeak-helm-'));
  const file = join(folder, 'values.json');
  writeFileSync(file, JSON.stringify(values));
  const args =
    command === 'lint' ? ['lint', '--strict', chart] : ['template', 'night', chart, '--namespace', 'batch'];
  try {
    return spawnSync(helm, [...args, '--values', file, ...cluster], { encoding: 'utf8' });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Manifests of the chart with these values. @throws Error with the words of Helm */
export function renderChart(values: object): Manifest[] {
  const { status, stdout, stderr } = runHelm('template', values);
  if (status !== 0 || stderr !== '') throw new Error(stderr);
  return documents(stdout);
}

/** Manifests in a YAML text, without empty documents. */
export function documents(text: string): Manifest[] {
  return parseAllDocuments(text).flatMap((document) => (document.toJSON() as Manifest | null) ?? []);
}
